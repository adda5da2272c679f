"""Signals with a request id, and the route of their replies."""

import pytest

from tests.web.calls import Calls

REPLY = {"type": "Reply", "seq": 1, "request_id": "r/1", "payload": {"n": 1}}


def test_a_request_is_replied_to(calls: Calls) -> None:
    calls.start("a", task_queue="q")
    for _ in range(2):
        answer = calls.post("/workflows/a/signal/ask", {"payload": 5, "request_id": "r/1"})
        assert (answer.status, answer.body) == (200, {})
    signals = [e for e in calls.get("/workflows/a/events").body if "Signal" in e["event_type"]]
    assert [e["payload"] for e in signals] == ['{"payload":5,"request_id":"r/1","signal":"ask"}']
    none = calls.get("/workflows/a/replies/r%2F1?wait_secs=0")
    assert (none.status, none.body) == (200, {"replied": False, "status": "PENDING"})
    calls.claim("q")
    assert calls.command("a", REPLY).status == 200
    found = calls.get("/workflows/-/replies/r%2F1?id=a&namespace=main")
    assert found.body == {"replied": True, "payload": {"n": 1}, "error": None}


def test_a_closed_run_is_not_asked(calls: Calls) -> None:
    calls.start("a")
    calls.post("/workflows/a/terminate", {})
    answer = calls.post("/workflows/a/signal/ask", {"request_id": "r1"})
    assert (answer.status, answer.body) == (200, {"delivered": False})
    assert calls.get("/workflows/a/replies/r1").body == {"replied": False, "status": "FAILED"}


@pytest.mark.parametrize("secs", ["-1", "20.5", "x", "nan", "inf", "1e1", ""])
def test_a_wait_that_cannot_be_is_refused(calls: Calls, secs: str) -> None:
    calls.start("a")
    answer = calls.get(f"/workflows/a/replies/r1?wait_secs={secs}")
    assert (answer.status, "wait_secs" in answer.body["error"]) == (400, True)


def test_unknown_runs_and_impossible_ids_are_told_apart(calls: Calls) -> None:
    assert calls.get("/workflows/a/replies/r1").status == 404
    assert calls.post("/workflows/a/signal/ask", {"request_id": "r1"}).status == 404
    calls.start("a")
    long = "x" * 65
    assert calls.get(f"/workflows/a/replies/{long}").status == 400
    answer = calls.post("/workflows/a/signal/ask", {"request_id": long})
    assert (answer.status, "request_id" in answer.body["error"]) == (400, True)
    assert calls.post("/workflows/a/signal/ask", {"request_id": 5}).status == 422
