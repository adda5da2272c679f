"""A run with a retry policy: tried again under its id until it succeeds or attempts are used up."""

from typing import Any

import pytest

from assay_engine.app import children, queries
from assay_engine.app.names import RunRef
from assay_engine.app.views import RunView
from assay_engine.core.errors import ConflictError
from assay_engine.core.run import Head
from tests.app.interrupted import deaths, interrupted
from tests.app.test_children_and_endings import close_kid_while_parent_is_busy, kid_turn
from tests.app.test_incarnations import again, prefix
from tests.app.test_start_options import begin, error_of
from tests.app.world import COMPLETE, FAIL, World, child, schedule, wait

POLICY = {"initial_interval": "10s", "maximum_attempts": 3}


def attempt(world: World, run_id: str | None = None) -> RunView:
    return queries.describe(world.engine, RunRef(run_id="a", incarnation=run_id))


def failing(world: World, **fields: Any) -> None:
    """A run with a retry policy whose first attempt has failed."""
    begin(world, retry_policy=POLICY, **fields)
    world.turn("a", FAIL)


def test_a_failed_run_is_tried_again_under_its_id(world: World) -> None:
    failing(world, input={"n": 1}, memo={"m": 1}, context={"c": 1}, search_attributes={"s": 1})
    first, second = attempt(world, "run-a-1000000"), attempt(world)
    assert (first.head.status, first.error, first.head.continued_to) == ("FAILED", "broke", None)
    assert first.retried_as == second.head.incarnation_id
    assert (second.head.status, second.head.attempt) == ("PENDING", 2)
    assert (second.input, second.memo, second.search_attributes) == (
        first.input,
        first.memo,
        first.search_attributes,
    )
    assert world.poll() is None
    world.pass_secs(10.5)
    task = world.take()
    assert (task["attempt"], task["context"], task["run_id"]) == (2, {"c": 1}, first.retried_as)
    world.commit(task, COMPLETE)
    assert world.status("a") == "COMPLETED"


def test_attempts_wait_longer_each_time_and_are_used_up(world: World) -> None:
    failing(world)
    world.pass_secs(10)
    world.turn("a", FAIL)
    world.pass_secs(19)
    assert world.poll() is None
    world.pass_secs(1)
    world.turn("a", FAIL)
    assert (world.status("a"), world.head("a").attempt) == ("FAILED", 3)
    world.pass_secs(1000)
    assert world.poll() is None


def test_an_interval_grows_no_longer_than_its_maximum(world: World) -> None:
    begin(world, retry_policy={"initial_interval": 1, "maximum_interval": "90s"})
    for _ in range(12):
        world.turn("a", FAIL)
        world.pass_secs(90)
    assert world.head("a").attempt == 13


def test_a_terminated_run_is_not_tried_again(world: World) -> None:
    begin(world, retry_policy=POLICY)
    world.terminate("a", "no more")
    assert (world.status("a"), world.head("a").first) == ("FAILED", None)


def test_a_run_that_was_asked_to_end_is_not_tried_again(world: World) -> None:
    begin(world, retry_policy=POLICY)
    world.turn("a", wait("never"))
    world.cancel("a")
    world.turn("a", FAIL)
    assert error_of(world) == ("FAILED", "broke")


def test_a_cancel_that_lands_before_the_retry_is_not_lost(world: World) -> None:
    begin(world, retry_policy=POLICY)
    world.poll()
    interrupted(world, lambda: world.cancel("a"), lambda: refused(world))
    world.turn("a", FAIL)
    assert (world.status("a"), world.head("a").first) == ("FAILED", None)


def refused(world: World) -> None:
    with pytest.raises(ConflictError, match="had not seen"):
        world.commands("a", FAIL)


def test_there_is_no_attempt_beyond_the_execution_time_out(world: World) -> None:
    begin(world, retry_policy=POLICY, execution_timeout=25)
    world.turn("a", FAIL)
    end = world.head("a").chain_until
    world.pass_secs(11)
    world.turn("a", FAIL)
    assert (world.status("a"), world.head("a").attempt, end) == ("FAILED", 2, 1_000_025.0)


def test_an_attempt_that_times_out_is_tried_again(world: World) -> None:
    begin(world, retry_policy=POLICY, run_timeout=5)
    world.turn("a", schedule(1))
    world.pass_secs(7)
    world.tick()
    first = attempt(world, "run-a-1000000")
    assert (first.head.status, first.error) == ("TIMED_OUT", "timed out: run_timeout of 5 s")
    assert (world.status("a"), world.head("a").attempt, world.activity()) == ("PENDING", 2, None)
    assert world.head("a").run_until == world.clock.time + 10 + 5


def test_a_time_out_found_by_a_poller_is_tried_again(world: World) -> None:
    begin(world, retry_policy=POLICY, run_timeout=5)
    world.turn("a", wait("never"))
    world.pass_secs(6)
    assert world.poll() is None
    assert world.head("a").attempt == 2


def test_the_execution_time_out_is_final(world: World) -> None:
    begin(world, retry_policy=POLICY, execution_timeout=5)
    world.turn("a", wait("never"))
    world.pass_secs(7)
    world.tick()
    assert (world.status("a"), world.head("a").first) == ("TIMED_OUT", None)


def test_a_parent_is_told_of_the_last_attempt_only(world: World) -> None:
    world.start("par")
    world.turn("par", child("kid", retry_policy={"maximum_attempts": 2}))
    kid_turn(world, FAIL)
    copy = world.store.query(Head, prefix(world, "kid", "I"))
    for closed in copy:
        children.notify_parent(world.engine, closed)
    assert world.events("par") == ["WorkflowStarted", "ChildWorkflowStarted"]
    world.pass_secs(2)
    kid_turn(world, COMPLETE)
    world.stream("kid")
    assert world.payloads("par", "ChildWorkflowCompleted") == [
        {"child_workflow_id": "kid", "result": "done"}
    ]


def test_the_hourly_look_finds_the_last_attempt_of_a_child(world: World) -> None:
    world.start("par")
    world.turn("par", child("kid", retry_policy={"maximum_attempts": 2}))
    kid_turn(world, FAIL)
    world.pass_secs(2)
    close_kid_while_parent_is_busy(world)
    again(world, "kid")
    world.pass_secs(3601)
    world.tick()
    assert world.events("par")[-1] == "ChildWorkflowCompleted"


def test_a_debt_that_is_paid_late_does_not_refuse_a_child_that_is_tried_again() -> None:
    """The parent's commit died before its debts were struck off; the child failed meanwhile."""

    def make() -> World:
        world = World()
        world.start("par")
        return world

    def commit(world: World) -> None:
        assert world.poll() is not None
        policy = {"initial_interval": 0}
        world.commands("par", *[child(f"k{n}", retry_policy=policy) for n in range(5)])

    for world in deaths(make, commit):
        if world.events("par")[-1] == "WorkflowStarted":
            continue
        while (task := world.poll(queue="kids")) is not None:
            world.commands(task.workflow_id, FAIL)
            if world.head(task.workflow_id).attempt == 3:
                break
        world.pass_secs(40)
        world.tick()
        assert "ChildWorkflowFailed" not in world.events("par")
        assert all(world.head(f"k{n}").is_open for n in range(5))


def test_an_attempt_fails_and_the_next_is_put_in_one_write() -> None:
    """Whoever dies at it leaves one open run under the id, and no attempt is skipped."""

    def make() -> World:
        world = World()
        begin(world, retry_policy=POLICY)
        world.turn("a", schedule(1), schedule(2), wait("go"))
        world.signal("a", "go")
        return world

    def fail(world: World) -> None:
        task = world.take()
        report = {"kind": "commands", "run": task["run"], "lease": task["lease"]}
        world.report(id="f1", commands=[FAIL], **report)

    died = deaths(make, fail)
    assert len(died) >= 3
    for world in died:
        assert world.head("a").is_open
        world.pass_secs(45)
        task = world.take()
        world.commit(task, COMPLETE)
        assert world.status("a") == "COMPLETED"


def test_a_closing_report_that_is_sent_again_is_accepted_again(world: World) -> None:
    begin(world, retry_policy=POLICY)
    task = world.take()
    answers = [world.commit(task, FAIL)["status"] for _ in range(2)]
    assert (answers, world.head("a").attempt) == (["accepted", "accepted"], 2)


def test_a_fused_step_that_fails_the_run_is_tried_again(world: World) -> None:
    begin(world, retry_policy=POLICY)
    task = world.take()
    done = world.commit(task, schedule(1))
    then = {"version": done["version"], "commands": [FAIL]}
    report = {"run": task["run"], "seq": 1, "attempt": 1, "at": world.clock.time, "then": then}
    for _ in range(2):
        assert world.report(id="s", kind="completed", **report)["status"] == "accepted"
    assert (world.head("a").attempt, world.head("a").is_open) == (2, True)


def test_an_activity_of_a_failed_attempt_never_reaches_the_next(world: World) -> None:
    begin(world, retry_policy=POLICY)
    world.turn("a", schedule(1))
    world.signal("a", "x")
    running = world.taken()
    world.turn("a", FAIL)
    world.pass_secs(11)
    world.turn("a", schedule(1))
    world.complete(running, "old")
    assert "ActivityCompleted" not in world.events("a")


def test_cancelling_a_run_between_two_attempts_ends_the_chain(world: World) -> None:
    failing(world)
    world.cancel("a")
    assert world.status("a") == "CANCELLED"
    assert attempt(world, "run-a-1000000").head.status == "FAILED"


def test_nothing_is_written_for_a_run_without_options(world: World) -> None:
    """The head and the record of an ordinary run hold no trace of them."""
    world.start("a", input=1)
    world.turn("a", schedule(1))
    head = world.head("a")
    names = (
        *("first", "attempt", "retried_as", "retries", "has_context", "start_at", "run_until"),
        *("chain_until", "cancel_until", "task_secs", "close_policies", "earlier"),
    )
    assert [getattr(head, name) for name in names] == [None] * len(names)
