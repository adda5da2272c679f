"""A structured failure goes wherever its error text goes, long or short."""

from typing import Any

import pytest

from tests.app.test_exchange import eager_run, step
from tests.app.world import World, child, schedule

DECLINED = {"kind": "DECLINED", "message": "no funds", "retryable": True}
LONG = DECLINED | {"details": {"log": "x" * 3000}}
FINAL = DECLINED | {"retryable": False}
FAIL = {"type": "FailWorkflow", "error": "broke", "failure": LONG}


def report_failure(world: World, task: dict[str, Any], **fields: Any) -> dict[str, Any]:
    named = {name: task[name] for name in ("run", "seq", "attempt")}
    queued = {} if task["eager"] else {"activity_id": task["activity_id"]}
    return world.report(id="f1", kind="failed", **named, **queued, **fields)


def an_activity(world: World, *, eager: bool, **policy: Any) -> dict[str, Any]:
    world.start("a")
    answer = world.commit(world.take(), schedule(1, **policy), eager=1 if eager else 0)
    return answer["activities"][0] if eager else world.take_activity()


@pytest.mark.parametrize("failure", [DECLINED, LONG], ids=["short", "long"])
@pytest.mark.parametrize("eager", [True, False], ids=["eager", "queued"])
def test_the_failure_of_a_last_attempt_stands_in_its_event(
    world: World, eager: bool, failure: dict[str, Any]
) -> None:
    task = an_activity(world, eager=eager, max_attempts=1)
    assert report_failure(world, task, error="boom", failure=failure)["status"] == "accepted"
    (failed,) = world.payloads("a", "ActivityFailed")
    assert (failed["error"], failed["failure"]) == ("boom", failure)


def test_an_attempt_that_is_tried_again_leaves_no_failure_behind(world: World) -> None:
    task = an_activity(world, eager=True, max_attempts=2)
    report_failure(world, task, error="boom", failure=DECLINED)
    assert world.payloads("a", "ActivityFailed") == []
    world.pass_secs(5)
    world.report(
        id="f2",
        kind="failed",
        run=task["run"],
        seq=1,
        attempt=2,
        activity_id=world.take_activity()["activity_id"],
        error="plain",
    )
    (failed,) = world.payloads("a", "ActivityFailed")
    assert (failed["error"], "failure" in failed) == ("plain", False)


@pytest.mark.parametrize("fields", [{"failure": FINAL}, {"failure": DECLINED, "retryable": False}])
def test_either_word_that_a_repeat_is_no_use_is_enough(
    world: World, fields: dict[str, Any]
) -> None:
    task = an_activity(world, eager=True, max_attempts=5)
    report_failure(world, task, error="boom", **fields)
    assert world.events("a")[-1] == "ActivityFailed"


def test_without_an_error_text_the_message_of_the_failure_is_it(world: World) -> None:
    report_failure(world, an_activity(world, eager=True), failure=FINAL)
    assert world.payloads("a", "ActivityFailed")[0]["error"] == "no funds"


def test_a_fused_step_may_begin_with_a_failure(world: World) -> None:
    task, answer = eager_run(world)
    fused = step(task, 1, answer["version"], FAIL, at=world.clock.time)
    done = world.report(**fused | {"kind": "failed", "error": "boom", "failure": LONG | FINAL})
    assert done["status"] == "accepted"
    assert world.payloads("a", "ActivityFailed")[0]["failure"] == LONG | FINAL
    assert world.payloads("a", "WorkflowFailed") == [{"error": "broke", "failure": LONG}]
    assert world.record("a").failure == LONG


def test_a_failed_child_hands_its_failure_to_the_parent(world: World) -> None:
    world.start("par")
    world.turn("par", child("kid"))
    world.poll(queue="kids")
    world.commands("kid", FAIL)
    assert world.payloads("par", "ChildWorkflowFailed") == [
        {"child_workflow_id": "kid", "error": "broke", "failure": LONG}
    ]


def test_a_failure_that_is_none_is_invalid(world: World) -> None:
    task = an_activity(world, eager=True)
    answer = report_failure(world, task, error="boom", failure={"kind": "declined"})
    assert (answer["status"], "failure.kind" in answer["error"]) == ("invalid", True)
    assert world.events("a")[-1] == "ActivityScheduled"
