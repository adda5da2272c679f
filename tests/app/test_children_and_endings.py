"""Children, cancel, terminate, continue-as-new: what a run does to others, and its end."""

from dataclasses import replace
from typing import Any

import pytest

from assay_engine.app import queries, runs
from assay_engine.core.errors import BusyError, ConflictError, NotFoundError
from tests.app.world import CANCEL, COMPLETE, FAIL, World, child, schedule, timer, wait


def with_child(world: World) -> None:
    world.start("par")
    world.turn("par", child("kid"))


def kid_turn(world: World, *commands: dict[str, object], run_id: str = "kid") -> None:
    task = world.poll(queue="kids")
    assert task is not None
    assert task.workflow_id == run_id
    world.commands(run_id, *commands)


def test_a_child_that_completes_tells_its_parent_once(world: World) -> None:
    with_child(world)
    kid_turn(world, COMPLETE)
    world.stream("kid", "kid")
    assert world.payloads("par", "ChildWorkflowCompleted") == [
        {"child_workflow_id": "kid", "result": "done"}
    ]
    assert world.record("kid").head.parent["i"] == "par"


@pytest.mark.parametrize(
    ("end", "error"),
    [
        (lambda world: kid_turn(world, FAIL), "broke"),
        (lambda world: world.cancel("kid"), "child workflow was cancelled"),
        (lambda world: world.terminate("kid", "enough"), "enough"),
    ],
    ids=["fails", "is cancelled", "is terminated"],
)
def test_a_child_that_ends_badly_fails_in_its_parent(world: World, end, error: str) -> None:
    with_child(world)
    end(world)
    world.stream("kid")
    (failed,) = world.payloads("par", "ChildWorkflowFailed")
    assert failed == {"child_workflow_id": "kid", "error": error}
    assert world.poll() is not None


class BusyParent:
    """A store in which one run cannot be written for a while."""

    def __init__(self, world: World, run_id: str) -> None:
        self._store = world.store
        self._key = world.head(run_id).key

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def update(self, kind: Any, key: Any, change: Any) -> Any:
        if key == self._key:
            raise BusyError("throttled")
        return self._store.update(kind, key, change)


def close_kid_while_parent_is_busy(world: World) -> None:
    engine = world.engine
    world.engine = replace(engine, store=BusyParent(world, "par"))
    kid_turn(world, COMPLETE)
    world.engine = engine
    assert world.events("par") == ["WorkflowStarted", "ChildWorkflowStarted"]


def test_a_busy_parent_does_not_fail_the_close_and_hears_by_the_stream(world: World) -> None:
    with_child(world)
    close_kid_while_parent_is_busy(world)
    assert world.status("kid") == "COMPLETED"
    world.stream("kid")
    assert world.events("par")[-1] == "ChildWorkflowCompleted"


def test_a_notice_that_was_lost_is_found_by_the_hourly_look(world: World) -> None:
    with_child(world)
    close_kid_while_parent_is_busy(world)
    world.pass_secs(3601)
    task = world.poll()
    assert task is not None
    assert task.history[-1].type == "ChildWorkflowCompleted"


def test_a_child_id_that_belongs_to_somebody_else_fails_the_child(world: World) -> None:
    runs.start(world.engine, runs.StartRun(run_id="kid", type="Foreign", queue="elsewhere"))
    with_child(world)
    (failed,) = world.payloads("par", "ChildWorkflowFailed")
    assert "exists already" in failed["error"]
    assert queries.children(world.engine, queries.RunRef(run_id="par")) == []


def test_a_child_that_continues_as_new_reports_under_its_first_id(world: World) -> None:
    with_child(world)
    kid_turn(world, {"type": "ContinueAsNew", "input": 2, "workflow_id": "kid-2"})
    world.stream("kid")
    assert world.events("par") == ["WorkflowStarted", "ChildWorkflowStarted"]
    kid_turn(world, COMPLETE, run_id="kid-2")
    world.stream("kid-2")
    assert world.payloads("par", "ChildWorkflowCompleted")[0]["child_workflow_id"] == "kid"


def test_cancel_of_a_run_nobody_took_is_final_at_once(world: World) -> None:
    world.start("a")
    world.cancel("a", "changed my mind")
    assert world.events("a") == ["WorkflowStarted", "WorkflowCancelRequested", "WorkflowCancelled"]
    assert world.poll() is None


def test_cancel_stops_timers_pending_activities_and_children(world: World) -> None:
    world.start("a")
    world.turn("a", schedule(1), schedule(2), timer(1, 5), child("kid"))
    running = world.taken()
    world.cancel("a", "stop")
    world.pass_secs(6)
    assert world.activity() is None
    assert world.status("kid") == "CANCELLED"
    task = world.poll()
    assert task is not None
    assert "TimerFired" not in [event.type for event in task.history]
    world.commands("a", CANCEL)
    world.complete(running, "late")
    assert world.events("a")[-1] == "WorkflowCancelled"


def test_code_that_waits_for_a_cancelled_activity_is_told(world: World) -> None:
    world.start("a")
    world.turn("a", schedule(1), schedule(2))
    running = world.activity()
    assert running is not None
    world.cancel("a")
    world.cancel("a")
    told = [n for n in world.events("a") if n == "ActivityFailed"]
    assert told == ["ActivityFailed"]
    world.complete(running, "late")
    assert world.events("a")[-1] == "ActivityCompleted"


def test_a_batch_that_had_not_seen_the_cancel_starts_nothing(world: World) -> None:
    world.start("a")
    world.poll()
    world.cancel("a")
    world.commands("a", schedule(1), timer(1, 1), child("kid"))
    assert world.activity() is None
    with pytest.raises(NotFoundError):
        world.record("kid")
    world.pass_secs(2)
    task = world.poll()
    assert task is not None
    assert [event.type for event in task.history] == [
        "WorkflowStarted",
        "WorkflowCancelRequested",
        "ActivityScheduled",
        "ActivityFailed",
        "TimerScheduled",
        "ChildWorkflowStarted",
        "ChildWorkflowFailed",
    ]


def test_a_batch_that_saw_the_cancel_may_schedule_clean_up(world: World) -> None:
    world.start("a")
    world.turn("a", wait("never"))
    world.cancel("a")
    world.turn("a", schedule(1, name="clean up"))
    world.complete(world.taken())
    world.turn("a", CANCEL)
    assert world.status("a") == "CANCELLED"


def test_a_cancel_that_no_worker_answers_is_final_after_a_minute(world: World) -> None:
    world.start("a")
    world.turn("a", wait("never"))
    world.cancel("a")
    world.pass_secs(59)
    world.tick()
    assert world.status("a") == "RUNNING"
    world.pass_secs(40)
    world.tick()
    assert world.events("a")[-1] == "WorkflowCancelled"


def test_terminate_fails_the_run_and_cancels_what_it_started(world: World) -> None:
    world.start("a")
    world.turn("a", schedule(1), child("kid"))
    world.terminate("a", "no more")
    record = world.record("a")
    assert (record.head.status, record.error) == ("FAILED", "no more")
    assert world.activity() is None
    assert world.status("kid") == "CANCELLED"
    assert world.head("a").due is None


def test_a_closed_run_takes_nothing_any_more(world: World) -> None:
    world.start("a")
    world.turn("a", COMPLETE)
    before = world.head("a")
    assert world.signal("a", "late") is False
    for call in (world.cancel, world.terminate):
        with pytest.raises(NotFoundError):
            call("a")
    assert world.head("a") == before


def test_continue_as_new_closes_the_run_and_starts_the_next(world: World) -> None:
    world.start("a", search_attributes={"k": 1})
    world.turn("a", {"type": "ContinueAsNew", "input": {"n": 2}})
    assert world.status("a") == "COMPLETED"
    assert world.events("a")[-1] == "WorkflowCompleted"
    follower = str(world.head("a").continued_to)
    assert follower == "a-continued-1000000"
    task = world.poll()
    assert task is not None
    assert (task.workflow_id, task.input) == (follower, {"n": 2})
    assert '"k":1' in str(world.record(follower).search_attributes)


def test_a_run_that_was_asked_to_end_does_not_continue(world: World) -> None:
    world.start("a")
    world.turn("a", {"type": "WaitForSignal", "name": "go"})
    world.cancel("a")
    world.turn("a", {"type": "ContinueAsNew", "input": {"n": 2}})
    assert world.status("a") == "CANCELLED"
    assert world.head("a").continued_to is None


def test_continuing_twice_in_one_second_finds_another_id(world: World) -> None:
    ref = runs.RunRef(run_id="a")
    world.start("a")
    first = runs.continue_as_new(world.engine, ref, None, None)
    second = runs.continue_as_new(world.engine, ref, None, None)
    assert first.workflow_id == "a-continued-1000000"
    assert second.workflow_id == "a-continued-1000000.1"


def test_continuing_as_a_taken_id_is_a_conflict_and_leaves_the_source_open(world: World) -> None:
    world.start("a")
    world.start("b")
    with pytest.raises(ConflictError) as refused:
        runs.continue_as_new(world.engine, runs.RunRef(run_id="a"), None, "b")
    assert refused.value.code == "already_exists"
    assert world.status("a") == "PENDING"


def test_a_timer_fires_for_whoever_polls(world: World) -> None:
    world.start("a")
    world.turn("a", timer(1, 5))
    world.pass_secs(4.9)
    assert world.poll() is None
    world.pass_secs(0.2)
    task = world.poll()
    assert task is not None
    assert task.history[-1].type == "TimerFired"


def test_the_tick_fires_timers_of_a_queue_nobody_polls(world: World) -> None:
    world.start("a")
    world.turn("a", timer(1, 5))
    world.pass_secs(7)
    world.tick()
    assert world.events("a")[-1] == "TimerFired"
