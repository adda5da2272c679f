"""Parents and children whose ids are used again: who is told, who is found, who is in the way."""

from dataclasses import replace

from assay_engine.app import children, queries
from assay_engine.app.names import RunRef
from assay_engine.core.run import Head
from tests.app.test_children_and_endings import (
    BusyParent,
    close_kid_while_parent_is_busy,
    kid_turn,
    with_child,
)
from tests.app.test_incarnations import TERMINATE, again, prefix
from tests.app.world import COMPLETE, World, child


def test_a_parent_hears_of_a_child_whose_id_was_used_again_by_the_stream(world: World) -> None:
    with_child(world)
    close_kid_while_parent_is_busy(world)
    closed = world.head("kid")
    again(world, "kid", input="somebody else's")
    children.notify_parent(world.engine, closed)
    children.notify_parent(world.engine, world.head("kid"))
    assert world.payloads("par", "ChildWorkflowCompleted") == [
        {"child_workflow_id": "kid", "result": "done"}
    ]


def test_a_parent_finds_a_child_whose_id_was_used_again_by_the_hourly_look(world: World) -> None:
    with_child(world)
    close_kid_while_parent_is_busy(world)
    again(world, "kid")
    world.terminate("kid")
    again(world, "kid")
    world.pass_secs(3601)
    task = world.poll()
    while task is not None and task.workflow_id != "par":
        task = world.poll()
    assert task is not None
    assert task.history[-1].type == "ChildWorkflowCompleted"


def test_the_parent_of_a_child_that_was_replaced_while_open_is_told(world: World) -> None:
    """The process dies after the transaction: the stream shows the copy."""
    with_child(world)
    engine = world.engine
    world.engine = replace(engine, store=BusyParent(world, "par"))
    again(world, "kid", on_conflict=TERMINATE)
    world.engine = engine
    assert world.events("par") == ["WorkflowStarted", "ChildWorkflowStarted"]
    copies = [r for r in world.store.query(Head, prefix(world, "kid", "I")) if not r.is_open]
    for copy in copies:
        children.notify_parent(world.engine, copy)
    assert world.events("par")[-1] == "ChildWorkflowFailed"


def test_cancelling_a_parent_leaves_a_stranger_with_the_childs_id_alone(world: World) -> None:
    with_child(world)
    close_kid_while_parent_is_busy(world)
    again(world, "kid")
    world.cancel("par")
    assert world.status("kid") == "PENDING"


def test_the_children_of_an_incarnation_are_its_own(world: World) -> None:
    with_child(world)
    kid_turn(world, COMPLETE)
    world.turn("par", COMPLETE)
    again(world, "par")
    assert queries.children(world.engine, RunRef(run_id="par")) == []
    first = RunRef(run_id="par", incarnation="run-par-1000000")
    assert [view.head.id for view in queries.children(world.engine, first)] == ["kid"]


def test_a_run_used_again_may_start_its_children_again(world: World) -> None:
    with_child(world)
    kid_turn(world, COMPLETE)
    world.turn("par", COMPLETE)
    again(world, "par")
    world.turn("par", child("kid", input="again"))
    assert world.record("kid").input == '"again"'
    kid_turn(world, COMPLETE)
    assert world.events("par")[-1] == "ChildWorkflowCompleted"


def test_a_child_of_an_earlier_incarnation_that_still_runs_is_in_the_way(world: World) -> None:
    with_child(world)
    world.turn_of("par", COMPLETE)
    again(world, "par")
    world.turn("par", child("kid"))
    (failed,) = world.payloads("par", "ChildWorkflowFailed")
    assert "exists already" in failed["error"]


def test_an_ended_child_of_another_parent_is_in_the_way_too(world: World) -> None:
    with_child(world)
    kid_turn(world, COMPLETE)
    world.turn("par", COMPLETE)
    world.start("other")
    world.turn("other", child("kid"))
    assert world.events("other")[-1] == "ChildWorkflowFailed"


def test_the_same_run_may_still_not_start_an_ended_child_again(world: World) -> None:
    with_child(world)
    kid_turn(world, COMPLETE)
    world.turn("par", child("kid"))
    assert world.events("par")[-1] == "ChildWorkflowFailed"
