"""The records of the contract: every key, every time, and what is left out of a list."""

import json
from typing import Any

from tests.web.calls import Calls
from tests.web.fakes import HandClock

VERSION_STAMP = "assay_engine_version"


def _scheduled(calls: Calls, **fields: Any) -> Any:
    """Start a run, schedule one activity, and take it."""
    calls.start("a", task_queue="q", input={"b": 1, "a": 2})
    calls.claim("q")
    command = {"type": "ScheduleActivity", "seq": 1, "name": "act", "task_queue": "aq", **fields}
    assert calls.command("a", command).status == 200
    return calls.post("/tasks/poll", {"queue": "aq", "worker_id": "w-test"}).body


def test_a_start_is_answered_with_both_ids_and_the_status(calls: Calls) -> None:
    answer = calls.start("a")
    assert (answer.status, answer.body) == (
        201,
        {"workflow_id": "a", "run_id": "run-a-1700000000", "status": "PENDING"},
    )


def test_a_workflow_has_every_key(calls: Calls) -> None:
    calls.start("a", input={"b": 1, "a": [None]}, search_attributes={"k": "v"}, task_queue="q")
    record = calls.get("/workflows/a").body
    attributes = json.loads(record["search_attributes"])
    assert (attributes["k"], VERSION_STAMP in attributes) == ("v", True)
    assert record | {"search_attributes": None} == {
        "id": "a",
        "namespace": "main",
        "run_id": "run-a-1700000000",
        "workflow_type": "Order",
        "task_queue": "q",
        "status": "PENDING",
        "input": '{"a":[null],"b":1}',
        "result": None,
        "error": None,
        "parent_id": None,
        "claimed_by": None,
        "search_attributes": None,
        "archived_at": None,
        "archive_uri": None,
        "created_at": 1700000000.25,
        "updated_at": 1700000000.25,
        "completed_at": None,
        "continued_to": None,
        "problem": None,
        "memo": None,
        "attempt": 1,
        "retried_as": None,
        "failure": None,
        "incarnation": record["incarnation"],
    }


def test_a_run_is_claimed_by_the_worker_that_holds_its_lease(
    calls: Calls, clock: HandClock
) -> None:
    calls.start("a")
    calls.claim()
    assert calls.get("/workflows/a").body["claimed_by"] == "w-test"
    clock.time += 31
    assert calls.get("/workflows/a").body["claimed_by"] is None


def test_a_child_names_its_parent_and_a_continued_run_its_successor(calls: Calls) -> None:
    calls.start("a", task_queue="q")
    calls.claim("q")
    child = {"type": "StartChildWorkflow", "workflow_type": "Part", "workflow_id": "c"}
    calls.command("a", child)
    assert [run["parent_id"] for run in calls.get("/workflows/a/children").body] == ["a"]
    calls.start("b")
    target = calls.post("/workflows/b/continue-as-new", {"workflow_id": "b2"}).body
    assert target["workflow_id"] == "b2"
    assert calls.get("/workflows/b").body["continued_to"] == "b2"


def test_an_event_in_a_list_has_its_payload_as_json_text(calls: Calls) -> None:
    calls.start("a", input={"b": 1, "a": "ü"})
    calls.post("/workflows/a/signal/go", {})
    assert calls.get("/workflows/a/events").body == [
        {
            "id": 1,
            "workflow_id": "a",
            "seq": 1,
            "event_type": "WorkflowStarted",
            "payload": '{"a":"ü","b":1}',
            "timestamp": 1700000000.25,
        },
        {
            "id": 2,
            "workflow_id": "a",
            "seq": 2,
            "event_type": "SignalReceived",
            "payload": '{"payload":null,"signal":"go"}',
            "timestamp": 1700000000.25,
        },
    ]


def test_a_null_that_a_command_sent_is_not_the_lack_of_a_value(calls: Calls) -> None:
    calls.start("sent")
    calls.start("absent")
    calls.claim()
    calls.claim()
    calls.command("sent", {"type": "CompleteWorkflow", "result": None})
    calls.command("absent", {"type": "CompleteWorkflow"})
    found = {
        name: (
            calls.get(f"/workflows/{name}/events").body[-1]["payload"],
            calls.get(f"/workflows/{name}").body["result"],
        )
        for name in ("sent", "absent")
    }
    assert found == {"sent": ("null", "null"), "absent": (None, None)}


def test_an_event_in_a_task_has_its_payload_nested(calls: Calls) -> None:
    calls.start("a", input={"b": 1})
    assert calls.claim() == {
        "workflow_id": "a",
        "namespace": "main",
        "workflow_type": "Order",
        "task_queue": "main",
        "input": {"b": 1},
        "history": [
            {
                "seq": 1,
                "event_type": "WorkflowStarted",
                "payload": {"b": 1},
                "timestamp": 1700000000.25,
            }
        ],
    }


def test_idle_polls_answer_null_and_an_empty_task(calls: Calls) -> None:
    poll = {"queue": "nobody", "worker_id": "w-made-up"}
    workflow_task = calls.post("/workflow-tasks/poll", poll)
    task = calls.post("/tasks/poll", poll)
    assert (workflow_task.status, workflow_task.body) == (200, None)
    assert (task.status, task.body) == (200, {"task": None})


def test_an_activity_has_every_key_also_as_a_task(calls: Calls) -> None:
    task = _scheduled(calls, input="text", max_attempts=5, backoff_coefficient=3)
    assert task == {
        "id": task["id"],
        "workflow_id": "a",
        "seq": 1,
        "name": "act",
        "task_queue": "aq",
        "input": '"text"',
        "status": "RUNNING",
        "result": None,
        "error": None,
        "attempt": 1,
        "max_attempts": 5,
        "initial_interval_secs": 1.0,
        "backoff_coefficient": 3.0,
        "start_to_close_secs": 300.0,
        "heartbeat_timeout_secs": None,
        "claimed_by": "w-test",
        "scheduled_at": 1700000000.25,
        "started_at": 1700000000.25,
        "completed_at": None,
        "last_heartbeat": None,
        "namespace": "main",
        "details": None,
    }
    assert isinstance(task["id"], int)
    assert 0 < task["id"] < 2**53
    assert calls.get(f"/activities/{task['id']}").body == task
    assert calls.get("/workflows/a/activities").body == [task]


def test_an_outcome_stands_in_the_activity_and_the_first_one_wins(calls: Calls) -> None:
    task = _scheduled(calls)
    assert calls.post(f"/tasks/{task['id']}/complete", {"result": {"b": 1}}).body == {}
    assert calls.post(f"/tasks/{task['id']}/fail", {"error": "late"}).body == {}
    done = calls.get(f"/activities/{task['id']}").body
    assert (done["status"], done["result"], done["error"]) == ("COMPLETED", '{"b":1}', None)


def test_a_failure_that_is_not_retryable_is_final(calls: Calls) -> None:
    task = _scheduled(calls)
    body = {"error": "declined", "retryable": False}
    assert calls.post(f"/tasks/{task['id']}/fail", body).body == {}
    done = calls.get(f"/activities/{task['id']}").body
    assert (done["status"], done["error"], done["attempt"]) == ("FAILED", "declined", 1)


def test_heartbeat_details_are_handed_to_the_next_attempt(calls: Calls, clock: HandClock) -> None:
    task = _scheduled(calls)
    calls.post(f"/tasks/{task['id']}/heartbeat", {"details": {"done": 40}})
    calls.post(f"/tasks/{task['id']}/fail", {"error": "once more"})
    clock.time += 5
    again = calls.post("/tasks/poll", {"queue": "aq", "worker_id": "w-test"}).body
    assert (again["attempt"], again["details"]) == (2, {"done": 40})


def test_unknown_tasks_and_workers_are_passed_over_in_silence(calls: Calls) -> None:
    for path, body in (
        ("/tasks/999/complete", {"result": 1}),
        ("/tasks/999/fail", {"error": "x"}),
        ("/tasks/999/heartbeat", {}),
        ("/workers/heartbeat", {"worker_id": "w-unknown"}),
        ("/workflow-tasks/nope/commands", {"worker_id": "w", "commands": []}),
    ):
        answer = calls.post(path, body)
        assert (path, answer.status, answer.body) == (path, 200, {})


def test_commands_for_an_unknown_run_are_not_found(calls: Calls) -> None:
    assert calls.command("nope", {"type": "CompleteWorkflow"}).status == 404


def test_a_worker_has_every_key_and_main_unless_it_says_otherwise(calls: Calls) -> None:
    body = {"identity": "one", "queue": "q", "workflows": ["B", "A"], "activities": []}
    answer = calls.post("/workers/register", body)
    assert answer.status == 200
    assert calls.get("/workers").body == [
        {
            "id": answer.body["worker_id"],
            "namespace": "main",
            "identity": "one",
            "task_queue": "q",
            "workflows": '["B","A"]',
            "activities": "[]",
            "max_concurrent_workflows": 10,
            "max_concurrent_activities": 10,
            "active_tasks": 0,
            "last_heartbeat": 1700000000.25,
            "registered_at": 1700000000.25,
        }
    ]
    calls.post("/workers/register", {"identity": "two", "queue": "q", "namespace": "team"})
    (other,) = calls.get("/workers?namespace=team").body
    assert (other["namespace"], other["workflows"]) == ("team", None)


def test_a_worker_without_a_namespace_is_given_tasks_of_all(calls: Calls) -> None:
    calls.start("a", namespace="team", task_queue="q")
    scoped = {"identity": "new", "queue": "q", "namespace": "main"}
    old = {"identity": "old", "queue": "q"}
    ids = [calls.post("/workers/register", body).body["worker_id"] for body in (scoped, old)]
    assert [calls.claim("q", worker_id) is None for worker_id in ids] == [True, False]


def test_queues_and_namespaces_are_counted(calls: Calls) -> None:
    _scheduled(calls)
    calls.post("/workers/register", {"identity": "one", "queue": "q"})
    assert calls.get("/queues").body == [
        {"queue": "aq", "pending_activities": 0, "running_activities": 1, "workers": 0},
        {"queue": "q", "pending_activities": 0, "running_activities": 0, "workers": 1},
    ]
    assert calls.get("/namespaces/main").body == {
        "namespace": "main",
        "total_workflows": 1,
        "running": 1,
        "pending": 0,
        "completed": 0,
        "failed": 0,
        "schedules": 0,
        "workers": 1,
    }
    assert calls.get("/namespaces/nobody").body["total_workflows"] == 0


def test_namespaces_are_made_once_and_deleted_once(calls: Calls) -> None:
    made = calls.post("/namespaces", {"name": "team"})
    assert (made.status, made.body) == (201, {})
    assert calls.post("/namespaces", {"name": "team"}).status == 409
    assert [sorted(space) for space in calls.get("/namespaces").body] == [
        ["created_at", "name"],
        ["created_at", "name"],
    ]
    assert calls.send("DELETE", "/namespaces/team").body == {}
    assert calls.send("DELETE", "/namespaces/team").status == 404
    assert calls.send("DELETE", "/namespaces/main").status == 404


def test_state_is_nested_and_a_present_null_is_a_value(calls: Calls) -> None:
    calls.start("a")
    assert calls.get("/workflows/a/state").status == 404
    calls.claim()
    calls.command("a", {"type": "RecordSnapshot", "state": {"x": None, "y": {"b": 1}, "a/b": 2}})
    moment = {"event_seq": 1, "created_at": 1700000000.25}
    assert calls.get("/workflows/a/state").body == {
        "state": {"x": None, "y": {"b": 1}, "a/b": 2},
        **moment,
    }
    assert calls.get("/workflows/a/state/x").body == {"value": None, **moment}
    assert calls.get("/workflows/a/state/a%2Fb").body == {"value": 2, **moment}
    assert calls.get("/workflows/a/state/zzz").status == 404


def test_a_signal_to_an_ended_run_says_that_it_was_not_delivered(calls: Calls) -> None:
    calls.start("a")
    assert calls.post("/workflows/a/signal/go", {}).body == {}
    calls.post("/workflows/a/terminate", {"reason": "why"})
    late = calls.post("/workflows/a/signal/go", {})
    assert (late.status, late.body) == (200, {"delivered": False})
    assert calls.post("/workflows/nope/signal/go", {}).status == 404


def test_retry_answers_with_the_activity_it_queued_again(calls: Calls) -> None:
    task = _scheduled(calls, max_attempts=1)
    calls.post(f"/tasks/{task['id']}/fail", {"error": "down"})
    calls.claim("q")
    calls.command("a", {"type": "FailWorkflow", "error": "down"})
    assert calls.post("/workflows/a/retry", {"requested_by": " ", "reason": "x"}).status == 400
    answer = calls.post("/workflows/a/retry", {"requested_by": "ops", "reason": "x"})
    assert (answer.status, sorted(answer.body)) == (
        200,
        ["activity", "invalidated_activities", "status", "workflow_id"],
    )
    assert (answer.body["status"], answer.body["activity"]["status"]) == ("WAITING", "PENDING")
    again = calls.post("/workflows/a/retry", {"requested_by": "ops", "reason": "x"})
    assert again.status == 409


def test_lists_leave_out_long_values_and_name_them(calls: Calls) -> None:
    long, short = "x" * 16 * 1024, "x" * (16 * 1024 - 2)
    calls.start("long", input=long, search_attributes={"k": long})
    calls.start("short", input=short)
    listed = {record["id"]: record for record in calls.get("/workflows").body}
    assert listed["long"]["input"] is None
    assert listed["long"]["truncated"] == ["input", "search_attributes"]
    assert listed["short"]["input"] == json.dumps(short)
    assert "truncated" not in listed["short"]
    assert calls.get("/workflows/long").body["input"] == json.dumps(long)


def test_a_history_that_does_not_fit_an_answer_is_read_in_pages(calls: Calls) -> None:
    calls.start("a")
    for _ in range(3):
        calls.post("/workflows/a/signal/go", {"payload": "x" * 2_000_000})
    whole = calls.get("/workflows/a/events")
    assert (whole.status, whole.body["code"]) == (413, "response_too_large")
    assert "?limit=" in whole.body["error"]
    page = calls.get("/workflows/a/events?limit=2&cursor=1").body
    assert [len(event["payload"]) for event in page] == [2_000_028] * 2
    more = calls.get("/workflows/a/events?limit=3&cursor=1").body
    assert [(event["payload"], event["truncated"]) for event in more] == [(None, ["payload"])] * 3


def test_a_record_that_does_not_fit_leaves_its_long_values_out(calls: Calls) -> None:
    calls.start("a", input='"' * 900_000)
    record = calls.get("/workflows/a").body
    assert (record["input"], record["truncated"]) == (None, ["input"])
