"""A task handed back with a problem: shown in the record, looked at less and less often."""

from typing import Any

import pytest

from assay_engine.core import problem
from tests.app.world import World, timer, wait

MISSING = {"code": "no_handler", "text": "Flow is not registered here"}


def hand_back(world: World, told: Any = MISSING, **fields: Any) -> dict[str, Any]:
    task = world.take()
    lease = {"run": task["run"], "lease": task["lease"]}
    return world.report(id="r1", kind="release", problem=told, **lease, **fields)


def shown(world: World) -> tuple[str, str, float]:
    found = problem.unpack(world.head("a").problem)
    assert found is not None
    return found.code, found.text, found.since


def next_look(world: World) -> float:
    due = world.head("a").due
    assert due is not None
    return due - world.clock.time


def test_it_is_shown_and_the_run_waits_longer_each_time(world: World) -> None:
    world.start("a")
    begun = world.clock.time
    for secs in (30, 60, 120, 240, 480, 600, 600):
        assert hand_back(world)["status"] == "accepted"
        assert shown(world) == ("no_handler", "Flow is not registered here", begun)
        assert next_look(world) == secs
        world.pass_secs(secs - 1)
        assert world.poll() is None
        world.pass_secs(1)


def test_another_problem_begins_anew(world: World) -> None:
    world.start("a")
    hand_back(world)
    world.pass_secs(30)
    hand_back(world, {"code": "other"})
    assert shown(world) == ("other", "", world.clock.time)
    assert next_look(world) == 30


def test_a_signal_makes_the_run_due_at_once(world: World) -> None:
    world.start("a")
    hand_back(world)
    world.signal("a", "poke")
    assert world.take()["version"] == 2


def test_a_timer_is_not_forgotten_over_a_problem(world: World) -> None:
    world.start("a")
    world.turn("a", timer(1, 10))
    world.signal("a", "go")
    hand_back(world)
    assert next_look(world) == 10
    world.pass_secs(11)
    assert world.take()["version"] == 4


def test_what_landed_while_the_worker_thought_makes_it_due_at_once(world: World) -> None:
    world.start("a")
    task = world.take()
    world.signal("a", "poke")
    lease = {"run": task["run"], "lease": task["lease"]}
    world.report(id="r1", kind="release", problem=MISSING, **lease)
    assert next_look(world) <= 0


def test_the_tick_does_not_wake_it_early(world: World) -> None:
    world.start("a")
    hand_back(world)
    world.pass_secs(5)
    world.tick()
    assert next_look(world) == 25


def test_the_next_commit_takes_it_away(world: World) -> None:
    world.start("a")
    hand_back(world)
    world.pass_secs(30)
    world.commit(world.take(), wait("x"))
    assert world.head("a").problem is None


def test_a_closed_run_has_none(world: World) -> None:
    world.start("a")
    hand_back(world)
    world.terminate("a")
    assert world.head("a").problem is None


def test_a_repeated_release_is_stale_and_changes_nothing(world: World) -> None:
    world.start("a")
    task = world.take()
    lease = {"run": task["run"], "lease": task["lease"]}
    world.report(id="r1", kind="release", problem=MISSING, **lease)
    before = world.head("a")
    again = world.report(id="r1", kind="release", problem=MISSING, **lease)
    assert again["status"] == "stale"
    assert world.head("a") == before


def test_a_plain_release_leaves_the_problem_and_is_due_at_once(world: World) -> None:
    world.start("a")
    hand_back(world)
    world.pass_secs(30)
    assert hand_back(world, None)["status"] == "accepted"
    assert (shown(world)[0], next_look(world)) == ("no_handler", 0)


@pytest.mark.parametrize(
    "told", ["text", {}, {"code": ""}, {"code": 5}, {"code": "x" * 65}, {"code": "c", "text": 1}]
)
def test_a_problem_that_is_none_is_invalid_and_the_lease_stays(world: World, told: Any) -> None:
    world.start("a")
    answer = hand_back(world, told)
    assert (answer["status"], "problem" in answer["error"]) == ("invalid", True)
    assert world.head("a").lease_token is not None
