"""The deterministic core by itself: what each call of the context issues and returns."""

from __future__ import annotations

from asyncio import CancelledError
from typing import Any

from assay import workflow
from assay.errors import ActivityError, ChildWorkflowError

from .histories import STARTED, completed, history, machine, scheduled, signal


def test_an_activity_is_scheduled_on_the_queue_of_the_workflow() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return await ctx.execute_activity("charge", input, max_attempts=5)

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands() == [
        {
            "type": "ScheduleActivity",
            "seq": 1,
            "name": "charge",
            "input": {"n": 1},
            "task_queue": "own",
            "max_attempts": 5,
        }
    ]


def test_a_result_completes_the_workflow() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return [await ctx.execute_activity("charge"), ctx.time()]

    run = machine(code)
    run.feed(history(STARTED, scheduled(1, "charge"), completed(1, "paid")))

    assert run.commands() == [{"type": "CompleteWorkflow", "result": ["paid", 103.0]}]
    assert run.closed


def test_what_history_has_recorded_is_not_issued_again() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("charge")

    run = machine(code)
    run.feed(history(STARTED, scheduled(1, "charge")))

    assert run.commands() == []


def test_each_event_is_an_activation_of_its_own() -> None:
    """Two signals at once must lead where they would have led one after the other."""

    async def code(ctx: workflow.Context, input: Any) -> Any:
        first = await ctx.wait_for_signal("a", timeout=5)
        await ctx.execute_activity("timed_out" if first is None else "signalled")

    wait = ("WorkflowAwaitingSignal", {"signal": "a"})
    timer = ("TimerScheduled", {"timer_seq": 1})
    fired = ("TimerFired", {"timer_seq": 1})
    signal_first = machine(code)
    signal_first.feed(history(STARTED, wait, timer, signal("a", "yes"), fired))
    timer_first = machine(code)
    timer_first.feed(history(STARTED, wait, timer, fired, signal("a", "yes")))

    cancelled, activity = signal_first.commands()
    assert cancelled == {"type": "CancelTimer", "seq": 1}
    assert activity["name"] == "signalled"
    assert [command["name"] for command in timer_first.commands()] == ["timed_out"]


def test_signals_that_came_early_are_kept_in_their_order() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("slow")
        return [await ctx.wait_for_signal("s"), await ctx.wait_for_signal("s")]

    run = machine(code)
    run.feed(history(STARTED, signal("s", 1), scheduled(1, "slow"), signal("s", 2), completed(1)))

    assert run.commands() == [{"type": "CompleteWorkflow", "result": [1, 2]}]


def test_a_timed_wait_schedules_its_timer() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal("go", timeout=2.5)

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands() == [
        {"type": "WaitForSignal", "name": "go"},
        {"type": "ScheduleTimer", "seq": 1, "duration_secs": 2.5},
    ]


def test_each_wait_is_announced() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal("go", timeout=1)
        await ctx.wait_for_signal("go")

    run = machine(code)
    timer = ("TimerScheduled", {"timer_seq": 1})
    wait = ("WorkflowAwaitingSignal", {"signal": "go"})
    run.feed(history(STARTED, wait, timer, ("TimerFired", {"timer_seq": 1})))

    assert run.commands() == [{"type": "WaitForSignal", "name": "go"}]


def test_waits_whose_signals_came_before_they_were_recorded_are_recorded_all_the_same() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal("go")
        await ctx.wait_for_signal("go")

    run = machine(code)
    run.feed(history(STARTED, signal("go")))

    assert run.commands() == [{"type": "WaitForSignal", "name": "go"}] * 2


def test_parallel_activities_return_in_the_order_of_the_calls() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return await ctx.execute_parallel(
            [("a", 1), workflow.ActivityCall("b", 2, {"max_attempts": 1})]
        )

    run = machine(code)
    run.feed(history(STARTED))
    issued = [(command["name"], command["seq"]) for command in run.commands()]
    run.feed(
        history(STARTED, scheduled(1, "a"), scheduled(2, "b"), completed(2, "B"), completed(1, "A"))
    )

    assert issued == [("a", 1), ("b", 2)]
    assert run.commands() == [{"type": "CompleteWorkflow", "result": ["A", "B"]}]


def test_a_parallel_failure_is_raised_when_all_have_ended() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.execute_parallel([("a", 1), ("b", 2)])
        except ActivityError as error:
            return error.activity

    failed = ("ActivityFailed", {"activity_seq": 1, "error": "no", "final_attempt": 3})
    events = history(STARTED, scheduled(1, "a"), scheduled(2, "b"), failed, completed(2, "B"))
    run = machine(code)
    run.feed(events[:4])
    before = run.commands()
    run.feed(events)

    assert before == []
    assert run.commands() == [{"type": "CompleteWorkflow", "result": "a"}]


def test_side_effects_and_upserts_do_not_block() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        number = await ctx.side_effect("number", lambda: 7)
        await ctx.upsert_search_attributes({"number": number})
        ctx.upsert_search_attributes({"not": "awaited"})
        return await ctx.execute_activity("use", number)

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands() == [
        {"type": "RecordSideEffect", "seq": 1, "name": "number", "value": 7},
        {"type": "UpsertSearchAttributes", "seq": 1, "patch": {"number": 7}},
        {"type": "UpsertSearchAttributes", "seq": 2, "patch": {"not": "awaited"}},
        {
            "type": "ScheduleActivity",
            "seq": 1,
            "name": "use",
            "input": 7,
            "task_queue": "own",
        },
    ]


def test_a_child_returns_its_result_or_raises_its_error() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        good = await ctx.start_child_workflow("Child", workflow_id="c-1", input=1)
        try:
            await ctx.start_child_workflow("Child", workflow_id="c-2", task_queue="other")
        except ChildWorkflowError as error:
            return [good, error.message]

    def child_started(name: str) -> tuple[str, Any]:
        return "ChildWorkflowStarted", {"child_workflow_id": name, "workflow_type": "Child"}

    events = history(
        STARTED,
        child_started("c-1"),
        ("ChildWorkflowCompleted", {"child_workflow_id": "c-1", "result": "fine"}),
        child_started("c-2"),
        ("ChildWorkflowFailed", {"child_workflow_id": "c-2", "error": "broken"}),
    )
    run = machine(code)
    run.feed(events[:1])
    first = run.commands()
    run.feed(events[:3])
    second = run.commands()
    run.feed(events)

    base = {"type": "StartChildWorkflow", "workflow_type": "Child"}
    assert first == [{**base, "workflow_id": "c-1", "input": 1, "task_queue": "own"}]
    assert second == [{**base, "workflow_id": "c-2", "input": None, "task_queue": "other"}]
    assert run.commands() == [{"type": "CompleteWorkflow", "result": ["fine", "broken"]}]


def test_a_child_that_is_still_running_is_waited_for_and_not_started_again() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.start_child_workflow("Child", workflow_id="c-1")
        except CancelledError:
            return await ctx.start_child_workflow("Child", workflow_id="c-1")

    started = ("ChildWorkflowStarted", {"child_workflow_id": "c-1", "workflow_type": "Child"})
    events = history(
        STARTED,
        started,
        ("WorkflowCancelRequested", None),
        ("ChildWorkflowCompleted", {"child_workflow_id": "c-1", "result": "fine"}),
    )
    run = machine(code)
    run.feed(events[:3])
    again = run.commands()
    run.feed(events)

    assert again == []
    assert run.commands() == [{"type": "CompleteWorkflow", "result": "fine"}]


def test_a_changed_snapshot_comes_first_and_only_once() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        state = {"stage": "build"}
        ctx.register_query("pipeline_state", lambda: state)
        await ctx.wait_for_signal("a")
        await ctx.wait_for_signal("a")
        state["stage"] = "deploy"
        await ctx.wait_for_signal("a")

    wait = ("WorkflowAwaitingSignal", {"signal": "a"})
    events = history(STARTED, wait, signal("a"), wait, signal("a"))
    run = machine(code)
    batches = []
    for length in (1, 3, 5):
        run.feed(events[:length])
        batches.append([command["type"] for command in run.commands()])

    assert batches == [
        ["RecordSnapshot", "WaitForSignal"],
        ["WaitForSignal"],
        ["RecordSnapshot", "WaitForSignal"],
    ]


def test_a_query_that_raises_changes_nothing() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        ctx.register_query("broken", lambda: 1 / 0)
        ctx.register_query("fine", lambda: 1)
        await ctx.sleep(1)

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands()[0] == {"type": "RecordSnapshot", "state": {"fine": 1}}
