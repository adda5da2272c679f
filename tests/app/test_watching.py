"""Monitors and links: a run hears of the end of another, once, whatever happens meanwhile."""

from typing import Any

import pytest

from assay_engine.app import ending, notices, runs
from assay_engine.app.names import RunRef
from tests.app.crashes import in_the_middle, keep_busy, recover, worlds_that_die
from tests.app.test_exchange import step
from tests.app.world import CANCEL, COMPLETE, FAIL, World, call, schedule, wait

MONITOR, LINK = call("monitor"), call("link")
DONE = {"call_seq": 1, "workflow_id": "b", "status": "COMPLETED", "result": "done"}
A_DONE = {
    "call_seq": None,
    "workflow_id": "a",
    "status": "COMPLETED",
    "result": "done",
    "link": True,
}


def start(world: World, run_id: str) -> None:
    """Each on a queue of its own, so that the test can say whose turn it is."""
    runs.start(world.engine, runs.StartRun(run_id=run_id, type="Flow", queue=run_id))


def two_runs() -> World:
    """`a` and `b`, both waiting for what comes."""
    world = World()
    for run_id in ("b", "a"):
        start(world, run_id)
        turn(world, run_id, wait("go"))
    return world


def turn(world: World, run_id: str, *commands: dict[str, Any]) -> None:
    """Wake a run, and let it answer. Those that continue a run have its queue."""
    world.signal(run_id, "go")
    worker = f"{run_id}-{world.clock.time}"
    task = world.take(worker, queue=run_id[0])
    assert task["run"]["id"] == run_id
    answer = world.commit(task, *commands, worker=worker, id=f"c{task['version']}")
    assert answer["status"] == "accepted"


def watched(*commands: dict[str, Any]) -> World:
    """`a` has called `b`."""
    world = two_runs()
    turn(world, "a", *(commands or (MONITOR,)))
    return world


def exits(world: World, run_id: str = "a") -> list[Any]:
    return world.payloads(run_id, "WorkflowExited")


def test_a_monitor_hears_how_the_run_ended(world: World) -> None:
    world = watched()
    assert world.payloads("a", "WorkflowCallEnded") == [{"call_seq": 1}]
    assert exits(world) == []
    turn(world, "b", COMPLETE)
    world.stream("b", "b")
    assert exits(world) == [DONE]
    assert (world.head("a").watching, world.head("b").due) == (None, None)
    turn(world, "a", COMPLETE)


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (lambda world: turn(world, "b", FAIL), {"status": "FAILED", "error": "broke"}),
        (lambda world: turn(world, "b", CANCEL), {"status": "CANCELLED"}),
        (
            lambda world: turn(world, "b", CANCEL | {"reason": "why"}),
            {"status": "CANCELLED", "error": "why"},
        ),
        (lambda world: world.terminate("b", "x" * 3000), {"status": "FAILED", "error": "x" * 3000}),
        (
            lambda world: turn(world, "b", COMPLETE | {"result": "y" * 3000}),
            {"status": "COMPLETED", "result": "y" * 3000},
        ),
        (
            lambda world: turn(world, "b", FAIL | {"failure": {"kind": "K", "message": "m"}}),
            {
                "status": "FAILED",
                "error": "broke",
                "failure": {"kind": "K", "message": "m", "retryable": True},
            },
        ),
    ],
)
def test_every_end_is_told(end: Any, outcome: dict[str, Any]) -> None:
    world = watched()
    end(world)
    assert exits(world) == [{"call_seq": 1, "workflow_id": "b"} | outcome]


@pytest.mark.parametrize("command", [MONITOR, LINK], ids=["monitor", "link"])
def test_a_run_that_has_ended_is_told_at_once(command: dict[str, Any]) -> None:
    world = two_runs()
    turn(world, "b", COMPLETE)
    turn(world, "a", command)
    link = {"link": True} if command is LINK else {}
    assert exits(world) == [DONE | link]
    assert world.payloads("a", "WorkflowCallEnded") == [{"call_seq": 1}]


@pytest.mark.parametrize("command", [MONITOR, LINK], ids=["monitor", "link"])
def test_a_run_that_is_not_there_is_an_error_and_never_told(command: dict[str, Any]) -> None:
    world = two_runs()
    turn(world, "a", command | {"workflow_id": "nobody"})
    (ended,) = world.payloads("a", "WorkflowCallEnded")
    assert ended["error"]["kind"] == "NOT_FOUND"
    assert world.head("a").watching is None


def test_a_chain_of_continuations_ends_with_its_last_run(world: World) -> None:
    world = watched()
    turn(world, "b", {"type": "ContinueAsNew", "workflow_id": "b2"})
    runs.continue_as_new(world.engine, RunRef(run_id="b2"), None, "b3")
    assert exits(world) == []
    assert world.head("b").due is None
    turn(world, "b3", COMPLETE)
    assert exits(world) == [DONE]


def test_a_monitor_of_a_continued_run_finds_the_last_one(world: World) -> None:
    world = two_runs()
    turn(world, "b", {"type": "ContinueAsNew", "workflow_id": "b2"})
    turn(world, "a", MONITOR)
    turn(world, "b2", COMPLETE)
    assert exits(world) == [DONE]


def test_two_monitors_hear_and_one_that_was_dropped_does_not(world: World) -> None:
    world = watched(MONITOR, call("monitor", seq=2))
    turn(world, "a", call("unmonitor", seq=3), call("monitor", seq=4))
    assert len(world.payloads("a", "WorkflowCallEnded")) == 4
    turn(world, "b", COMPLETE)
    assert exits(world) == [DONE | {"call_seq": 4}]


def test_unmonitor_of_what_nobody_monitors_is_no_error(world: World) -> None:
    world = two_runs()
    turn(world, "a", call("unmonitor", workflow_id="nobody"), call("unlink", seq=2))
    assert world.payloads("a", "WorkflowCallEnded") == [{"call_seq": 1}, {"call_seq": 2}]


def test_a_closed_watcher_hears_nothing_and_nobody_waits_for_it(world: World) -> None:
    world = watched()
    turn(world, "a", COMPLETE)
    before = world.head("a")
    turn(world, "b", COMPLETE)
    assert world.head("a") == before
    assert world.head("b").due is None


def test_a_busy_watcher_hears_later(world: World) -> None:
    world = watched()
    engine = world.engine
    world.signal("b", "go")
    task = world.take(queue="b")
    keep_busy(world, world.head("a").key)
    assert world.commit(task, COMPLETE, id="close")["status"] == "accepted"
    assert exits(world) == []
    world.engine = engine
    recover(world)
    assert exits(world) == [DONE]
    assert world.head("b").due is None


def test_the_stream_tells_who_was_not_told_at_once(world: World) -> None:
    world = watched()
    engine = world.engine
    keep_busy(world, world.head("a").key)
    world.terminate("b", "x")
    world.engine = engine
    notices.closed(world.engine, [world.head("b")])
    assert [one["status"] for one in exits(world)] == ["FAILED"]


@pytest.mark.parametrize("command", [MONITOR, LINK], ids=["monitor", "link"])
def test_a_watch_whose_process_dies_is_set_up_by_another(command: dict[str, Any]) -> None:
    tried = 0
    for world in worlds_that_die(lambda w: turn(w, "a", command), two_runs):
        recover(world)
        if "WorkflowCalled" not in world.events("a"):
            world.pass_secs(40)
            turn(world, "a", command)
        turn(world, "b", COMPLETE)
        recover(world)
        assert [one["status"] for one in exits(world)] == ["COMPLETED"]
        assert world.payloads("a", "WorkflowCallEnded") == [{"call_seq": 1}]
        tried += 1
    assert tried > 8


@pytest.mark.parametrize("command", [MONITOR, LINK], ids=["monitor", "link"])
@pytest.mark.parametrize("ends", ["a", "b"])
def test_an_end_whose_process_dies_is_told_by_another(command: dict[str, Any], ends: str) -> None:
    other = {"a": "b", "b": "a"}[ends]
    told = 0 if (command is MONITOR and ends == "a") else 1
    for world in worlds_that_die(lambda w: turn(w, ends, COMPLETE), lambda: watched(command)):
        recover(world)
        if world.head(ends).is_open:
            world.pass_secs(40)
            turn(world, ends, COMPLETE)
        world.stream(ends)
        assert len(exits(world, other)) == told
        assert exits(world, ends) == []
        assert world.head(ends).due is None


@pytest.mark.parametrize("command", [MONITOR, LINK], ids=["monitor", "link"])
@pytest.mark.parametrize("write", [("put", 1), ("put", 2), ("update", 4), ("update", 5)])
def test_a_run_that_ends_while_it_is_being_watched_is_told_once(
    command: dict[str, Any], write: tuple[str, int]
) -> None:
    world = two_runs()
    in_the_middle(world, lambda: world.terminate("b", "x"), *write)
    turn(world, "a", command)
    world.engine = world.process()
    recover(world)
    if world.head("b").is_open:
        world.terminate("b", "x")
    assert [one["status"] for one in exits(world)] == ["FAILED"]


@pytest.mark.parametrize("command", [MONITOR, LINK], ids=["monitor", "link"])
@pytest.mark.parametrize("count", range(1, 6))
def test_two_who_pay_at_once_watch_once(command: dict[str, Any], count: int) -> None:
    world = two_runs()
    in_the_middle(
        world, lambda: ending.pay(world.engine, world.head("a")) and None, "update", count
    )
    turn(world, "a", command)
    turn(world, "b", COMPLETE)
    world.stream("b")
    assert len(exits(world)) == 1
    assert world.payloads("a", "WorkflowCallEnded") == [{"call_seq": 1}]


def test_a_link_is_heard_on_the_side_that_made_it(world: World) -> None:
    world = watched(LINK)
    turn(world, "b", COMPLETE)
    world.stream("b")
    assert exits(world) == [DONE | {"link": True}]
    turn(world, "a", COMPLETE)
    assert exits(world, "b") == []


def test_a_link_is_heard_on_the_other_side(world: World) -> None:
    world = watched(LINK)
    turn(world, "a", COMPLETE)
    world.stream("a", "a")
    assert exits(world, "b") == [A_DONE]
    assert world.head("a").due is None
    turn(world, "b", COMPLETE)
    assert exits(world) == []


def test_a_link_right_before_the_end_is_heard(world: World) -> None:
    world = watched(LINK, COMPLETE)
    assert exits(world, "b") == [A_DONE]
    assert world.head("a").due is None


def test_a_link_of_a_run_that_continues_ends_with_the_chain(world: World) -> None:
    world = watched(LINK)
    turn(world, "a", {"type": "ContinueAsNew", "workflow_id": "a2"})
    assert exits(world, "b") == []
    turn(world, "a2", COMPLETE)
    assert exits(world, "b") == [A_DONE]


@pytest.mark.parametrize("when", [("update", 1), ("update", 2), ("transact", 1)])
def test_two_linked_runs_that_end_at_once_both_end(when: tuple[str, int]) -> None:
    world = watched(LINK)
    in_the_middle(world, lambda: world.terminate("b", "too"), *when)
    world.terminate("a", "one")
    world.engine = world.process()
    if world.head("b").is_open:
        world.terminate("b", "too")
    recover(world)
    for run_id in ("a", "b"):
        assert (world.status(run_id), world.head(run_id).due) == ("FAILED", None)
        assert world.events(run_id).count("WorkflowExited") <= 1
        world.stream(run_id)
        assert world.events(run_id)[-1] == "WorkflowFailed"


@pytest.mark.parametrize("by", ["a", "b"])
@pytest.mark.parametrize("ends", ["a", "b"])
def test_either_side_may_drop_a_link_and_then_nobody_hears(by: str, ends: str) -> None:
    other = {"a": "b", "b": "a"}
    world = watched(LINK)
    turn(world, by, call("unlink", seq=2, workflow_id=other[by]))
    turn(world, ends, COMPLETE)
    world.stream(ends)
    recover(world)
    assert exits(world, other[ends]) == []


@pytest.mark.parametrize("by", ["a", "b"])
@pytest.mark.parametrize("ends", ["a", "b"])
def test_an_unlink_whose_process_dies_is_done_by_another(by: str, ends: str) -> None:
    other = {"a": "b", "b": "a"}
    command = call("unlink", seq=2, workflow_id=other[by])
    for world in worlds_that_die(lambda w: turn(w, by, command), lambda: watched(LINK)):
        recover(world)
        if {"call_seq": 2} not in world.payloads(by, "WorkflowCallEnded"):
            world.pass_secs(40)
            turn(world, by, command)
        turn(world, ends, COMPLETE)
        assert exits(world, other[ends]) == []


def test_a_link_after_an_unlink_is_a_new_one_and_monitors_stay(world: World) -> None:
    world = watched(LINK, call("monitor", seq=2))
    turn(world, "a", call("unlink", seq=3))
    turn(world, "a", call("link", seq=4))
    turn(world, "b", COMPLETE)
    told = sorted((one["call_seq"], one.get("link")) for one in exits(world))
    assert told == [(2, None), (4, True)]


def test_an_unlink_of_one_leaves_the_links_with_others(world: World) -> None:
    world = watched(LINK)
    start(world, "c")
    turn(world, "c", call("link", workflow_id="b"))
    turn(world, "a", call("unlink", seq=2))
    turn(world, "b", COMPLETE)
    assert (exits(world), len(exits(world, "c"))) == ([], 1)


def monitored_and_stepping() -> tuple[World, dict[str, Any]]:
    """`c` has an eager activity, and is monitored by `a`; the step that ends it."""
    world = two_runs()
    world.start("c")
    task = world.take()
    answer = world.commit(task, schedule(1))
    turn(world, "a", call("monitor", workflow_id="c"))
    return world, step(task, 1, answer["version"], COMPLETE, at=world.clock.time)


def test_a_watched_run_that_ends_in_a_fused_step_tells(world: World) -> None:
    world, fused = monitored_and_stepping()
    assert world.report(**fused)["status"] == "accepted"
    assert [one["workflow_id"] for one in exits(world)] == ["c"]


def test_a_fused_step_that_ends_a_watched_run_owes_the_telling_at_once(world: World) -> None:
    _, fused = monitored_and_stepping()

    def fresh() -> World:
        world, again = monitored_and_stepping()
        fused["run"] = again["run"]
        return world

    for each in worlds_that_die(lambda w: w.report(**fused) and None, fresh):
        recover(each)
        assert each.head("c").is_open or len(exits(each)) == 1


def test_a_fused_step_may_link(world: World) -> None:
    world = two_runs()
    world.start("c")
    task = world.take()
    answer = world.commit(task, schedule(1))
    fused = step(task, 1, answer["version"], call("link"), COMPLETE, at=world.clock.time)
    assert world.report(**fused)["status"] == "accepted"
    assert [one["workflow_id"] for one in exits(world, "b")] == ["c"]


def test_a_run_that_nobody_watches_has_nothing_of_it(world: World) -> None:
    world = two_runs()
    turn(world, "b", COMPLETE)
    head = world.head("b")
    assert (head.watched, head.watching, head.due) == (None, None, None)
