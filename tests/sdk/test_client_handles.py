"""A handle: the end of a chain of runs, a request and its reply, and calls about its own run."""

from __future__ import annotations

from typing import Any

import pytest

from assay.client import Status
from assay.errors import (
    ApiError,
    ConnectionFailedError,
    NotFoundError,
    RequestRejectedError,
    ResultTimeoutError,
    RunCancelledError,
    RunEndedError,
    RunFailedError,
)
from assay.failure import Failure

from .scripted import BOTH, BUSY, RECORD, RUNNING, STARTED, HastyClock, Play, Script

NS = {"namespace": "main"}
AWAY = ConnectionFailedError("away")
FAILED = {**RECORD, "status": "FAILED", "error": "boom", "result": None}
UNKNOWN = (404, {"error": "not found: run", "code": "not_found", "retryable": False})


@pytest.fixture(params=BOTH, ids=["blocking", "awaiting"])
def play(request: pytest.FixtureRequest) -> Play:
    made: Play = request.param
    return made


def result(client: Any) -> Any:
    return client.get_handle("w-1").result()


def result_in(timeout: Any) -> Any:
    return lambda client: client.get_handle("w-1").result(timeout)


def looks(script: Script) -> list[tuple[str, str | None]]:
    """Which runs were looked at: the path, and the incarnation."""
    return [(path, query.get("run_id")) for _, path, query, _ in script.asked()]


def test_the_result_comes_when_the_run_has_ended(play: Play) -> None:
    clock = HastyClock()

    assert play(Script((200, RUNNING), (200, RUNNING), (200, RECORD)), result, clock) == "done"
    assert len(clock.pauses) == 2


def test_waiting_for_a_result_by_id_is_the_same(play: Play) -> None:
    script = Script((200, RUNNING), (200, RECORD))

    assert play(script, lambda c: c.wait_for_result("w-1", timeout=5)) == "done"


def test_a_chain_is_followed_to_its_end(play: Play) -> None:
    script = Script(
        (200, {**FAILED, "run_id": "r-1", "retried_as": "r-2"}),
        (200, {**RUNNING, "run_id": "r-2", "attempt": 2}),
        (200, {**RECORD, "run_id": "r-2", "result": None, "continued_to": "w-2"}),
        (200, {**FAILED, "id": "w-2", "run_id": "r-3", "retried_as": "r-4"}),
        (200, {**RECORD, "id": "w-2", "run_id": "r-4", "result": "7"}),
    )

    assert play(script, lambda c: c.get_handle("w-1", "r-1").result()) == 7
    assert looks(script) == [
        ("/workflows/w-1", "r-1"),
        ("/workflows/w-1", "r-2"),
        ("/workflows/w-1", "r-2"),
        ("/workflows/w-2", None),
        ("/workflows/w-2", "r-4"),
    ]


def test_a_started_run_is_told_from_later_ones_of_its_id(play: Play) -> None:
    script = Script((201, STARTED), (200, RECORD))

    play(script, lambda c: c.execute("Order", id="w-1"))

    assert looks(script)[1] == ("/workflows/w-1", "run-w-1-5")


def test_a_failed_run_tells_its_failure(play: Play) -> None:
    failure = {"kind": "DECLINED", "message": "no", "retryable": False, "details": {"n": 1}}
    failed = {**FAILED, "failure": {**failure, "cause": {"kind": "BANK", "message": "away"}}}

    with pytest.raises(RunFailedError, match="w-1 ended as FAILED: boom") as caught:
        play(Script((200, failed)), result)

    cause = Failure(kind="BANK", message="away")
    expected = Failure(
        kind="DECLINED", message="no", retryable=False, details={"n": 1}, cause=cause
    )
    assert caught.value.failure == expected


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT"])
def test_a_failure_that_is_only_a_text_is_one_too(play: Play, status: str) -> None:
    with pytest.raises(RunFailedError, match="boom") as caught:
        play(Script((200, {**FAILED, "status": status})), result)

    assert (caught.value.status, caught.value.error) == (status, "boom")
    assert caught.value.failure == Failure(message="boom")


def test_a_cancelled_run_has_no_result(play: Play) -> None:
    with pytest.raises(RunCancelledError, match="w-1"):
        play(Script((200, {**FAILED, "status": "CANCELLED"})), result)


def test_a_result_that_was_left_out_is_not_taken_for_none(play: Play) -> None:
    with pytest.raises(ApiError, match="too long") as caught:
        play(Script((200, {**RECORD, "result": None, "truncated": ["result"]})), result)

    assert caught.value.code == "response_too_large"


def test_waiting_outlasts_an_engine_that_is_away(play: Play) -> None:
    away = [AWAY, BUSY] * 10

    assert play(Script(*away, (200, RECORD)), result_in(120)) == "done"
    clock = HastyClock()
    with pytest.raises(ResultTimeoutError, match="w-1 is out of reach after 3 s"):
        play(Script(*away), result_in("3s"), clock)
    assert sum(clock.pauses) == pytest.approx(3)
    with pytest.raises(ConnectionFailedError):
        play(Script(*[AWAY] * 20), result)


def test_waiting_ends_with_the_given_time(play: Play) -> None:
    clock = HastyClock()

    with pytest.raises(ResultTimeoutError, match="w-1 is RUNNING after 3 s"):
        play(Script(*[(200, RUNNING)] * 100), result_in(3), clock)

    assert sum(clock.pauses) == pytest.approx(3)


def test_no_single_look_outlasts_the_given_time_by_much(play: Play) -> None:
    script = Script((200, RECORD))

    play(script, result_in(3))

    assert script.requests[0].timeout_secs == pytest.approx(5)


def test_a_run_that_does_not_exist_is_not_waited_for(play: Play) -> None:
    with pytest.raises(NotFoundError):
        play(Script(UNKNOWN), result_in(3))


@pytest.mark.parametrize(
    ("do", "answer", "expected"),
    [
        (lambda h: h.describe(), RECORD, ("GET", "", {"run_id": "r-1"}, None)),
        (lambda h: h.events(limit=5), [], ("GET", "/events", {"run_id": "r-1", "limit": 5}, None)),
        (lambda h: h.children(), [], ("GET", "/children", {"run_id": "r-1"}, None)),
        (lambda h: h.signal("go", 5), {}, ("POST", "/signal/go", {}, {"payload": 5})),
        (
            lambda h: h.cancel("late", 60),
            {},
            ("POST", "/cancel", {}, {"reason": "late", "deadline": 60.0}),
        ),
        (lambda h: h.terminate("late"), {}, ("POST", "/terminate", {}, {"reason": "late"})),
    ],
)
def test_each_call_is_about_the_handles_run(
    play: Play, do: Any, answer: Any, expected: Any
) -> None:
    script = Script((200, answer))
    method, suffix, query, body = expected

    play(script, lambda c: do(c.get_handle("w-1", "r-1")))

    assert script.asked() == [(method, f"/workflows/w-1{suffix}", {**NS, **query}, body)]


def test_a_query_returns_its_value(play: Play) -> None:
    script = Script((200, {"value": {"step": 3}, "event_seq": 2, "created_at": 3.0}))

    assert play(script, lambda c: c.get_handle("w-1").query("progress")) == {"step": 3}
    assert script.asked() == [("GET", "/workflows/w-1/state/progress", NS, None)]


def request(timeout: Any = None) -> Any:
    return lambda client: client.get_handle("w-1").request("add", {"n": 1}, timeout)


NOT_YET = (200, {"replied": False, "status": "RUNNING"})
CLOSED = (200, {"replied": False, "status": "COMPLETED"})
REPLY = (200, {"replied": True, "payload": {"sum": 3}, "error": None})


def test_a_request_is_a_signal_and_waits_for_its_reply(play: Play) -> None:
    script = Script((200, {}), NOT_YET, AWAY, REPLY)

    assert play(script, request(60)) == {"sum": 3}

    (_, path, _, sent), *waits = script.asked()
    key = sent.pop("request_id")
    assert (path, sent) == ("/workflows/w-1/signal/add", {"payload": {"n": 1}})
    assert {wait[:2] for wait in waits} == {("GET", f"/workflows/w-1/replies/{key}")}
    assert waits[0][2] == {**NS, "wait_secs": 20}


def test_two_requests_are_told_apart(play: Play) -> None:
    scripts = [Script((200, {}), REPLY) for _ in range(2)]
    for script in scripts:
        play(script, request())

    keys = {script.asked()[0][3]["request_id"] for script in scripts}
    assert len(keys) == 2


def test_a_reply_that_is_an_error_is_raised(play: Play) -> None:
    error = {"kind": "FULL", "message": "no seats", "retryable": False}
    script = Script((200, {}), (200, {"replied": True, "payload": None, "error": error}))

    with pytest.raises(RequestRejectedError, match="no seats") as caught:
        play(script, request())

    assert caught.value.failure == Failure(kind="FULL", message="no seats", retryable=False)


def test_a_run_that_has_ended_takes_no_request(play: Play) -> None:
    with pytest.raises(RunEndedError, match="w-1 has ended"):
        play(Script((200, {"delivered": False})), request())


def test_a_run_that_ends_without_a_reply_is_not_waited_for(play: Play) -> None:
    clock = HastyClock()

    with pytest.raises(RunEndedError) as caught:
        play(Script((200, {}), NOT_YET, *[CLOSED] * 100), request(60), clock)

    assert caught.value.status is Status.COMPLETED
    assert sum(clock.pauses) < 5


def test_the_last_words_of_a_run_are_heard(play: Play) -> None:
    assert play(Script((200, {}), CLOSED, CLOSED, REPLY), request(60)) == {"sum": 3}


def test_a_request_ends_with_the_given_time(play: Play) -> None:
    clock = HastyClock()
    script = Script((200, {}), *[NOT_YET] * 100)

    with pytest.raises(ResultTimeoutError, match="w-1 has not replied to add after 3 s"):
        play(script, request(3), clock)

    assert sum(clock.pauses) == pytest.approx(3)
    waits = [query["wait_secs"] for _, _, query, _ in script.asked()[1:]]
    assert (waits[0], waits[-1]) == (3, 0)


def test_a_handle_shows_which_run_it_means(play: Play) -> None:
    shown = play(Script((201, STARTED)), lambda c: c.start("Order", id="w-1"))

    assert repr(shown).endswith("WorkflowHandle('w-1', run_id='run-w-1-5')")


def test_a_continuation_is_a_handle_of_the_successor(play: Play) -> None:
    script = Script((201, {**STARTED, "workflow_id": "w-2"}))

    handle = play(script, lambda c: c.continue_as_new("w-1"))

    assert (handle.workflow_id, handle.run_id, handle.started) == ("w-2", "run-w-1-5", True)
