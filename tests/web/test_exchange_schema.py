"""What the specification says of exchange is what exchange answers."""

from typing import Any

import msgspec

from assay_engine.web import exchange_schema as schema
from tests.web.calls import Calls

EXCHANGE = {
    "protocol": 1,
    "worker_id": "host-1",
    "queue": "q",
    "workflows": ["Order"],
    "activities": ["act"],
}


def _checked(calls: Calls, **fields: Any) -> Any:
    """An exchange, checked both ways against the types of the specification."""
    request = EXCHANGE | fields
    msgspec.convert(request, schema.ExchangeRequest)
    answer = calls.post("/workers/exchange", request)
    assert answer.status == 200, answer
    described = msgspec.convert(answer.body, schema.ExchangeAnswer)
    assert msgspec.to_builtins(described) == answer.body
    return answer.body


def test_tasks_reports_and_pages_are_as_described(calls: Calls) -> None:
    calls.start("a", task_queue="q", input={"n": 1})
    (task,) = _checked(calls, room={"workflows": 1, "activities": 1})["workflow_tasks"]
    scheduled = [
        {"type": "ScheduleActivity", "seq": seq, "name": "act", "task_queue": "q"} for seq in (1, 2)
    ]
    commands = {
        "id": "r1",
        "kind": "commands",
        "run": task["run"],
        "lease": task["lease"],
        "commands": scheduled,
        "eager": 1,
    }
    (answer,) = _checked(calls, reports=[commands])["reports"]
    (eager,) = answer["activities"]
    (queued,) = _checked(calls, room={"workflows": 0, "activities": 1})["activity_tasks"]
    assert (eager["eager"], queued["eager"]) == (True, False)
    reports = [
        {"id": "r2", "kind": "heartbeat", "run": task["run"], "seq": 2, "attempt": 1}
        | {"activity_id": queued["activity_id"], "details": [1]},
        {"id": "r3", "kind": "completed", "run": task["run"], "seq": 1, "attempt": 1}
        | {"result": None},
        {"id": "r4", "kind": "nonsense", "run": task["run"]},
    ]
    known = reports[:2]
    answers = _checked(calls, reports=known)["reports"]
    assert [one["status"] for one in answers] == ["accepted", "accepted"]
    bad = calls.post("/workers/exchange", EXCHANGE | {"reports": reports[2:]}).body["reports"]
    assert [one["status"] for one in bad] == ["invalid"]


def test_an_exchange_that_is_none_is_refused(calls: Calls) -> None:
    assert calls.post("/workers/exchange", EXCHANGE | {"protocol": 2}).body["code"] == (
        "unknown_protocol"
    )
    assert calls.post("/workers/exchange", {"protocol": 1}).status == 422
    assert calls.post("/workers/exchange", EXCHANGE | {"reports": {"a": 1}}).status == 422
