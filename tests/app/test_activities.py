"""Activities: attempts, backoff, time-outs, heartbeats, first outcome wins."""

import pytest

from assay_engine.app import queries, tasks
from assay_engine.core.errors import NotFoundError
from tests.app.world import COMPLETE, World, schedule


def started(world: World, **policy: object) -> None:
    world.start("a")
    world.turn("a", schedule(**policy))


def test_a_result_is_recorded_and_wakes_the_run(world: World) -> None:
    started(world)
    world.complete(world.taken(), {"x": 1})
    assert world.events("a") == ["WorkflowStarted", "ActivityScheduled", "ActivityCompleted"]
    assert world.poll() is not None


def test_activities_of_a_batch_are_handed_out_in_their_order(world: World) -> None:
    world.start("a")
    world.turn("a", *(schedule(seq, name=f"n{seq}") for seq in range(1, 9)))
    assert [world.taken().seq for _ in range(8)] == list(range(1, 9))


def test_a_failed_attempt_is_tried_again_after_its_backoff(world: World) -> None:
    started(world, initial_interval_secs=2.0, backoff_coefficient=3.0)
    world.fail(world.taken())
    world.pass_secs(1.9)
    assert world.activity() is None
    world.pass_secs(0.2)
    second = world.taken()
    assert second.attempt == 2
    world.fail(second)
    world.pass_secs(5.9)
    assert world.activity() is None
    world.pass_secs(0.2)
    assert world.taken().attempt == 3


def test_exhausted_attempts_end_in_an_event_the_workflow_can_catch(world: World) -> None:
    started(world, max_attempts=1)
    world.fail(world.taken(), "no luck")
    assert world.payloads("a", "ActivityFailed") == [
        {
            "activity_id": queries.activities(world.engine, _ref("a"))[0].id,
            "activity_seq": 1,
            "name": "act",
            "error": "no luck",
            "final_attempt": 1,
        }
    ]
    assert world.poll() is not None


def _ref(run_id: str) -> queries.RunRef:
    return queries.RunRef(run_id=run_id)


def test_a_failure_that_cannot_be_retried_is_final_at_once(world: World) -> None:
    started(world)
    world.fail(world.taken(), "bad input", retryable=False)
    assert world.payloads("a", "ActivityFailed")[0]["final_attempt"] == 1


def test_the_first_outcome_wins(world: World) -> None:
    started(world)
    activity = world.taken()
    world.complete(activity, "first")
    world.complete(activity, "second")
    world.fail(activity, "late")
    assert [p["result"] for p in world.payloads("a", "ActivityCompleted")] == ["first"]
    assert "ActivityFailed" not in world.events("a")


def test_an_outcome_of_an_unknown_activity_is_passed_over(world: World) -> None:
    tasks.complete_activity(world.engine, 12345, None)
    tasks.fail_activity(world.engine, 12345, "x")
    tasks.heartbeat_activity(world.engine, 12345, None)
    with pytest.raises(NotFoundError):
        queries.activity(world.engine, 12345)


def test_start_to_close_hands_the_activity_to_another_worker(world: World) -> None:
    started(world, start_to_close_secs=10)
    world.taken("w1")
    world.pass_secs(9)
    assert world.activity("w2") is None
    world.pass_secs(1.5)
    assert world.taken("w2").attempt == 2


def test_start_to_close_with_no_attempts_left_fails_the_activity(world: World) -> None:
    started(world, start_to_close_secs=10, max_attempts=1)
    world.taken()
    world.pass_secs(10.5)
    assert world.activity("w2") is None
    (failed,) = world.payloads("a", "ActivityFailed")
    assert failed["error"] == "start-to-close time-out after 10 s"


def test_a_worker_that_stops_heartbeating_loses_its_activity(world: World) -> None:
    started(world, heartbeat_timeout_secs=3)
    activity = world.taken("w1")
    for _ in range(3):
        world.pass_secs(2)
        tasks.heartbeat_activity(world.engine, activity.id, {"done": 5})
    assert world.activity("w2") is None
    world.pass_secs(3.5)
    second = world.taken("w2")
    assert (second.attempt, second.details) == (2, {"done": 5})


def test_heartbeats_do_not_prolong_past_start_to_close(world: World) -> None:
    started(world, heartbeat_timeout_secs=5, start_to_close_secs=8)
    activity = world.taken("w1")
    world.pass_secs(4)
    tasks.heartbeat_activity(world.engine, activity.id, None)
    world.pass_secs(4.5)
    assert world.taken("w2").attempt == 2


def test_a_late_success_of_an_earlier_attempt_still_wins(world: World) -> None:
    started(world, start_to_close_secs=10)
    first = world.taken("w1")
    world.pass_secs(11)
    world.taken("w2")
    world.complete(first, "slow but right")
    assert world.payloads("a", "ActivityCompleted")[0]["result"] == "slow but right"


def test_the_tick_ends_silent_activities_of_a_queue_nobody_polls(world: World) -> None:
    started(world, heartbeat_timeout_secs=3, max_attempts=1)
    world.taken()
    world.pass_secs(40)
    world.tick()
    assert world.events("a")[-1] == "ActivityFailed"


def test_a_schedule_repeated_by_a_replay_adds_nothing(world: World) -> None:
    world.start("a")
    world.turn("a", schedule(1), schedule(2))
    world.complete(world.taken())
    world.turn("a", schedule(2, name="ignored"))
    assert world.events("a").count("ActivityScheduled") == 2


def test_an_outcome_after_the_end_of_the_run_is_discarded(world: World) -> None:
    started(world)
    activity = world.taken()
    world.signal("a", "x")
    world.turn("a", COMPLETE)
    length = world.head("a").length
    world.complete(activity, "late")
    assert world.head("a").length == length


def test_values_of_every_size_come_back_as_they_went_in(world: World) -> None:
    world.start("a")
    big = {"small": "s", "item": "i" * 5_000, "blob": "b" * 600_000}
    world.turn("a", *(schedule(n, input=v) for n, v in enumerate(big.values(), start=1)))
    for value in big.values():
        activity = world.taken()
        assert activity.input == f'"{value}"'
        world.complete(activity, value)
    assert [p["result"] for p in world.payloads("a", "ActivityCompleted")] == list(big.values())
    assert len(world.blobs.held) == 1
    assert world.head("a").tail_bytes < 2_000
