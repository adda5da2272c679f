"""What a run is started with: time-outs, delay, context, an eager first task, a cancel deadline."""

from typing import Any

import pytest

from assay_engine.app import queries, retrying, runs
from assay_engine.app.names import RunRef
from assay_engine.app.start import Message
from assay_engine.app.starting import EagerStart, IdConflictPolicy, StartRun
from assay_engine.app.views import Started
from assay_engine.core import options
from tests.app.interrupted import deaths
from tests.app.world import COMPLETE, World, child, schedule, timer, wait


def begin(world: World, run_id: str = "a", **fields: Any) -> Started:
    """Start with options as the wire has them."""
    names = ("messages", "eager", "on_conflict", "on_reuse", "input", "search_attributes")
    of_start = {name: fields.pop(name) for name in names if name in fields}
    return runs.start(
        world.engine,
        StartRun(run_id=run_id, type="Flow", queue="q", options=options.read(fields), **of_start),
    )


def error_of(world: World, run_id: str = "a") -> tuple[str, str | None]:
    view = world.record(run_id)
    return str(view.head.status), view.error


@pytest.mark.parametrize("name", ["run_timeout", "execution_timeout"])
def test_a_run_that_takes_too_long_is_closed_as_timed_out(world: World, name: str) -> None:
    begin(world, **{name: "1m"})
    world.turn("a", wait("never"))
    world.pass_secs(59)
    assert world.poll() is None
    world.pass_secs(2)
    assert world.poll() is None
    assert error_of(world) == ("TIMED_OUT", f"timed out: {name} of 60 s")
    assert world.events("a")[-1] == "WorkflowFailed"


def test_a_time_out_needs_no_poller(world: World) -> None:
    begin(world, run_timeout=60)
    world.turn("a", wait("never"))
    world.pass_secs(62)
    world.tick()
    assert world.status("a") == "TIMED_OUT"


def test_a_time_out_does_not_wait_for_the_lease(world: World) -> None:
    begin(world, run_timeout=10, task_timeout=600)
    task = world.take()
    world.pass_secs(12)
    world.tick()
    assert world.status("a") == "TIMED_OUT"
    assert world.commit(task, COMPLETE)["status"] == "stale"


def test_a_poller_ends_a_leased_run_that_is_over_its_time(world: World) -> None:
    begin(world, run_timeout=10, task_timeout=600)
    world.take("x1")
    world.pass_secs(3)
    assert world.exchange("x2", room={"workflows": 1})["workflow_tasks"] == []
    assert world.head("a").due == world.head("a").run_until
    world.pass_secs(8)
    world.exchange("x2", room={"workflows": 1})
    assert world.status("a") == "TIMED_OUT"


def test_a_time_out_takes_what_the_run_has_started_with_it(world: World) -> None:
    begin(world, run_timeout=10)
    world.turn("a", schedule(1), child("kid"))
    world.pass_secs(12)
    world.tick()
    assert (world.status("a"), world.status("kid")) == ("TIMED_OUT", "CANCELLED")
    assert world.activity() is None
    assert world.head("a").due is None


def test_a_child_that_times_out_fails_in_its_parent(world: World) -> None:
    world.start("par")
    world.turn("par", child("kid", run_timeout="5s"))
    world.pass_secs(7)
    world.tick()
    (failed,) = world.payloads("par", "ChildWorkflowFailed")
    assert failed["error"] == "child workflow timed out"


def test_a_time_out_dies_anywhere_and_is_finished_by_the_next_look() -> None:
    def make() -> World:
        world = World()
        begin(world, run_timeout=10)
        world.turn("a", schedule(1), child("kid"))
        world.pass_secs(12)
        return world

    for world in deaths(make, lambda world: world.tick()):
        world.pass_secs(40)
        world.tick()
        assert (world.status("a"), world.status("kid")) == ("TIMED_OUT", "CANCELLED")
        assert (world.activity(), world.head("a").due) == (None, None)


def test_a_run_that_ends_in_time_is_not_touched(world: World) -> None:
    begin(world, run_timeout=10, execution_timeout=20)
    world.turn("a", COMPLETE)
    world.pass_secs(30)
    world.tick()
    assert (world.status("a"), world.head("a").due) == ("COMPLETED", None)


def test_a_delayed_run_is_handed_out_when_its_time_has_come(world: World) -> None:
    begin(world, start_delay="1m")
    world.pass_secs(59)
    assert world.poll() is None
    world.pass_secs(1.5)
    assert world.poll() is not None


def test_a_signal_to_a_delayed_run_waits_with_it(world: World) -> None:
    begin(world, start_delay=60, messages=(Message(name="first"),))
    world.pass_secs(1)
    world.signal("a", "second")
    assert world.poll() is None
    assert world.head("a").due == world.head("a").start_at
    world.pass_secs(60)
    task = world.poll()
    assert task is not None
    assert len(task.history) == 3


def test_time_outs_of_a_delayed_run_begin_with_it(world: World) -> None:
    begin(world, start_delay=60, run_timeout=10)
    world.pass_secs(65)
    world.tick()
    assert world.status("a") == "PENDING"
    world.pass_secs(7)
    world.tick()
    assert world.status("a") == "TIMED_OUT"


def test_a_delayed_run_can_be_cancelled(world: World) -> None:
    begin(world, start_delay=60)
    world.cancel("a")
    assert (world.status("a"), world.head("a").due) == ("CANCELLED", None)


def test_the_lease_is_as_long_as_the_task_time_out_says(world: World) -> None:
    begin(world, task_timeout="2m")
    task = world.take()
    assert task["lease_secs"] == 120.0
    world.pass_secs(100)
    assert world.poll("w2") is None
    assert world.report(id="r", kind="renew", run=task["run"], lease=task["lease"])["status"] == (
        "accepted"
    )
    world.pass_secs(110)
    assert world.poll("w2") is None
    world.pass_secs(11)
    assert world.poll("w2") is not None


def test_a_short_task_time_out_ends_a_lease_early(world: World) -> None:
    begin(world, task_timeout=2)
    world.take()
    world.pass_secs(2.5)
    assert world.poll("w2") is not None


def test_a_workflow_task_says_what_run_it_is(world: World) -> None:
    begin(world, context={"trace": "t1"}, input=5)
    task = world.take()
    head = world.head("a")
    assert {
        name: task[name] for name in ("run_id", "attempt", "context", "seen", "started_at")
    } == {
        "run_id": "run-a-1000000",
        "attempt": 1,
        "context": {"trace": "t1"},
        "seen": 0,
        "started_at": head.created_at,
    }
    world.commit(task, wait("go"))
    world.signal("a", "go")
    cached = [{"run": task["run"], "seq": 2}]
    following = world.take(cached=cached)
    assert (following["context"], following["seen"], following["after"]) == (None, 2, 2)


def test_queued_activities_carry_the_context_and_eager_ones_do_not(world: World) -> None:
    begin(world, context={"trace": "t1"})
    done = world.commit(world.take(), schedule(1), schedule(2), eager=1)
    assert "context" not in done["activities"][0]
    assert world.take_activity()["context"] == {"trace": "t1"}


def test_a_run_without_a_context_has_none(world: World) -> None:
    begin(world)
    task = world.take()
    world.commit(task, schedule(1), eager=0)
    assert (task["context"], world.take_activity()["context"]) == (None, None)


def test_a_child_inherits_the_context_unless_it_is_given_its_own(world: World) -> None:
    begin(world, context={"trace": "x" * 2000})
    world.turn("a", child("heir"), child("own", context={"trace": "t2"}), child("bare", context={}))
    found = {}
    for _ in range(3):
        (task,) = world.exchange(queue="kids", room={"workflows": 1})["workflow_tasks"]
        found[task["run"]["id"]] = task["context"]
    assert found == {"heir": {"trace": "x" * 2000}, "own": {"trace": "t2"}, "bare": {}}


def test_continuations_keep_what_the_run_was_started_with(world: World) -> None:
    begin(
        world,
        context={"trace": "t1"},
        memo={"who": "me"},
        search_attributes={"k": 1},
        execution_timeout=100,
        run_timeout=50,
        task_timeout=5,
    )
    end = world.head("a").chain_until
    world.pass_secs(30)
    world.turn("a", {"type": "ContinueAsNew", "workflow_id": "b"})
    head = world.head("b")
    assert (head.chain_until, head.run_until, head.task_secs) == (end, world.clock.time + 50, 5.0)
    view = world.record("b")
    assert (view.memo, '"k":1' in str(view.search_attributes)) == ('{"who":"me"}', True)
    assert world.take()["context"] == {"trace": "t1"}
    world.pass_secs(52)
    world.tick()
    assert error_of(world, "b") == ("TIMED_OUT", "timed out: run_timeout of 50 s")


def test_a_chain_of_continuations_ends_with_its_execution_time_out(world: World) -> None:
    begin(world, execution_timeout=100)
    world.pass_secs(90)
    runs.continue_as_new(world.engine, RunRef(run_id="a"), None, "b")
    world.pass_secs(12)
    world.tick()
    assert error_of(world, "b") == ("TIMED_OUT", "timed out: execution_timeout of 100 s")


def test_an_eager_start_brings_the_first_task_with_its_answer(world: World) -> None:
    started = begin(
        world, eager=EagerStart(worker="x1"), input=3, messages=(Message(name="go"),), context={}
    )
    task = started.workflow_task
    assert task is not None
    assert started.status == "RUNNING"
    assert [event["event_type"] for event in task["history"]] == [
        "WorkflowStarted",
        "SignalReceived",
    ]
    assert (task["history"][0]["payload"], task["context"], task["version"]) == (3, {}, 2)
    assert world.head("a").due == world.head("a").lease_until
    assert world.poll("w2") is None
    assert world.commit(dict(task), COMPLETE)["status"] == "accepted"
    assert world.status("a") == "COMPLETED"


def test_the_task_of_a_starter_that_died_is_taken_over(world: World) -> None:
    begin(world, eager=EagerStart(worker="x1"))
    world.pass_secs(30.5)
    assert world.poll("w2") is not None


def test_an_eager_start_with_a_delay_is_an_ordinary_one(world: World) -> None:
    started = begin(world, eager=EagerStart(worker="x1"), start_delay=5)
    assert (started.workflow_task, started.status) == (None, "PENDING")


def test_an_existing_run_is_not_handed_to_who_wanted_to_start_it(world: World) -> None:
    world.start("a")
    world.take("x2")
    found = begin(world, eager=EagerStart(worker="x1"), on_conflict=IdConflictPolicy.USE_EXISTING)
    assert (found.started, found.workflow_task) == (False, None)


@pytest.mark.parametrize("policy", list(IdConflictPolicy))
def test_an_eager_start_sent_again_is_known_by_its_lease(
    world: World, policy: IdConflictPolicy
) -> None:
    eager = EagerStart(worker="x1", lease="mine")
    first = begin(world, eager=eager, on_conflict=policy)
    again = begin(world, eager=eager, on_conflict=policy)
    assert again == first
    assert world.head("a").first is None


def test_a_cancel_deadline_ends_a_run_that_still_cleans_up(world: World) -> None:
    world.start("a")
    world.turn("a", wait("never"))
    runs.cancel(world.engine, RunRef(run_id="a"), "enough", deadline=10.0)
    world.turn("a", schedule(1, name="clean up"))
    world.pass_secs(9)
    world.tick()
    assert world.status("a") == "RUNNING"
    world.pass_secs(3)
    world.tick()
    assert (world.status("a"), world.activity()) == ("CANCELLED", None)


def test_a_cancel_deadline_does_not_wait_for_the_lease(world: World) -> None:
    world.start("a")
    task = world.take("x1")
    world.pass_secs(3)
    # The finder pushes the entry to the end of the lease.
    world.exchange("x2", room={"workflows": 1})
    assert world.head("a").due == world.head("a").lease_until
    runs.cancel(world.engine, RunRef(run_id="a"), None, deadline=5.0)
    world.pass_secs(7)
    world.tick()
    assert world.status("a") == "CANCELLED"
    assert world.commit(task, COMPLETE)["status"] == "stale"


def test_the_last_cancel_deadline_counts(world: World) -> None:
    world.start("a")
    world.turn("a", timer(1, 500))
    ref = RunRef(run_id="a")
    runs.cancel(world.engine, ref, None, deadline=3600.0)
    runs.cancel(world.engine, ref, None, deadline=5.0)
    world.cancel("a")
    world.turn("a", wait("clean up"))
    world.pass_secs(7)
    world.tick()
    assert world.status("a") == "CANCELLED"


def test_without_a_deadline_a_run_may_clean_up_for_as_long_as_it_likes(world: World) -> None:
    world.start("a")
    world.turn("a", wait("never"))
    world.cancel("a")
    world.turn("a", timer(1, 5000))
    world.pass_secs(4000)
    world.tick()
    assert world.status("a") == "RUNNING"


def test_a_failed_run_that_is_retried_by_hand_has_no_deadline_left(world: World) -> None:
    begin(world, run_timeout=100)
    world.turn("a", schedule(1, max_attempts=1))
    world.fail(world.taken())
    world.turn("a", {"type": "FailWorkflow", "error": "x"})
    world.pass_secs(200)
    retrying.retry(world.engine, RunRef(run_id="a"), "me", "again")
    world.tick()
    assert world.status("a") == "WAITING"
    assert queries.describe(world.engine, RunRef(run_id="a")).error is None
