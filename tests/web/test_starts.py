"""The options of a start on the wire: policies, what is refused, what is answered."""

from typing import Any

import pytest

from tests.web.calls import Answer, Calls
from tests.web.fakes import HandClock

RUN_ID = "run-a-1700000000"
COMPLETE = {"type": "CompleteWorkflow", "result": 1}


def complete(calls: Calls, workflow_id: str = "a") -> None:
    assert calls.claim() is not None
    assert calls.command(workflow_id, COMPLETE).status == 200


def test_a_start_without_options_is_answered_as_ever(calls: Calls) -> None:
    answer = calls.start("a")
    assert (answer.status, answer.body) == (
        201,
        {"workflow_id": "a", "run_id": RUN_ID, "status": "PENDING"},
    )


def test_id_is_another_name_of_workflow_id(calls: Calls) -> None:
    def start(**ids: Any) -> Answer:
        return calls.post("/workflows", {"workflow_type": "Order", **ids})

    assert start(id="a").body["workflow_id"] == "a"
    assert start(id="b", workflow_id="b").status == 201
    different = start(id="c", workflow_id="d")
    assert (different.status, "workflow_id" in different.body["error"]) == (400, True)
    assert (start().status, start().body["code"]) == (422, "wrong_shape")
    assert start(id=None).status == 422


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 409),
        ({"id_conflict_policy": "fail"}, 409),
        ({"id_reuse_policy": "allow_duplicate"}, 409),
        ({"execution_error_when_already_started": True}, 409),
        ({"execution_error_when_already_started": False}, 200),
        ({"execution_error_when_already_started": False, "id_conflict_policy": "fail"}, 409),
        ({"id_conflict_policy": "use_existing"}, 200),
        ({"id_conflict_policy": "terminate_existing"}, 201),
        ({"id_conflict_policy": "terminate_existing", "id_reuse_policy": "reject_duplicate"}, 201),
    ],
)
def test_a_start_with_the_id_of_an_open_run(
    calls: Calls, fields: dict[str, Any], status: int
) -> None:
    calls.start("a")
    answer = calls.start("a", **fields)
    assert answer.status == status
    match status:
        case 409:
            assert answer.body["code"] == "already_exists"
        case 200:
            expected = {"workflow_id": "a", "run_id": RUN_ID, "status": "PENDING"}
            assert answer.body == {**expected, "started": False}
        case 201:
            assert answer.body["started"] is True
            assert answer.body["run_id"].startswith(f"{RUN_ID}-")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 409),
        ({"memo": {"x": 1}}, 409),
        ({"id_conflict_policy": "fail"}, 201),
        ({"id_conflict_policy": "use_existing"}, 201),
        ({"execution_error_when_already_started": True}, 201),
        ({"id_reuse_policy": "allow_duplicate"}, 201),
        ({"id_reuse_policy": "allow_duplicate_failed_only"}, 409),
        ({"id_reuse_policy": "reject_duplicate"}, 409),
    ],
)
def test_a_start_with_the_id_of_a_run_that_has_completed(
    calls: Calls, fields: dict[str, Any], status: int
) -> None:
    calls.start("a")
    complete(calls)
    assert calls.start("a", **fields).status == status


def test_old_incarnations_are_read_by_their_run_id(calls: Calls) -> None:
    calls.start("a", input=1)
    complete(calls)
    second = calls.start("a", input=2, id_reuse_policy="allow_duplicate").body["run_id"]
    records = {
        run_id: calls.get(f"/workflows/a?run_id={run_id}").body for run_id in (RUN_ID, second)
    }
    assert [(r["input"], r["status"], r["run_id"]) for r in records.values()] == [
        ("1", "COMPLETED", RUN_ID),
        ("2", "PENDING", second),
    ]
    assert len(calls.get(f"/workflows/a/events?run_id={RUN_ID}").body) == 2
    assert len(calls.get("/workflows/a/events").body) == 1
    for suffix in ("", "/events", "/state", "/state/x", "/children", "/activities"):
        answer = calls.get(f"/workflows/a{suffix}?run_id=run-a-5")
        assert (suffix, answer.status, answer.body["code"]) == (suffix, 404, "not_found")


def test_messages_and_memo_are_there_from_the_start(calls: Calls) -> None:
    messages = [{"name": "add", "payload": {"n": 1}}, {"name": "go"}]
    calls.start("a", messages=messages, memo={"b": 1, "a": 2})
    types = [event["event_type"] for event in calls.get("/workflows/a/events").body]
    assert types == ["WorkflowStarted", "SignalReceived", "SignalReceived"]
    assert calls.get("/workflows/a").body["memo"] == '{"a":2,"b":1}'


def test_a_run_that_was_tried_again_names_its_next_attempt(calls: Calls, clock: HandClock) -> None:
    calls.start("a", retry_policy={"initial_interval": "1s"})
    calls.claim()
    calls.command("a", {"type": "FailWorkflow", "error": "x"})
    first = calls.get(f"/workflows/a?run_id={RUN_ID}").body
    newest = calls.get("/workflows/a").body
    assert (first["status"], first["attempt"], first["continued_to"]) == ("FAILED", 1, None)
    assert (first["retried_as"], newest["attempt"]) == (newest["run_id"], 2)
    assert newest["retried_as"] is None
    assert calls.claim() is None
    clock.time += 2
    assert calls.claim() is not None


def test_an_eager_start_answers_with_the_task_exchange_would_give(calls: Calls) -> None:
    answer = calls.start("a", task_queue="q", enable_eager_start=True, worker_id="w1", input=5)
    task = answer.body["workflow_task"]
    exchange = {"protocol": 1, "worker_id": "w1", "queue": "q"}
    calls.start("b", task_queue="q", input=5)
    taken = calls.post("/workers/exchange", {**exchange, "room": {"workflows": 5}}).body
    (other,) = taken["workflow_tasks"]
    assert task.keys() == other.keys()
    assert (task["run"]["id"], task["lease_secs"]) == ("a", other["lease_secs"])
    report = {"id": "r", "kind": "commands", "run": task["run"], "lease": task["lease"]}
    done = calls.post("/workers/exchange", {**exchange, "reports": [{**report, "commands": []}]})
    assert done.body["reports"][0]["status"] == "accepted"


def test_without_eager_start_there_is_no_task_in_the_answer(calls: Calls) -> None:
    assert "workflow_task" not in calls.start("a", worker_id="w1").body
    assert "workflow_task" not in calls.start("b", worker_id="w1", enable_eager_start=False).body


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"id_conflict_policy": "maybe"}, "id_conflict_policy"),
        ({"id_reuse_policy": 5}, "id_reuse_policy"),
        ({"execution_error_when_already_started": "no"}, "execution_error_when_already_started"),
        ({"messages": {"name": "x"}}, "messages"),
        ({"messages": ["x"]}, "messages[0]"),
        ({"messages": [{"name": "x"}, {"payload": 1}]}, "messages[1]"),
        ({"messages": [{"name": "a\u0001"}]}, "messages[0].name"),
        ({"messages": [{"name": "x"}] * 101}, "messages"),
        ({"memo": "text"}, "memo"),
        ({"context": [1]}, "context"),
        ({"run_timeout": "soon"}, "run_timeout"),
        ({"execution_timeout": 0}, "execution_timeout"),
        ({"task_timeout": "1h"}, "task_timeout"),
        ({"start_delay": -1}, "start_delay"),
        ({"retry_policy": {"maximum_attempts": "many"}}, "retry_policy.maximum_attempts"),
        ({"parent_close_policy": "eat"}, "parent_close_policy"),
        ({"wait_for_cancellation": 1}, "wait_for_cancellation"),
        ({"enable_eager_start": "yes", "worker_id": "w"}, "enable_eager_start"),
        ({"enable_eager_start": True}, "worker_id"),
        ({"enable_eager_start": True, "worker_id": ""}, "worker_id"),
        ({"enable_eager_start": True, "worker_id": "w", "lease": ""}, "lease"),
        ({"enable_eager_start": True, "worker_id": "w", "lease": "x" * 65}, "lease"),
        ({"cron_schedule": "* * * * *"}, "cron_schedule is not supported yet"),
    ],
)
def test_a_wrong_option_is_a_400_that_names_it_and_starts_nothing(
    calls: Calls, fields: dict[str, Any], name: str
) -> None:
    answer = calls.start("a", **fields)
    assert (answer.status, answer.body["code"]) == (400, "bad_request")
    assert name in answer.body["error"]
    assert calls.get("/workflows/a").status == 404


def test_null_options_are_none(calls: Calls) -> None:
    names = ("memo", "run_timeout", "retry_policy", "messages", "id_reuse_policy", "start_delay")
    assert calls.start("a", **dict.fromkeys(names)).body.keys() == {
        "workflow_id",
        "run_id",
        "status",
    }


def test_a_cancel_deadline_closes_the_run(calls: Calls, clock: HandClock) -> None:
    calls.start("a")
    calls.claim()
    calls.command("a", {"type": "WaitForSignal", "name": "x"})
    assert calls.post("/workflows/a/cancel", {"deadline": "5s"}).status == 200
    calls.claim()
    calls.command("a", {"type": "ScheduleTimer", "seq": 1, "duration_secs": 900})
    clock.time += 6
    assert calls.claim() is None
    assert calls.get("/workflows/a").body["status"] == "CANCELLED"


def test_a_cancel_deadline_that_is_none_is_refused(calls: Calls) -> None:
    calls.start("a")
    answer = calls.post("/workflows/a/cancel", {"deadline": "soon"})
    assert (answer.status, "deadline" in answer.body["error"]) == (400, True)
    assert calls.get("/workflows/a").body["status"] == "PENDING"
