"""Which call a path and a method mean."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from tests.web.calls import LEGACY, NEWER, Calls


@pytest.mark.parametrize("prefix", [LEGACY, NEWER])
def test_both_prefixes_serve_the_same_calls(calls: Calls, prefix: str) -> None:
    calls.start("a")
    assert Calls(prefix).get("/workflows/a").body["id"] == "a"
    assert Calls(prefix).claim()["workflow_id"] == "a"


@pytest.mark.parametrize("at", ["", "/api", "/api/v2", "/api/v1/engine", "/engine/workflow"])
def test_no_other_prefix_is_served(calls: Calls, at: str) -> None:
    assert calls.send("GET", "/workflows", at=at).status == 404


@pytest.mark.parametrize(
    "path", ["", "/", "/nothing", "/workflows/", "/workflows/a/", "/health/", "/tasks/1"]
)
def test_an_unknown_path_is_not_found_and_says_so_in_json(calls: Calls, path: str) -> None:
    calls.start("a")
    answer = calls.get(path)
    assert (answer.status, answer.body["code"], answer.body["retryable"]) == (
        404,
        "not_found",
        False,
    )
    assert answer.body["error"].startswith("not found: ")


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path",
    [
        "/schedules",
        "/schedules/s",
        "/schedules/s/pause",
        "/api-keys",
        "/api-keys/assay_1...",
        "/events/stream",
    ],
)
def test_what_later_issues_bring_is_not_found_yet(calls: Calls, method: str, path: str) -> None:
    answer = calls.send(method, path)
    assert (answer.status, answer.body["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/workflows", "POST,GET,HEAD"),
        ("OPTIONS", "/workflows", "POST,GET,HEAD"),
        ("TRACE", "/workflows", "POST,GET,HEAD"),
        ("DELETE", "/workflows/run", "GET,HEAD"),
        ("GET", "/workflows/run/cancel", "POST"),
        ("GET", "/workflows/run/signal/go", "POST"),
        ("POST", "/workflows/run/events", "GET,HEAD"),
        ("GET", "/workers/register", "POST"),
        ("GET", "/workers/exchange", "POST"),
        ("GET", "/workflow-tasks/poll", "POST"),
        ("DELETE", "/tasks/1/complete", "POST"),
        ("PUT", "/namespaces/main", "GET,HEAD,DELETE"),
        ("POST", "/health", "GET,HEAD"),
    ],
)
def test_a_wrong_method_is_refused_with_the_right_ones(
    calls: Calls, method: str, path: str, allow: str
) -> None:
    answer = calls.send(method, path)
    assert (answer.status, answer.headers["allow"], answer.body["code"]) == (
        405,
        allow,
        "method_not_allowed",
    )


def test_head_answers_as_get_does_without_the_body(calls: Calls) -> None:
    calls.start("a")
    answer = calls.send("HEAD", "/workflows/a")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (
        200,
        "",
        "application/json",
    )


@pytest.mark.parametrize(
    "workflow_id",
    ["a b", "a/b", "a/b/c", "ünï", "🚀", "plus+p", "a%b", 'quo"te', "it's", "{x}", "<id>", "."],
)
def test_an_id_may_hold_nearly_anything(calls: Calls, workflow_id: str) -> None:
    calls.start(workflow_id)
    in_path = quote(workflow_id, safe="")
    assert calls.get(f"/workflows/{in_path}").body["id"] == workflow_id
    assert len(calls.get(f"/workflows/{in_path}/events").body) == 1
    assert calls.post(f"/workflows/{in_path}/signal/go", {}).status == 200
    assert calls.claim()["workflow_id"] == workflow_id
    assert calls.command(in_path).status == 200


def test_a_slash_in_an_id_need_not_be_encoded(calls: Calls) -> None:
    calls.start("a/b")
    assert calls.get("/workflows/a/b").body["id"] == "a/b"
    assert calls.get("/workflows/a/b/events").body[0]["workflow_id"] == "a/b"


def test_known_suffixes_decide_where_an_id_ends(calls: Calls) -> None:
    calls.start("events")
    calls.start("a/events")
    assert calls.get("/workflows/events").body["id"] == "events"
    assert calls.get("/workflows/events/events").body[0]["workflow_id"] == "events"
    # The path means the history of `a`; its record is asked for by query.
    assert calls.get("/workflows/a/events").body == []
    assert calls.get("/workflows/-?id=a/events").body["id"] == "a/events"


def test_a_signal_may_be_named_like_a_call(calls: Calls) -> None:
    calls.start("a")
    assert calls.post("/workflows/a/signal/cancel", {}).status == 200
    assert calls.post("/workflows/a/signal/x%2Fevents", {}).status == 200
    assert calls.get("/workflows/a").body["status"] == "PENDING"
    payloads = [event["payload"] for event in calls.get("/workflows/a/events").body[1:]]
    assert payloads == [
        '{"payload":null,"signal":"cancel"}',
        '{"payload":null,"signal":"x/events"}',
    ]


def test_the_empty_id_is_an_id(calls: Calls) -> None:
    assert calls.get("/workflows//events").body == []
    calls.start("")
    assert len(calls.get("/workflows//events").body) == 1
    assert calls.get("/workflows/-?id=").body["id"] == ""


@pytest.mark.parametrize("workflow_id", ["a?b", "a#b", "a/cancel", "ends/", "x/signal/y"])
def test_an_id_that_cannot_stand_in_a_path_is_given_by_query(
    calls: Calls, workflow_id: str
) -> None:
    calls.start(workflow_id)
    query = f"?id={quote(workflow_id, safe='')}"
    assert calls.get(f"/workflows/-{query}").body["id"] == workflow_id
    assert calls.get(f"/workflows/-/events{query}").body[0]["workflow_id"] == workflow_id
    assert calls.post(f"/workflows/-/signal/go{query}", {}).body == {}
    assert calls.post(f"/workflows/-/cancel{query}", {}).status == 200
    assert calls.get(f"/workflows/-{query}").body["status"] == "CANCELLED"


def test_a_namespace_may_hold_a_slash_or_be_given_by_query(calls: Calls) -> None:
    calls.post("/namespaces", {"name": "a/b"})
    calls.post("/namespaces", {"name": "what?"})
    assert calls.get("/namespaces/a%2Fb").body["namespace"] == "a/b"
    assert calls.send("DELETE", "/namespaces/-?id=what%3F").status == 200
    assert [space["name"] for space in calls.get("/namespaces").body] == ["a/b", "main"]


@pytest.mark.parametrize("name", ["x" * 513, "a\tb", "a\x7fb"])
def test_ids_have_at_most_512_bytes_and_no_control_characters(calls: Calls, name: str) -> None:
    assert calls.start(name).status == 400
    assert calls.get(f"/workflows/{quote(name)}").status == 400
    assert calls.get(f"/workflows?namespace={quote(name)}").status == 400
    assert calls.post("/namespaces", {"name": name}).status == 400


def test_the_same_id_in_two_namespaces_needs_to_be_told_apart(calls: Calls) -> None:
    calls.start("a", namespace="one")
    assert calls.get("/workflows/a").body["namespace"] == "one"
    calls.start("a", namespace="two")
    answer = calls.get("/workflows/a")
    assert (answer.status, answer.body["code"]) == (409, "ambiguous_id")
    assert calls.get("/workflows/a?namespace=two").body["namespace"] == "two"
    assert calls.get("/workflows/a?namespace=three").status == 404
    assert calls.post("/workflows/a/signal/go?namespace=one", {}).status == 200
    assert len(calls.get("/workflows/a/events?namespace=one").body) == 2
    assert len(calls.get("/workflows/a/events?namespace=two").body) == 1


@pytest.mark.parametrize("number", ["x", "1.5", "", "1_0", "99999999999999999999", "9" * 5000])
def test_an_activity_id_is_a_number_of_64_bits(calls: Calls, number: str) -> None:
    assert calls.post(f"/tasks/{number}/complete", {}).status == 400
    if number:
        assert calls.get(f"/activities/{number}").status == 400


def test_requests_answered_at_once_are_not_mixed_up(calls: Calls) -> None:
    ids = [f"run-{number}" for number in range(40)]
    for workflow_id in ids:
        calls.start(workflow_id)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: calls.get(f"/workflows/{name}").body["id"], ids * 10))
    assert found == ids * 10
