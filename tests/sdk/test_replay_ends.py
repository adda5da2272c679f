"""How a workflow ends: by a result, an error, a cancellation, or by being given up."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from typing import Any

import pytest

from assay import workflow
from assay._failures import told

from .histories import STARTED, completed, history, machine, scheduled, signal


def test_cancellation_is_raised_at_the_current_wait() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.wait_for_signal("never")
        except CancelledError:
            await ctx.execute_activity("clean_up", ctx.cancel_reason)
            raise

    wait = ("WorkflowAwaitingSignal", {"signal": "never"})
    cancel = ("WorkflowCancelRequested", {"reason": "enough"})
    events = history(STARTED, wait, cancel, scheduled(1, "clean_up"), completed(1))
    run = machine(code)
    run.feed(events[:3])
    clean_up = run.commands()
    run.feed(events)

    assert [command["input"] for command in clean_up] == ["enough"]
    assert run.commands() == [{"type": "CancelWorkflow", "reason": "enough"}]


def test_a_second_cancel_request_does_not_interrupt_the_clean_up() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.sleep(10)
        except CancelledError:
            await ctx.sleep(1)

    timer = ("TimerScheduled", {"timer_seq": 1})
    cancel = ("WorkflowCancelRequested", None)
    run = machine(code)
    events = history(STARTED, timer, cancel, cancel)
    run.feed(events[:3])
    clean_up = run.commands()
    run.feed(events)

    assert clean_up == [{"type": "ScheduleTimer", "seq": 2, "duration_secs": 1}]
    # The engine's timers stop with each request, so the one that is still wanted begins again.
    assert run.commands() == [*clean_up, {"type": "ScheduleTimer", "seq": 3, "duration_secs": 0}]


def test_a_signal_does_not_go_to_a_wait_that_was_cancelled() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.wait_for_signal("s")
        except CancelledError:
            return await ctx.wait_for_signal("s")

    wait = ("WorkflowAwaitingSignal", {"signal": "s"})
    cancel = ("WorkflowCancelRequested", None)
    run = machine(code)
    run.feed(history(STARTED, wait, cancel, signal("s", "late")))

    assert run.commands()[-1] == {"type": "CompleteWorkflow", "result": "late"}


def test_an_exception_fails_the_workflow_with_its_text() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        raise ValueError("bad order")

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands() == [{"type": "FailWorkflow", "error": "ValueError: bad order"}]


def test_an_error_text_that_cannot_be_sent_is_made_sendable() -> None:
    assert told(ValueError("half a character: \ud800")) == "ValueError: half a character: ?"


def test_a_failed_activity_that_nobody_catches_fails_the_workflow() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("charge")

    failed = ("ActivityFailed", {"activity_seq": 1, "error": "declined", "final_attempt": 3})
    run = machine(code)
    run.feed(history(STARTED, scheduled(1, "charge"), failed))

    assert run.commands() == [{"type": "FailWorkflow", "error": "activity charge failed: declined"}]


def test_a_result_that_is_no_json_fails_the_workflow() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return object()

    run = machine(code)
    run.feed(history(STARTED))

    [command] = run.commands()
    assert command["type"] == "FailWorkflow"
    assert command["error"].startswith("the workflow's result is not expressible as JSON")


@pytest.mark.parametrize(
    ("end", "command"),
    [
        (lambda ctx: ctx.continue_as_new({"n": 2}), {"type": "ContinueAsNew", "input": {"n": 2}}),
        (lambda ctx: ctx.continue_as_new(), {"type": "ContinueAsNew"}),
        (lambda ctx: ctx.cancel("no need"), {"type": "CancelWorkflow", "reason": "no need"}),
    ],
)
def test_a_workflow_can_end_itself(end: Callable[[Any], None], command: Any) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            end(ctx)
        except Exception:  # noqa: BLE001 - what is tested: ending is no ordinary error
            return "swallowed"

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands() == [command]


def test_giving_a_workflow_up_asks_nothing_more_of_it() -> None:
    ended = []

    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.sleep(10)
        finally:
            ended.append(True)
            await ctx.execute_activity("clean_up")

    run = machine(code)
    run.feed(history(STARTED))
    before = run.commands()
    run.drop()

    assert ended == [True]
    assert run.commands() == before
