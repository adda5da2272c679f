"""CancelTimer: one event each, whatever became of the timer, read or blind."""

from dataclasses import replace

import pytest

from tests.app.test_exchange import eager_run, step
from tests.app.world import COMPLETE, World, cancel_timer, schedule, timer, wait


class NoReads:
    """A store in which a head may be written but not read."""

    def __init__(self, world: World) -> None:
        self._store = world.store

    def __getattr__(self, name: str) -> object:
        assert name not in ("get", "get_many"), "the fused step reads nothing"
        return getattr(self._store, name)


def test_a_cancelled_timer_never_fires_and_leaves_one_event(world: World) -> None:
    world.start("a")
    world.turn("a", timer(1, 5), timer(2, 9))
    world.signal("a", "stop")
    world.turn("a", cancel_timer(1))
    assert world.head("a").timers == {"2": world.clock.time + 9}
    assert world.head("a").due == world.clock.time + 9
    world.pass_secs(6)
    world.tick()
    assert world.events("a")[-1] == "TimerCancelled"
    assert world.payloads("a", "TimerCancelled") == [{"timer_seq": 1}]
    world.pass_secs(6)
    world.tick()
    assert world.payloads("a", "TimerFired")[0]["timer_seq"] == 2


@pytest.mark.parametrize("fires", [True, False], ids=["fired", "open"])
def test_each_cancel_is_one_event_also_if_the_timer_has_fired(world: World, fires: bool) -> None:
    world.start("a")
    world.commit(world.take(), timer(1, 5))
    world.signal("a", "go")
    world.pass_secs(6 if fires else 1)
    task = world.take()
    done = world.commit(task, cancel_timer(1), wait("x"), id="c2")
    assert done["version"] == task["version"] + 2
    assert world.events("a")[-2:] == ["TimerCancelled", "WorkflowAwaitingSignal"]


def test_a_timer_made_and_cancelled_in_one_batch_is_not_in_the_head(world: World) -> None:
    world.start("a")
    world.commit(world.take(), timer(1, 5), cancel_timer(1))
    assert world.events("a")[1:] == ["TimerScheduled", "TimerCancelled"]
    assert world.head("a").timers == {}


def test_a_fused_step_cancels_a_timer_without_reading(world: World) -> None:
    task, answer = eager_run(world, schedule(1), timer(1, 60))
    engine = world.engine
    world.engine = replace(engine, store=NoReads(world))
    fused = step(task, 1, answer["version"], cancel_timer(1), schedule(2), at=world.clock.time)
    done = world.report(**fused)
    assert (done["status"], done["version"]) == ("accepted", answer["version"] + 3)
    world.engine = engine
    assert world.head("a").timers == {}
    world.report(**step(task, 2, done["version"], COMPLETE, at=world.clock.time))
    assert world.status("a") == "COMPLETED"


def test_a_timer_cancelled_too_late_to_be_seen_as_fired_keeps_both_events(world: World) -> None:
    """The step loses to the timer, is refused, and the run comes back with what happened."""
    task, answer = eager_run(world, schedule(1), timer(1, 2))
    world.pass_secs(4)
    world.tick()
    fused = step(task, 1, answer["version"], cancel_timer(1), at=world.clock.time)
    assert world.report(**fused)["code"] == "history_moved"
    again = world.take()
    world.commit(again, cancel_timer(1), id="c2")
    assert world.events("a")[-3:] == ["TimerFired", "ActivityCompleted", "TimerCancelled"]


@pytest.mark.parametrize("seq", [None, 0, -1, 1.5, "1", True, 2**31])
def test_a_cancel_needs_the_seq_of_a_timer(world: World, seq: object) -> None:
    world.start("a")
    answer = world.commit(world.take(), {"type": "CancelTimer", "seq": seq})
    assert (answer["status"], answer["code"]) == ("invalid", "bad_request")
    assert "seq" in answer["error"]
