"""Retrying the failed activity of a failed run."""

import pytest

from assay_engine.app import queries, retrying
from assay_engine.app.names import RunRef
from assay_engine.core.errors import ConflictError, NotFoundError
from tests.app.world import COMPLETE, FAIL, World, schedule

REF = RunRef(run_id="a")


def failed(world: World) -> None:
    world.start("a")
    world.turn("a", schedule(1, name="ok"))
    world.complete(world.taken(), 1)
    world.turn("a", schedule(2, name="bad", max_attempts=1))
    world.fail(world.taken())
    world.turn("a", schedule(3, name="compensate"))
    world.complete(world.taken(), "undone")
    world.turn("a", FAIL)


def test_a_retry_reopens_the_run_at_its_failed_activity(world: World) -> None:
    failed(world)
    hidden = queries.activities(world.engine, REF)[2].id
    retried = retrying.retry(world.engine, REF, "ops", "fixed")
    assert (retried.activity.name, retried.activity.attempt, retried.activity.status) == (
        "bad",
        1,
        "PENDING",
    )
    assert retried.invalidated_activities == 1
    assert world.status("a") == "WAITING"
    assert world.poll() is None
    with pytest.raises(NotFoundError):
        queries.activity(world.engine, hidden)


def test_the_shipped_history_is_without_the_results_a_retry_undid(world: World) -> None:
    failed(world)
    retrying.retry(world.engine, REF, "ops", "fixed")
    world.complete(world.taken(), "now fine")
    task = world.poll()
    assert task is not None
    outcomes = [
        (event.payload["activity_seq"], event.payload.get("result"))
        for event in task.history
        if event.type in ("ActivityCompleted", "ActivityFailed")
    ]
    assert outcomes == [(1, 1), (2, "now fine")]


def test_later_seqs_can_be_scheduled_again(world: World) -> None:
    failed(world)
    retrying.retry(world.engine, REF, "ops", "fixed")
    world.complete(world.taken(), "now fine")
    world.turn("a", schedule(3, name="ship"))
    activity = world.taken()
    assert activity.name == "ship"
    world.complete(activity, "sent")
    world.turn("a", COMPLETE)
    assert world.record("a").result == '"done"'


def test_only_one_of_two_retries_wins(world: World) -> None:
    failed(world)
    retrying.retry(world.engine, REF, "ops", "fixed")
    with pytest.raises(ConflictError):
        retrying.retry(world.engine, REF, "ops", "again")


def test_a_retry_cut_short_is_finished_by_whoever_settles_the_run(world: World) -> None:
    failed(world)
    retrying.retry(world.engine, REF, "ops", "fixed")
    head = world.head("a")
    assert head.owed
    world.fail(world.taken())
    world.turn("a", FAIL)
    retrying.retry(world.engine, REF, "ops", "once more")
    world.pass_secs(40)
    world.tick()
    world.tick()
    assert world.taken().attempt == 1


def test_a_run_that_did_not_fail_cannot_be_retried(world: World) -> None:
    world.start("a")
    with pytest.raises(ConflictError, match="only FAILED"):
        retrying.retry(world.engine, REF, "ops", "x")


def test_a_failed_run_without_a_failed_activity_cannot_be_retried(world: World) -> None:
    world.start("a")
    world.turn("a", FAIL)
    with pytest.raises(ConflictError, match="no failed activity"):
        retrying.retry(world.engine, REF, "ops", "x")


def test_an_activity_scheduled_from_outside_wakes_nobody(world: World) -> None:
    world.start("a")
    world.turn("a")
    body = {"name": "extra", "seq": 7, "task_queue": "q", "input": 1}
    view = retrying.schedule_activity(world.engine, REF, body)
    assert world.poll() is None
    assert retrying.schedule_activity(world.engine, REF, body).id == view.id
    assert world.taken().seq == 7
