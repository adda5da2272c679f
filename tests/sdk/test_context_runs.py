"""The context of a workflow and other runs: calls, children, and those it watches."""

from __future__ import annotations

import asyncio
from typing import Any

from assay import workflow
from assay.errors import CallError

from .histories import completed
from .programs_played import fired, named, played, result

CANCEL = ("WorkflowCancelRequested", None)


def call_ended(seq: int, error: Any = None) -> tuple[str, Any]:
    return "WorkflowCallEnded", {"call_seq": seq, "error": error}


def exited(status: str, **more: Any) -> tuple[str, Any]:
    return "WorkflowExited", {"call_seq": 1, "workflow_id": "other", "status": status, **more}


def child_done(child: str, value: Any = None) -> tuple[str, Any]:
    return "ChildWorkflowCompleted", {"child_workflow_id": child, "result": value}


def test_calls_to_other_runs_are_awaited_and_raise_what_came_of_them() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.cancel_workflow("other", "enough", deadline="5m")
        try:
            await ctx.signal("gone", "hey", {"n": 1})
        except CallError as error:
            return [error.workflow_id, error.kind]

    first, second, _ = played(code, call_ended(1), call_ended(2, {"kind": "NOT_FOUND"}))
    call = {"type": "CallWorkflow", "seq": 1, "workflow_id": "other", "call": "cancel"}
    assert first == [{**call, "reason": "enough", "deadline": 300.0}]
    assert (second[0]["seq"], second[0]["payload"]) == (2, {"n": 1})
    assert result(code, call_ended(1), call_ended(2, {"kind": "NOT_FOUND"})) == [
        "gone",
        "NOT_FOUND",
    ]


def test_a_spawned_child_is_joined_later() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        child = ctx.spawn_child_workflow("Child", 1, workflow_id="c", run_timeout="1m")
        before = child.done
        await ctx.execute_activity("meanwhile")
        return [before, child.done, await child.result()]

    start, _ = played(code)[0]
    assert (start["run_timeout"], start["workflow_id"]) == (60.0, "c")
    assert result(code, child_done("c", 5), completed(1)) == [False, True, 5]


def test_children_without_an_id_get_one_that_each_replay_repeats() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return [ctx.spawn_child_workflow("Child").workflow_id for _ in range(2)]

    [one, other] = result(code)
    assert one.startswith("w-1-")
    assert one != other


async def with_child(ctx: workflow.Context, patient: bool) -> Any:
    await ctx.start_child_workflow("Child", workflow_id="c", wait_for_cancellation=patient)


def test_a_cancelled_parent_that_is_patient_waits_for_its_child() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await with_child(ctx, patient=True)

    cancelled = {"child_workflow_id": "c", "error": "cancelled"}
    _, waits, end = played(code, CANCEL, ("ChildWorkflowFailed", cancelled))
    assert (waits, named(end)) == ([], ["CancelWorkflow"])


def test_a_cancelled_parent_that_is_not_patient_ends_at_once() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await with_child(ctx, patient=False)

    assert named(played(code, CANCEL)[1]) == ["CancelWorkflow"]


def test_waiting_for_a_child_ends_with_its_time_however_patient_a_cancelled_parent_would_be() -> (
    None
):
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            async with asyncio.timeout(5):
                await ctx.start_child_workflow("C", workflow_id="c", wait_for_cancellation=True)
        except TimeoutError:
            return "went on"

    assert result(code, fired(1)) == "went on"


def test_monitored_runs_are_told_as_they_end() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.monitor("other")
        told = [await ctx.exits.receive() for _ in range(2)]
        return [[each.status, each.result, each.failure and each.failure.kind] for each in told]

    failure = {"kind": "OOPS", "message": "no"}
    ends = [exited("COMPLETED", result=3), exited("FAILED", error="no", failure=failure)]
    assert result(code, call_ended(1), *ends) == [["COMPLETED", 3, None], ["FAILED", None, "OOPS"]]


async def linked(ctx: workflow.Context, input: Any) -> Any:
    await ctx.link("other")
    try:
        await ctx.sleep(100)
    except asyncio.CancelledError:
        await ctx.execute_activity("clean up")
        raise


def test_the_abnormal_end_of_a_linked_run_fails_this_one_after_its_clean_up() -> None:
    *_, clean_up, end = played(
        linked, call_ended(1), exited("FAILED", error="no", link=True), completed(1)
    )

    assert named(clean_up)[-1:] == ["clean up"]
    assert end[-1]["error"] == "linked run other is down: no"
    assert end[-1]["failure"]["kind"] == "LINK_DOWN"


def test_the_normal_end_of_a_linked_run_is_none_of_its_business() -> None:
    assert played(linked, call_ended(1), exited("COMPLETED", link=True))[-1] == []


def test_trapped_links_are_told_instead() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        ctx.trap_links = True
        await ctx.link("other")
        gone = await ctx.exits.receive()
        return [gone.workflow_id, gone.linked, gone.failure and gone.failure.message]

    ends = [call_ended(1), exited("TIMED_OUT", error="too slow", link=True)]
    assert result(code, *ends) == ["other", True, "too slow"]
