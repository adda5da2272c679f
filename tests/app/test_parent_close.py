"""What becomes of children when their parent ends, by the policy they were started with."""

from typing import Any

import pytest

from assay_engine.app import runs
from assay_engine.app.names import RunRef
from tests.app.interrupted import deaths
from tests.app.test_children_and_endings import kid_turn
from tests.app.test_start_options import begin
from tests.app.world import CANCEL, COMPLETE, FAIL, World, child, wait

POLICIES = ("terminate", "request_cancel", "abandon")


def kids(*policies: str | None) -> list[dict[str, Any]]:
    return [
        child(str(policy), **({} if policy is None else {"parent_close_policy": policy}))
        for policy in policies
    ]


def with_kids(world: World, *policies: str | None, **fields: Any) -> None:
    """A parent whose children, named after their policies, wait for a signal."""
    begin(world, "par", **fields)
    world.turn("par", *kids(*policies))
    for _ in policies:
        task = world.poll(queue="kids")
        assert task is not None
        world.commands(task.workflow_id, wait("never"))


def asked(world: World, run_id: str) -> bool:
    return "WorkflowCancelRequested" in world.events(run_id)


def fates(world: World) -> dict[str, tuple[str, bool]]:
    return {name: (world.status(name), asked(world, name)) for name in (*POLICIES, "None")}


ENDED = {
    "terminate": ("FAILED", False),
    "request_cancel": ("RUNNING", True),
    "abandon": ("RUNNING", False),
}


@pytest.mark.parametrize("command", [COMPLETE, FAIL], ids=["completes", "fails"])
def test_a_parent_that_ends_by_itself_ends_children_with_a_policy(
    world: World, command: dict[str, Any]
) -> None:
    with_kids(world, *POLICIES, None)
    world.turn_of("par", command)
    assert fates(world) == {**ENDED, "None": ("RUNNING", False)}
    assert world.head("par").due is None


def test_a_terminated_parent_ends_children_by_their_policy_and_asks_the_others(
    world: World,
) -> None:
    with_kids(world, *POLICIES, None)
    world.terminate("par")
    assert fates(world) == {**ENDED, "None": ("RUNNING", True)}


def test_a_parent_that_times_out_ends_them_too(world: World) -> None:
    with_kids(world, *POLICIES, None, run_timeout=100)
    world.pass_secs(102)
    world.tick()
    assert fates(world) == {**ENDED, "None": ("RUNNING", True)}


def test_an_abandoned_child_is_not_asked_when_its_parent_is(world: World) -> None:
    with_kids(world, *POLICIES, None)
    world.cancel("par")
    assert [asked(world, name) for name in (*POLICIES, "None")] == [True, True, False, True]
    world.turn("par", CANCEL)
    assert world.status("terminate") == "FAILED"


def test_a_parent_that_dies_while_it_ends_has_its_children_ended_by_the_next_look() -> None:
    def make() -> World:
        world = World()
        with_kids(world, *POLICIES, None)
        world.signal("par", "turn")
        assert world.poll() is not None
        return world

    died = deaths(make, lambda world: world.commands("par", COMPLETE))
    assert len(died) >= 3
    for world in died:
        assert world.status("par") == "COMPLETED"
        world.pass_secs(15)
        world.tick()
        assert fates(world) == {**ENDED, "None": ("RUNNING", False)}
        assert world.head("par").due is None


def test_children_stay_when_their_parent_continues_and_end_with_the_chain(world: World) -> None:
    with_kids(world, *POLICIES)
    runs.continue_as_new(world.engine, RunRef(run_id="par"), None, "par-2")
    world.turn("par-2", {"type": "ContinueAsNew", "workflow_id": "par-3"})
    assert world.status("terminate") == "RUNNING"
    world.turn("par-3", COMPLETE)
    assert world.status("terminate") == "FAILED"
    assert [asked(world, name) for name in POLICIES] == [False, True, False]


def test_children_stay_when_their_parent_is_tried_again_and_end_with_the_last_attempt(
    world: World,
) -> None:
    policy = {"initial_interval": 1, "maximum_attempts": 2}
    with_kids(world, *POLICIES, retry_policy=policy)
    world.turn_of("par", FAIL)
    assert world.status("terminate") == "RUNNING"
    world.pass_secs(2)
    world.turn("par", FAIL)
    assert world.status("terminate") == "FAILED"
    assert [asked(world, name) for name in POLICIES] == [False, True, False]


def test_children_with_a_policy_also_stay_when_an_attempt_times_out(world: World) -> None:
    with_kids(world, *POLICIES, None, run_timeout=50, retry_policy={"maximum_attempts": 2})
    world.pass_secs(52)
    world.tick()
    assert world.head("par").attempt == 2
    assert world.status("terminate") == "RUNNING"
    assert [asked(world, name) for name in (*POLICIES, "None")] == [False, False, False, True]
    world.terminate("par")
    assert (world.status("terminate"), asked(world, "request_cancel")) == ("FAILED", True)


def test_a_child_started_in_the_last_batch_is_seen_to(world: World) -> None:
    begin(world, "par")
    world.turn("par", *kids("terminate"), COMPLETE)
    assert world.status("terminate") == "FAILED"


def test_a_child_that_was_tried_again_is_terminated_at_its_present_attempt(world: World) -> None:
    begin(world, "par")
    policy = {"retry_policy": {}, "parent_close_policy": "terminate"}
    world.turn("par", child("kid", **policy))
    kid_turn(world, FAIL)
    world.turn_of("par", COMPLETE)
    assert (world.status("kid"), world.head("kid").attempt) == ("FAILED", 2)


def test_a_child_is_started_with_its_options(world: World) -> None:
    begin(world, "par")
    world.turn(
        "par",
        child(
            "kid",
            input=1,
            memo={"m": "x" * 2000},
            search_attributes={"s": 1},
            run_timeout="1m",
            execution_timeout=600,
            task_timeout=5,
            start_delay=3,
        ),
    )
    view, head = world.record("kid"), world.head("kid")
    assert (view.input, view.search_attributes) == ("1", '{"s":1}')
    assert view.memo == '{"m":"' + "x" * 2000 + '"}'
    start = head.created_at + 3
    assert (head.start_at, head.run_until, head.chain_until) == (start, start + 60, start + 600)
    assert world.payloads("par", "ChildWorkflowStarted") == [
        {"child_workflow_id": "kid", "workflow_type": "Kid"}
    ]


def test_a_batch_with_a_wrong_option_is_refused_whole(world: World) -> None:
    begin(world, "par")
    task = world.take()
    answer = world.commit(task, wait("x"), child("kid", parent_close_policy="eat"))
    assert (answer["status"], world.events("par")) == ("invalid", ["WorkflowStarted"])
    assert "parent_close_policy" in answer["error"]
