"""The management clients: what they ask, how they read the answer, when they ask again."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from assay import _handles, async_client
from assay import client as blocking_client
from assay._records import HistoryEvent, Problem, State, Status
from assay.async_client import AsyncClient
from assay.client import Client
from assay.errors import (
    ApiError,
    ConflictError,
    ConnectionFailedError,
    InvalidRequestError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
)
from assay.failure import Failure

from .fake_clock import FakeClock
from .scripted import (
    BOTH,
    BUSY,
    RECORD,
    STARTED,
    AsyncScript,
    HastyClock,
    Play,
    Script,
)

NS = {"namespace": "main"}
STATE = {"value": 1, "event_seq": 2, "created_at": 3.0}


@pytest.fixture(params=BOTH, ids=["blocking", "awaiting"])
def play(request: pytest.FixtureRequest) -> Play:
    made: Play = request.param
    return made


@pytest.mark.parametrize(
    ("do", "answer", "expected"),
    [
        (lambda c: c.describe("w"), RECORD, ("GET", "/workflows/w", NS, None)),
        (
            lambda c: c.describe("w", run_id="run-w-5"),
            RECORD,
            ("GET", "/workflows/w", {**NS, "run_id": "run-w-5"}, None),
        ),
        (
            lambda c: c.list(status="RUNNING", search_attrs={"env": "prod"}, limit=5),
            [],
            (
                "GET",
                "/workflows",
                {**NS, "status": "RUNNING", "search_attrs": '{"env":"prod"}', "limit": 5},
                None,
            ),
        ),
        (
            lambda c: c.get_events("w", cursor=7, limit=2, order="desc"),
            [],
            ("GET", "/workflows/w/events", {**NS, "cursor": 7, "limit": 2, "order": "desc"}, None),
        ),
        (
            lambda c: c.get_state("w", "pipeline/state"),
            STATE,
            ("GET", "/workflows/w/state/pipeline%2Fstate", NS, None),
        ),
        (lambda c: c.list_children("w"), [], ("GET", "/workflows/w/children", NS, None)),
        (
            lambda c: c.signal("w", "go", {"by": "ada"}),
            {},
            ("POST", "/workflows/w/signal/go", NS, {"payload": {"by": "ada"}}),
        ),
        (
            lambda c: c.signal("w", "go", request_id="r-1"),
            {},
            ("POST", "/workflows/w/signal/go", NS, {"request_id": "r-1"}),
        ),
        (
            lambda c: c.cancel("w", "late", deadline="5m"),
            {},
            ("POST", "/workflows/w/cancel", NS, {"reason": "late", "deadline": 300.0}),
        ),
        (lambda c: c.cancel("w"), {}, ("POST", "/workflows/w/cancel", NS, {})),
        (lambda c: c.terminate("w"), None, ("POST", "/workflows/w/terminate", NS, {})),
        (
            lambda c: c.continue_as_new("w", 5, new_workflow_id="w-2"),
            STARTED,
            ("POST", "/workflows/w/continue-as-new", NS, {"input": 5, "workflow_id": "w-2"}),
        ),
    ],
)
def test_each_call_asks_what_the_contract_says(
    play: Play, do: Any, answer: Any, expected: Any
) -> None:
    script = Script((200, answer))

    play(script, do)

    assert script.asked() == [expected]


@pytest.mark.parametrize("name", ["a/b", "what?", "a#b", "50%", "a/events", ".", "-", ""])
def test_an_id_that_no_path_can_hold_goes_into_the_query(play: Play, name: str) -> None:
    script = Script((200, {}))

    play(script, lambda c: c.signal(name, "go"))

    assert script.asked() == [("POST", "/workflows/-/signal/go", {"id": name, **NS}, {})]


def test_another_namespace_is_named_in_every_call(play: Play) -> None:
    script = Script((200, RECORD))

    play(script, lambda c: c.describe("w"), namespace="team")

    assert script.asked() == [("GET", "/workflows/w", {"namespace": "team"}, None)]


def test_a_record_comes_with_its_values_read(play: Play) -> None:
    failure = {"kind": "DECLINED", "message": "no", "cause": {"kind": "BANK", "message": "away"}}
    answer = {
        **RECORD,
        "memo": '{"note":1}',
        "attempt": 3,
        "problem": {"code": "no_handler", "text": "nobody knows it", "since": 5.0},
        "failure": failure,
        "truncated": ["input"],
    }

    run = play(Script((200, answer)), lambda c: c.describe("w-1"))

    assert (run.input, run.result, run.search_attributes) == ({"n": 1}, "done", {"env": "prod"})
    assert (run.memo, run.attempt, run.truncated) == ({"note": 1}, 3, ("input",))
    assert run.status is Status.COMPLETED
    assert run.status.closed
    assert run.problem == Problem(code="no_handler", text="nobody knows it", since=5.0)
    cause = Failure(kind="BANK", message="away")
    assert run.failure == Failure(kind="DECLINED", message="no", cause=cause)


def test_events_come_with_their_payload_read(play: Play) -> None:
    event = {
        "id": 5,
        "workflow_id": "w",
        "seq": 1,
        "event_type": "WorkflowStarted",
        "payload": '{"n":1}',
        "timestamp": 9,
    }

    assert play(Script((200, [event])), lambda c: c.get_events("w")) == [
        HistoryEvent(
            id=5,
            workflow_id="w",
            seq=1,
            event_type="WorkflowStarted",
            payload={"n": 1},
            timestamp=9.0,
        )
    ]


def test_the_state_of_all_queries_comes_by_name(play: Play) -> None:
    body = {"state": {"a": 1, "b": 2}, "event_seq": 4, "created_at": 5.0}

    state = play(Script((200, body)), lambda c: c.get_state("w"))

    assert state == State(value={"a": 1, "b": 2}, event_seq=4, created_at=5.0)


def test_a_signal_says_whether_the_run_took_it(play: Play) -> None:
    assert play(Script((200, {})), lambda c: c.signal("w", "go")) is True
    assert play(Script((200, {"delivered": False})), lambda c: c.signal("w", "go")) is False


@pytest.mark.parametrize(
    ("status", "code", "leaf"),
    [
        (400, "bad_request", InvalidRequestError),
        (401, "unauthorized", UnauthorizedError),
        (404, "not_found", NotFoundError),
        (409, "already_exists", ConflictError),
        (413, "too_large", InvalidRequestError),
        (422, "wrong_shape", InvalidRequestError),
    ],
)
def test_an_error_has_the_code_of_the_engine(
    play: Play, status: int, code: str, leaf: type[ApiError]
) -> None:
    body = {"error": "what a person should read", "code": code, "retryable": False}

    with pytest.raises(leaf) as caught:
        play(Script((status, body)), lambda c: c.describe("w-1"))

    assert type(caught.value) is leaf
    assert (str(caught.value), caught.value.code) == ("what a person should read", code)


def test_an_error_without_json_is_told_all_the_same(play: Play) -> None:
    with pytest.raises(NotFoundError, match="nothing here") as caught:
        play(Script((404, b"nothing here")), lambda c: c.describe("w-1"))

    assert caught.value.code == "http_404"


@pytest.mark.parametrize("body", [b"<html>", None, [], {**RECORD, "status": "ASLEEP"}, {"id": 5}])
def test_an_answer_that_is_no_answer_is_an_error_with_a_code(play: Play, body: Any) -> None:
    with pytest.raises(ApiError, match="GET /workflows/w-1: the answer is not") as caught:
        play(Script((200, body)), lambda c: c.describe("w-1"))

    assert (caught.value.code, caught.value.retryable) == ("unreadable_answer", False)


def test_what_is_interrupted_is_tried_again_with_the_same_key(play: Play) -> None:
    script = Script(BUSY, ConnectionFailedError("away"), BUSY, (200, {}))
    clock = HastyClock()

    play(script, lambda c: c.signal("w-1", "go"), clock)

    assert len({request.headers["idempotency-key"] for request in script.requests}) == 1
    assert [len(script.requests), len(clock.pauses)] == [4, 3]
    assert clock.pauses[0] < clock.pauses[2]


def test_two_calls_have_two_keys(play: Play) -> None:
    first, second = Script((200, {})), Script((200, {}))
    for script in (first, second):
        play(script, lambda c: c.signal("w-1", "go"))

    keys = [script.requests[0].headers["idempotency-key"] for script in (first, second)]
    assert keys[0] != keys[1]


def test_what_stays_busy_is_raised_in_the_end(play: Play) -> None:
    clock = HastyClock()

    with pytest.raises(UnavailableError, match="busy"):
        play(Script(*[BUSY] * 20), lambda c: c.describe("w-1"), clock)

    assert len(clock.pauses) == 7


def test_a_defect_of_the_engine_is_not_tried_again(play: Play) -> None:
    clock = HastyClock()

    with pytest.raises(UnavailableError):
        play(Script((500, {"error": "internal", "code": "internal"})), _describe, clock)

    assert clock.pauses == []


def _describe(client: Any) -> Any:
    return client.describe("w-1")


def test_the_connections_are_let_go(play: Play) -> None:
    script = Script((200, RECORD))

    play(script, _describe)

    assert script.closed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Client, AsyncClient),
        (blocking_client.Schedules, async_client.AsyncSchedules),
        (blocking_client.Namespaces, async_client.AsyncNamespaces),
        (blocking_client.Workers, async_client.AsyncWorkers),
        (blocking_client.Queues, async_client.AsyncQueues),
        (_handles.WorkflowHandle, _handles.AsyncWorkflowHandle),
    ],
)
def test_both_clients_offer_the_same(one: type, other: type) -> None:
    def offered(kind: type) -> dict[str, Any]:
        public = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
        calls = {name: value for name, value in public.items() if callable(value)}
        return {name: list(inspect.signature(call).parameters) for name, call in calls.items()}

    assert offered(one) == offered(other)


def test_every_call_is_documented_with_an_example() -> None:
    kinds = (Client, blocking_client.Schedules, blocking_client.Namespaces, _handles.WorkflowHandle)
    told = {
        f"{kind.__name__}.{name}": inspect.getdoc(value) or ""
        for kind in kinds
        for name, value in vars(kind).items()
        if callable(value) and not name.startswith("_")
    }

    assert {name for name, text in told.items() if "::" not in text} == {"Client.close"}


def test_a_pause_on_a_loop_lets_others_go_on() -> None:
    # FakeClock.wait ends only when the test moves the time; blocking in it would never end.
    async def main() -> Any:
        clock = FakeClock()
        script = Script(BUSY, (200, RECORD))
        client = AsyncClient("http://e", transport=AsyncScript(script), clock=clock)
        asked = asyncio.create_task(client.describe("w-1"))
        await clock.advance(0)
        before = len(script.requests)
        await clock.advance(1)
        return before, (await asked).id

    assert asyncio.run(main()) == (1, "w-1")
