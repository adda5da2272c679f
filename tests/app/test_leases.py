"""Leases: who may commit, for how long, and who takes over."""

import pytest

from assay_engine.app import workers
from assay_engine.core.errors import ConflictError, StaleError
from tests.app.world import COMPLETE, World, schedule, wait


def test_a_leased_run_is_not_handed_out_again(world: World) -> None:
    world.start("a")
    assert world.poll("w1") is not None
    assert world.poll("w2") is None


def test_an_expired_lease_is_taken_over_by_the_next_poll(world: World) -> None:
    world.start("a")
    world.poll("w1")
    world.pass_secs(30.5)
    task = world.poll("w2")
    assert task is not None
    assert task.workflow_id == "a"


def test_commands_of_a_worker_that_lost_its_lease_are_refused_and_change_nothing(
    world: World,
) -> None:
    world.start("a")
    world.poll("w1")
    world.pass_secs(30.5)
    world.poll("w2")
    before = world.head("a")
    with pytest.raises(StaleError):
        world.commands("a", COMPLETE, worker="w1")
    assert world.head("a") == before


def test_commands_without_any_lease_are_refused(world: World) -> None:
    world.start("a")
    with pytest.raises(StaleError):
        world.commands("a", COMPLETE)
    assert world.status("a") == "PENDING"


def test_a_late_commit_counts_while_nobody_took_the_run(world: World) -> None:
    world.start("a")
    world.poll("w1")
    world.pass_secs(100)
    world.commands("a", COMPLETE)
    assert world.status("a") == "COMPLETED"


def test_a_renewed_lease_is_not_taken_over(world: World) -> None:
    world.start("a")
    task = world.take()
    world.pass_secs(20)
    renewed = world.report(id="r", kind="renew", run=task["run"], lease=task["lease"])
    assert renewed["status"] == "accepted"
    world.pass_secs(20)
    assert world.poll("w2") is None


def test_a_released_task_is_handed_to_another_worker_at_once(world: World) -> None:
    world.start("a")
    task = world.take("x1")
    released = world.report("x1", id="r", kind="release", run=task["run"], lease=task["lease"])
    assert released["status"] == "accepted"
    assert world.take("x2")["run"] == task["run"]


def test_a_signal_during_a_lease_wakes_the_run_after_the_commit(world: World) -> None:
    world.start("a")
    world.poll()
    world.signal("a", "go")
    world.commands("a", wait("other"))
    task = world.poll()
    assert task is not None
    assert [event.type for event in task.history][1] == "SignalReceived"


def test_closing_without_having_seen_everything_is_refused_and_comes_again(world: World) -> None:
    world.start("a")
    world.poll()
    world.signal("a", "go")
    with pytest.raises(ConflictError) as refused:
        world.commands("a", COMPLETE)
    assert refused.value.code == "unseen_events"
    task = world.poll()
    assert task is not None
    assert [event.type for event in task.history] == ["WorkflowStarted", "SignalReceived"]
    world.commands("a", COMPLETE)
    assert world.status("a") == "COMPLETED"


def test_the_third_refusal_in_a_row_closes(world: World) -> None:
    world.start("a")
    for _ in range(2):
        world.poll()
        world.signal("a", "go")
        with pytest.raises(ConflictError):
            world.commands("a", COMPLETE)
    world.poll()
    world.signal("a", "go")
    world.commands("a", COMPLETE)
    assert world.status("a") == "COMPLETED"


def test_a_worker_is_only_given_types_it_registered(world: World) -> None:
    world.start("a")
    other = workers.Registration(identity="i", queue="q", workflows=("Other",), activities=())
    fitting = workers.Registration(
        identity="i", queue="q", workflows=("Flow",), activities=("act",)
    )
    stranger = workers.register(world.engine, other)
    worker = workers.register(world.engine, fitting)
    assert world.poll(stranger) is None
    assert world.poll(worker) is not None
    world.commands("a", schedule(), worker=worker)
    assert world.activity(stranger) is None
    assert world.activity(worker) is not None


def test_a_worker_of_a_namespace_is_never_given_runs_of_another(world: World) -> None:
    world.start("a", namespace="blue")
    green = workers.register(
        world.engine, workers.Registration(identity="i", queue="q", namespace="green")
    )
    blue = workers.register(
        world.engine, workers.Registration(identity="i", queue="q", namespace="blue")
    )
    assert world.poll(green) is None
    assert world.poll(blue) is not None


def test_an_old_client_polls_every_namespace_that_has_its_queue(world: World) -> None:
    world.start("a", namespace="blue")
    old = workers.register(world.engine, workers.Registration(identity="i", queue="q"))
    task = world.poll(old)
    assert task is not None
    assert task.namespace == "blue"
    world.commands("a", COMPLETE, worker=old)
    assert world.head("a", "blue").status == "COMPLETED"


def test_runs_are_handed_out_in_the_order_of_their_start(world: World) -> None:
    for name in ("a", "b", "c"):
        world.start(name)
        world.pass_secs(0.01)
    found = [world.poll() for _ in range(3)]
    assert [task.workflow_id for task in found if task] == ["a", "b", "c"]
