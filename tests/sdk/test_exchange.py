"""What goes over the wire, literally as docs/worker-protocol.md has it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from assay import _exchange
from assay._exchange import (
    ActivityTask,
    Channel,
    Identity,
    Outcome,
    Poll,
    Room,
    RunRef,
    Then,
    WorkflowTask,
)
from assay._history import Event
from assay._transport import Request, Response
from assay.errors import ConnectionFailedError, UnavailableError
from assay.failure import Failure

RUN = {"namespace": "main", "id": "o-1", "incarnation": "k3J9x0aQ2f"}
REF = RunRef("main", "o-1", "k3J9x0aQ2f")
WHO = {
    "protocol": 1,
    "worker_id": "host-7f3a",
    "namespace": "main",
    "queue": "default",
    "workflows": ["Order"],
    "activities": ["charge", "ship"],
}
ACTIVITY = ActivityTask(
    run=REF, seq=3, attempt=1, name="charge", lease_secs=30.0, max_attempts=3, eager=True
)
TASK = WorkflowTask(
    run=REF, workflow_type="Order", task_queue="default", lease="Zk1", lease_secs=30.0, version=14
)
ANSWER: dict[str, Any] = {
    "protocol": 1,
    "reports": [
        {
            "id": "r1",
            "status": "accepted",
            "code": None,
            "error": None,
            "version": 14,
            "mark": "m",
            "activities": [],
            "of a later version": 1,
        }
    ],
    "workflow_tasks": [
        {
            "run": RUN,
            "workflow_type": "Order",
            "task_queue": "default",
            "parent_id": None,
            "lease": "Zk1",
            "lease_secs": 30.0,
            "version": 14,
            "after": 12,
            "history": [
                {
                    "seq": 13,
                    "event_type": "ActivityCompleted",
                    "payload": {"activity_seq": 3, "result": "ok"},
                    "timestamp": 1763467200.5,
                }
            ],
            "history_next": None,
        }
    ],
    "activity_tasks": [
        {
            "run": RUN,
            "workflow_type": "Order",
            "activity_id": 5511034218857,
            "seq": 3,
            "attempt": 1,
            "max_attempts": 3,
            "name": "charge",
            "task_queue": "default",
            "input": {"amount": 5},
            "eager": True,
            "lease_secs": 30.0,
            "start_to_close_secs": 300.0,
            "heartbeat_timeout_secs": None,
            "scheduled_at": 1763467200.1,
            "details": None,
        }
    ],
    "pages": [],
    "next_poll_secs": 1.0,
}


class Recorded:
    """Answers every request with the same thing, and keeps the requests."""

    def __init__(self, answer: Any = None, status: int = 200) -> None:
        self.response = Response(status=status, body=json.dumps(answer or ANSWER).encode())
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        return self.response

    async def close(self) -> None:
        return None

    @property
    def body(self) -> Any:
        [request] = self.requests
        return json.loads(request.body or b"")


def channel(transport: Recorded) -> Channel:
    identity = Identity(
        worker_id="host-7f3a",
        namespace="main",
        queue="default",
        workflows=["Order"],
        activities=["charge", "ship"],
    )
    return Channel(transport, identity)


def test_a_poll_states_room_and_what_is_cached() -> None:
    transport = Recorded()
    poll = Poll(room=Room(workflows=5, activities=10), wait_secs=20, cached=[(REF, 12)])
    asyncio.run(channel(transport).poll(poll))

    assert transport.body == {
        **WHO,
        "room": {"workflows": 5, "activities": 10},
        "wait_secs": 20,
        "cached": [{"run": RUN, "seq": 12}],
    }
    assert transport.requests[0].path == "/api/v1/engine/workflow/workers/exchange"
    assert transport.requests[0].timeout_secs > 20


def test_reports_take_nothing() -> None:
    transport = Recorded()
    reports = [_exchange.renew("r1", TASK), _exchange.release("r2", TASK)]
    asyncio.run(channel(transport).report(reports))

    assert transport.body == {
        **WHO,
        "reports": [
            {"id": "r1", "kind": "renew", "run": RUN, "lease": "Zk1"},
            {"id": "r2", "kind": "release", "run": RUN, "lease": "Zk1"},
        ],
    }


def test_a_page_is_asked_for_by_its_cursor() -> None:
    transport = Recorded()
    asyncio.run(channel(transport).pages(REF, "cursor"))

    assert transport.body == {**WHO, "pages": [{"run": RUN, "cursor": "cursor"}]}


SHIP = {"type": "ScheduleActivity", "seq": 4, "name": "ship"}


@pytest.mark.parametrize(
    ("report", "body"),
    [
        (
            _exchange.commands("r", TASK, [SHIP], 2),
            {"kind": "commands", "lease": "Zk1", "commands": [SHIP], "eager": 2},
        ),
        (
            _exchange.outcome("r", ACTIVITY, Outcome(result="ok"), at=5.25, then=None),
            {"kind": "completed", "seq": 3, "attempt": 1, "result": "ok", "at": 5.25},
        ),
        (
            _exchange.outcome(
                "r",
                ACTIVITY,
                Outcome(result="ok"),
                at=5.25,
                then=Then(version=12, mark=None, commands=[SHIP], eager=10),
            ),
            {
                "kind": "completed",
                "seq": 3,
                "attempt": 1,
                "result": "ok",
                "at": 5.25,
                "then": {"version": 12, "mark": None, "eager": 10, "commands": [SHIP]},
            },
        ),
        (
            _exchange.outcome(
                "r",
                ACTIVITY,
                Outcome(failure=Failure(message="no", retryable=False)),
                at=5.25,
                then=None,
            ),
            {
                "kind": "failed",
                "seq": 3,
                "attempt": 1,
                "error": "no",
                "failure": {"kind": "INTERNAL", "message": "no", "retryable": False},
                "retryable": False,
                "at": 5.25,
            },
        ),
        (
            _exchange.heartbeat("r", ACTIVITY, {"row": 7}),
            {"kind": "heartbeat", "seq": 3, "attempt": 1, "details": {"row": 7}},
        ),
        (_exchange.release("r", ACTIVITY), {"kind": "release", "seq": 3, "attempt": 1}),
    ],
)
def test_a_report_has_the_fields_of_its_kind(report: _exchange.Report, body: Any) -> None:
    assert json.loads(report.body) == {"id": "r", "run": RUN, **body}


def test_an_answer_is_read_whole_and_unknown_fields_are_ignored() -> None:
    answer = asyncio.run(channel(Recorded()).report([]))

    assert answer.reports == [
        _exchange.ReportAnswer(id="r1", status="accepted", version=14, mark="m")
    ]
    assert answer.workflow_tasks == [
        WorkflowTask(
            run=REF,
            workflow_type="Order",
            task_queue="default",
            lease="Zk1",
            lease_secs=30.0,
            version=14,
            after=12,
            history=[
                Event(13, "ActivityCompleted", {"activity_seq": 3, "result": "ok"}, 1763467200.5)
            ],
        )
    ]
    assert answer.activity_tasks == [
        ActivityTask(
            run=REF,
            seq=3,
            attempt=1,
            name="charge",
            lease_secs=30.0,
            max_attempts=3,
            task_queue="default",
            input={"amount": 5},
            eager=True,
            activity_id=5511034218857,
        )
    ]
    assert answer.next_poll_secs == 1.0


@pytest.mark.parametrize(
    ("outcome", "attempt", "final"),
    [
        (Outcome(result=1), 1, True),
        (Outcome(failure=Failure(message="no")), 2, False),
        (Outcome(failure=Failure(message="no")), 3, True),
        (Outcome(failure=Failure(message="no", retryable=False)), 1, True),
    ],
)
def test_an_outcome_is_final_when_the_engine_will_not_try_again(
    outcome: Outcome, attempt: int, final: bool
) -> None:
    task = ActivityTask(run=REF, seq=1, attempt=attempt, name="a", lease_secs=30.0, max_attempts=3)

    assert outcome.final(task) is final


def test_an_error_of_the_engine_is_raised_with_its_code() -> None:
    body = {"error": "try later", "code": "busy", "retryable": True}
    with pytest.raises(UnavailableError) as caught:
        asyncio.run(channel(Recorded(body, status=503)).report([]))

    assert (caught.value.code, caught.value.retryable) == ("busy", True)


def test_an_answer_that_cannot_be_read_counts_as_none() -> None:
    with pytest.raises(ConnectionFailedError, match="cannot be read"):
        asyncio.run(channel(Recorded(["not", "an", "answer"])).report([]))


def test_reports_on_a_queued_activity_carry_its_id() -> None:
    queued = msgspec.structs.replace(ACTIVITY, eager=False, activity_id=77)
    reports = [
        _exchange.outcome("r", queued, Outcome(result=1), at=1.0, then=None),
        _exchange.heartbeat("r", queued, None),
        _exchange.release("r", queued),
    ]
    assert [json.loads(report.body)["activity_id"] for report in reports] == [77, 77, 77]
    assert "activity_id" not in json.loads(_exchange.heartbeat("r", ACTIVITY, None).body)
