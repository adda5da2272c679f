"""The management client: what it asks, how it reads the answer, when it asks again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay import Client
from assay._records import HistoryEvent, Started, State, Status
from assay._transport import Request, Response
from assay.errors import (
    ConflictError,
    ConnectionFailedError,
    InvalidRequestError,
    NotFoundError,
    ResultTimeoutError,
    RunCancelledError,
    RunFailedError,
    UnauthorizedError,
    UnavailableError,
)

from .fake_clock import FakeClock

RECORD: dict[str, Any] = {
    "id": "w-1",
    "namespace": "main",
    "run_id": "run-w-1-5",
    "workflow_type": "Order",
    "task_queue": "default",
    "status": "COMPLETED",
    "input": '{"n":1}',
    "result": '"done"',
    "error": None,
    "parent_id": None,
    "claimed_by": None,
    "search_attributes": '{"env":"prod"}',
    "archived_at": None,
    "archive_uri": None,
    "created_at": 1.0,
    "updated_at": 2.0,
    "completed_at": 3.0,
}
STARTED = {"workflow_id": "w-1", "run_id": "run-w-1-5", "status": "PENDING"}


class Script:
    """Answers with what it was given, one after the other; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    def send(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return Response(status=status, body=b"" if body is None else json.dumps(body).encode())

    def close(self) -> None:
        return None


def client(script: Script, clock: FakeClock | None = None, namespace: str = "main") -> Client:
    return Client(
        "http://engine", transport=script, clock=clock or FakeClock(), namespace=namespace
    )


def asked(script: Script) -> tuple[str, str, dict[str, Any], Any]:
    [request] = script.requests
    body = None if request.body is None else json.loads(request.body)
    path = request.path.removeprefix("/api/v1/engine/workflow")
    return request.method, path, dict(request.query), body


def test_a_start_names_everything_it_was_given() -> None:
    script = Script((201, STARTED))

    started = client(script, namespace="team").start(
        "Order", workflow_id="w-1", input={"n": 1}, search_attributes={"env": "prod"}
    )

    assert started == Started(workflow_id="w-1", run_id="run-w-1-5", status=Status.PENDING)
    assert asked(script) == (
        "POST",
        "/workflows",
        {},
        {
            "workflow_type": "Order",
            "workflow_id": "w-1",
            "namespace": "team",
            "task_queue": "default",
            "input": {"n": 1},
            "search_attributes": {"env": "prod"},
        },
    )


def test_a_record_comes_with_its_values_read() -> None:
    run = client(Script((200, RECORD))).describe("w-1")

    assert (run.input, run.result, run.search_attributes) == ({"n": 1}, "done", {"env": "prod"})
    assert run.status is Status.COMPLETED
    assert run.status.closed


NS = {"namespace": "main"}


@pytest.mark.parametrize(
    ("call", "answer", "expected"),
    [
        (lambda c: c.describe("a/b"), RECORD, ("GET", "/workflows/a%2Fb", NS, None)),
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
            lambda c: c.get_events("w", cursor=7, limit=2),
            [],
            ("GET", "/workflows/w/events", {**NS, "cursor": 7, "limit": 2}, None),
        ),
        (
            lambda c: c.get_state("w", "pipeline_state"),
            {"value": 1, "event_seq": 2, "created_at": 3.0},
            ("GET", "/workflows/w/state/pipeline_state", NS, None),
        ),
        (lambda c: c.list_children("w"), [], ("GET", "/workflows/w/children", NS, None)),
        (
            lambda c: c.signal("w", "go", {"by": "ada"}),
            {},
            ("POST", "/workflows/w/signal/go", NS, {"payload": {"by": "ada"}}),
        ),
        (
            lambda c: c.cancel("w", "late"),
            {},
            ("POST", "/workflows/w/cancel", NS, {"reason": "late"}),
        ),
        (lambda c: c.terminate("w"), None, ("POST", "/workflows/w/terminate", NS, {})),
        (
            lambda c: c.continue_as_new("w", 5, new_workflow_id="w-2"),
            STARTED,
            ("POST", "/workflows/w/continue-as-new", NS, {"input": 5, "workflow_id": "w-2"}),
        ),
    ],
)
def test_each_call_asks_what_the_contract_says(call: Any, answer: Any, expected: Any) -> None:
    script = Script((200, answer))

    call(client(script))

    assert asked(script) == expected


def test_events_come_with_their_payload_read() -> None:
    event = {
        "id": 5,
        "workflow_id": "w",
        "seq": 1,
        "event_type": "WorkflowStarted",
        "payload": '{"n":1}',
        "timestamp": 9.0,
    }

    assert client(Script((200, [event]))).get_events("w") == [
        HistoryEvent(
            id=5,
            workflow_id="w",
            seq=1,
            event_type="WorkflowStarted",
            payload={"n": 1},
            timestamp=9.0,
        )
    ]


def test_the_state_of_all_queries_comes_by_name() -> None:
    body = {"state": {"a": 1, "b": 2}, "event_seq": 4, "created_at": 5.0}

    state = client(Script((200, body))).get_state("w")

    assert state == State(value={"a": 1, "b": 2}, event_seq=4, created_at=5.0)


def test_a_signal_says_whether_the_run_took_it() -> None:
    assert client(Script((200, {}))).signal("w", "go") is True
    assert client(Script((200, {"delivered": False}))).signal("w", "go") is False


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
def test_an_error_has_the_code_of_the_engine(status: int, code: str, leaf: Any) -> None:
    body = {"error": "what a person should read", "code": code, "retryable": False}

    with pytest.raises(leaf) as caught:
        client(Script((status, body))).describe("w-1")

    assert type(caught.value) is leaf
    assert (str(caught.value), caught.value.code) == ("what a person should read", code)


def test_an_error_without_json_is_told_all_the_same() -> None:
    script = Script()
    script.send = lambda request: Response(status=404, body=b"nothing here")  # type: ignore[method-assign]

    with pytest.raises(NotFoundError, match="nothing here") as caught:
        client(script).describe("w-1")

    assert caught.value.code == "http_404"


def test_a_busy_engine_or_a_broken_connection_is_tried_again_with_the_same_key() -> None:
    busy = (503, {"error": "busy", "code": "busy", "retryable": True})
    script = Script(busy, ConnectionFailedError("away"), busy, (201, STARTED))
    clock = FakeClock()

    client(script, clock).start("Order", workflow_id="w-1")

    assert len({request.headers["idempotency-key"] for request in script.requests}) == 1
    assert [len(script.requests), len(clock.pauses)] == [4, 3]
    assert clock.pauses[0] < clock.pauses[2]


def test_what_stays_busy_is_raised_in_the_end() -> None:
    busy = (503, {"error": "busy", "code": "busy", "retryable": True})
    clock = FakeClock()

    with pytest.raises(UnavailableError, match="busy"):
        client(Script(*[busy] * 20), clock).describe("w-1")

    assert len(clock.pauses) == 7


def test_a_defect_of_the_engine_is_not_tried_again() -> None:
    clock = FakeClock()

    with pytest.raises(UnavailableError):
        client(Script((500, {"error": "internal", "code": "internal"})), clock).describe("w-1")

    assert clock.pauses == []


def test_waiting_returns_the_result_when_the_run_has_ended() -> None:
    running = {**RECORD, "status": "RUNNING", "result": None}
    clock = FakeClock()

    result = client(Script((200, running), (200, running), (200, RECORD)), clock).wait_for_result(
        "w-1"
    )

    assert result == "done"
    assert len(clock.pauses) == 2


@pytest.mark.parametrize(
    ("status", "leaf"),
    [("FAILED", RunFailedError), ("TIMED_OUT", RunFailedError), ("CANCELLED", RunCancelledError)],
)
def test_waiting_raises_how_else_the_run_ended(status: str, leaf: type[Exception]) -> None:
    record = {**RECORD, "status": status, "error": "boom", "result": None}

    with pytest.raises(leaf, match="w-1"):
        client(Script((200, record))).wait_for_result("w-1")


def test_waiting_outlasts_an_engine_that_is_away() -> None:
    away = [ConnectionFailedError("away")] * 20

    assert client(Script(*away, (200, RECORD))).wait_for_result("w-1", timeout=120) == "done"
    with pytest.raises(ResultTimeoutError, match="w-1 is out of reach after 3"):
        client(Script(*away)).wait_for_result("w-1", timeout=3)
    with pytest.raises(ConnectionFailedError):
        client(Script(*away)).wait_for_result("w-1")


def test_waiting_ends_with_the_given_time() -> None:
    running = {**RECORD, "status": "RUNNING", "result": None}
    clock = FakeClock()

    with pytest.raises(ResultTimeoutError, match="w-1 is RUNNING after 3"):
        client(Script(*[(200, running)] * 100), clock).wait_for_result("w-1", timeout=3)

    assert sum(clock.pauses) == pytest.approx(3)
