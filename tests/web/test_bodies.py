"""What a body may be: the original's rules, and the leniency that old clients need."""

import json
from typing import Any

import pytest

from tests.web.calls import JSON, Calls

START = {"workflow_type": "Order", "workflow_id": "a"}
# Calls that need no fields, and calls that do.
OPTIONAL = [
    "/workflows/run/signal/go",
    "/workflows/run/terminate",
    "/workflows/run/continue-as-new",
    "/tasks/1/complete",
    "/tasks/1/heartbeat",
]
NEEDED = [
    "/workflows",
    "/workflows/run/activities",
    "/workflows/run/retry",
    "/workers/register",
    "/workers/heartbeat",
    "/workflow-tasks/poll",
    "/workflow-tasks/run/commands",
    "/tasks/poll",
    "/tasks/1/fail",
    "/namespaces",
    "/workers/exchange",
]


@pytest.fixture(autouse=True)
def _run(calls: Calls) -> None:
    calls.start("run")


def _raw(calls: Calls, path: str, text: str | bytes) -> tuple[int, str | None]:
    body = text if isinstance(text, bytes) else text.encode()
    answer = calls.send("POST", path, body, JSON)
    return answer.status, answer.body.get("code")


@pytest.mark.parametrize("path", OPTIONAL)
@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b" { } ", b"\n"])
def test_empty_null_array_and_object_all_mean_no_fields(
    calls: Calls, path: str, body: bytes
) -> None:
    if body != b" { } ":
        assert calls.send("POST", path, body).status in (200, 201)
    else:
        assert calls.send("POST", path, body, JSON).status in (200, 201)


@pytest.mark.parametrize("path", NEEDED)
def test_a_call_that_needs_fields_tells_an_empty_body_from_a_wrong_shape(
    calls: Calls, path: str
) -> None:
    assert _raw(calls, path, "") == (400, "malformed_json")
    for text in ("null", "[]", "{}", "5", '"x"', "true"):
        assert _raw(calls, path, text) == (422, "wrong_shape"), text


@pytest.mark.parametrize("path", NEEDED + OPTIONAL)
def test_malformed_json_is_400_and_another_content_type_415(calls: Calls, path: str) -> None:
    for text in ('{"a":', "hello", '{"a":NaN}', "\ufeff{}", "{'a': 1}", "{} {}"):
        status, _ = _raw(calls, path, text)
        # What is missing is noticed before what trails.
        assert status == (422 if text == "{} {}" and path in NEEDED[:-1] else 400), text
    for headers in ({}, {"content-type": "text/plain"}, {"content-type": ""}):
        answer = calls.send("POST", path, b'{"zz":1}', headers)
        assert (answer.status, answer.body["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json; charset=utf-8", 201),
        ("APPLICATION/JSON", 201),
        ("application/problem+json", 201),
        ("text/json", 415),
        ("application/jsonx", 415),
        ("application/x-www-form-urlencoded", 415),
    ],
)
def test_every_json_content_type_passes(calls: Calls, content_type: str, status: int) -> None:
    body = json.dumps(START).encode()
    answer = calls.send("POST", "/workflows", body, {"content-type": content_type})
    assert answer.status == status


@pytest.mark.parametrize("body", [b"{", b"hello", b'{"reason": 5}', b"5", b'["x", 2]', b"\xff"])
def test_cancel_is_never_refused_for_what_its_body_says(calls: Calls, body: bytes) -> None:
    assert calls.send("POST", "/workflows/run/cancel", body, JSON).body == {}
    assert calls.get("/workflows/run/events").body[1]["payload"] is None


@pytest.mark.parametrize("headers", [{}, JSON, {"content-type": "text/plain"}])
def test_the_reason_of_a_cancel_is_read_whatever_the_content_type(
    calls: Calls, headers: dict[str, str]
) -> None:
    calls.send("POST", "/workflows/run/cancel", b'{"reason":"why"}', headers)
    assert calls.get("/workflows/run/events").body[1]["payload"] == '{"reason":"why"}'


@pytest.mark.parametrize(
    "change",
    [
        {"workflow_type": 1},
        {"workflow_type": None},
        {"workflow_id": 5},
        {"namespace": 1},
        {"task_queue": None},
        {"task_queue": 7},
    ],
)
def test_a_field_of_another_type_is_a_wrong_shape(calls: Calls, change: dict[str, Any]) -> None:
    answer = calls.post("/workflows", START | change)
    assert (answer.status, answer.body["code"]) == (422, "wrong_shape")
    assert next(iter(change)) in answer.body["error"]


def test_unknown_fields_are_ignored_and_null_counts_as_absent(calls: Calls) -> None:
    fields = {"bogus": 1, "namespace": None, "input": None, "search_attributes": None}
    assert calls.start("a", **fields).status == 201
    record = calls.get("/workflows/a").body
    assert (record["namespace"], record["input"], record["task_queue"]) == ("main", None, "main")


def test_an_array_is_the_fields_in_their_order(calls: Calls) -> None:
    assert calls.post("/workflows", ["N", "Order", "pos", 1, "q", None]).status == 201
    record = calls.get("/workflows/pos").body
    assert (record["namespace"], record["input"], record["task_queue"]) == ("N", "1", "q")
    assert calls.post("/workflows", [None, "Order", "pos3"]).status == 422
    assert calls.post("/workflows/run/signal/go", [5]).status == 200
    assert calls.post("/workflows/run/signal/go", [5, 6]).status == 400
    assert calls.post("/tasks/1/fail", ["boom"]).status == 200
    assert calls.post("/workflow-tasks/poll", ["q2", "w"]).body is None


def test_a_field_given_twice_is_a_wrong_shape_but_not_inside_a_value(calls: Calls) -> None:
    twice = '{"workflow_type":"A","workflow_type":"B","workflow_id":"dup"}'
    assert _raw(calls, "/workflows", twice) == (422, "wrong_shape")
    inside = '{"workflow_type":"A","workflow_id":"in","input":{"input":1,"b":2,"b":3}}'
    assert _raw(calls, "/workflows", inside) == (201, None)
    assert calls.get("/workflows/in").body["input"] == '{"b":3,"input":1}'


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("1.50", "1.5"),
        ("1e3", "1000.0"),
        ("1.0", "1.0"),
        ("-0", "-0.0"),
        ("0", "0"),
        ("-7", "-7"),
        ("12345678901234567890", "12345678901234567890"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551616", "1.8446744073709552e19"),
        ("-9223372036854775809", "-9.223372036854776e18"),
        ('{"b":1,"a":"\\u00e9"}', '{"a":"é","b":1}'),
        ("[ 1 , null ]", "[1,null]"),
        ('"x"', '"x"'),
        ('""', '""'),
        ("false", "false"),
        ("{}", "{}"),
    ],
)
def test_a_value_is_kept_as_compact_json_with_its_keys_sorted(
    calls: Calls, text: str, stored: str
) -> None:
    body = f'{{"workflow_type":"Order","workflow_id":"v","input":{text}}}'
    assert _raw(calls, "/workflows", body) == (201, None)
    assert calls.get("/workflows/v").body["input"] == stored
    assert calls.get("/workflows/v/events").body[0]["payload"] == stored


@pytest.mark.parametrize(
    "text", ["1e999", "-1e999", "1" * 400, "1" * 5000, '"\\ud800"', '"\x01"', "01", "[1,]"]
)
def test_a_value_that_cannot_be_read_is_malformed(calls: Calls, text: str) -> None:
    body = f'{{"workflow_type":"Order","workflow_id":"v","input":{text}}}'
    assert _raw(calls, "/workflows", body) == (400, "malformed_json")


def test_text_that_is_no_utf8_is_malformed(calls: Calls) -> None:
    body = b'{"workflow_type":"\xff","workflow_id":"v"}'
    assert _raw(calls, "/workflows", body) == (400, "malformed_json")


@pytest.mark.parametrize(
    ("depth", "status"), [(126, 201), (127, 400), (128, 400), (900, 400), (100_000, 400)]
)
def test_nesting_ends_at_127_levels(calls: Calls, depth: int, status: int) -> None:
    nested = "[" * depth + "]" * depth
    body = f'{{"workflow_type":"Order","workflow_id":"deep","input":{nested}}}'
    assert _raw(calls, "/workflows", body)[0] == status
    wide = f'{{"protocol":1,"worker_id":"w","bogus":{nested}}}'
    assert _raw(calls, "/workers/exchange", wide)[0] == (200 if status == 201 else 400)


def test_many_brackets_are_not_deep(calls: Calls) -> None:
    assert calls.start("wide", input=[[], {}] * 500).status == 201


@pytest.mark.parametrize(("size", "status"), [(2 * 1024 * 1024, 201), (2 * 1024 * 1024 + 1, 413)])
def test_one_value_has_at_most_2_mib(calls: Calls, size: int, status: int) -> None:
    answer = calls.start("big", input="x" * (size - 2))
    assert answer.status == status


def test_each_kind_of_value_has_that_limit(calls: Calls) -> None:
    big = "x" * (2 * 1024 * 1024)
    calls.claim()
    schedule = {"type": "ScheduleActivity", "seq": 1, "name": "act", "task_queue": "q"}
    assert calls.command("run", schedule).status == 200
    task = calls.post("/tasks/poll", {"queue": "q", "worker_id": "w-test"}).body
    for path, body in (
        ("/workflows/run/signal/go", {"payload": big}),
        (f"/tasks/{task['id']}/heartbeat", {"details": big}),
        (f"/tasks/{task['id']}/complete", {"result": big}),
        ("/workflows/run/continue-as-new", {"input": big}),
    ):
        answer = calls.post(path, body)
        assert (path, answer.status, answer.body["code"]) == (path, 413, "too_large")


def test_a_body_has_at_most_4_mb(calls: Calls) -> None:
    body = json.dumps(START | {"input": ["x" * 1024 * 1024] * 2}).encode()
    padded = body + b" " * (4 * 1024 * 1024 - len(body))
    assert calls.send("POST", "/workflows", padded + b" ", JSON).status == 413
    assert calls.send("POST", "/workflows/run/cancel", padded + b" ").status == 413


@pytest.mark.parametrize("seq", [9.0, 3_000_000_000, "1", None])
def test_the_seq_of_an_activity_is_a_whole_number_of_32_bits(calls: Calls, seq: Any) -> None:
    body = {"name": "act", "seq": seq, "task_queue": "q"}
    assert calls.post("/workflows/run/activities", body).status == 422


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 200),
        ({"workflows": None, "activities": None}, 200),
        ({"workflows": [], "activities": {}}, 200),
        ({"workflows": {"a": 1}}, 422),
        ({"workflows": [1]}, 422),
        ({"namespace": None}, 422),
        ({"max_concurrent_workflows": 10.0}, 422),
        ({"max_concurrent_activities": None}, 422),
    ],
)
def test_a_registration_takes_lists_also_as_newer_lua_writes_empty_ones(
    calls: Calls, change: dict[str, Any], status: int
) -> None:
    body = {"identity": "one", "queue": "q"} | change
    assert calls.post("/workers/register", body).status == status


def test_commands_may_be_an_empty_object_and_hold_things_that_are_none(calls: Calls) -> None:
    calls.claim()
    body = {"worker_id": "w-test", "commands": {}}
    assert calls.post("/workflow-tasks/run/commands", body).body == {}
    calls.post("/workflows/run/signal/go", {})
    calls.claim()
    assert calls.command("run", 1, "x", None, [], {}, {"type": 5}, {"type": "Nope"}).body == {}
    assert calls.post("/workflow-tasks/run/commands", body | {"commands": None}).status == 422
