"""The deterministic core by itself: events in, commands out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from assay import workflow
from assay._history import Event
from assay._replay import Machine
from assay.errors import ActivityError, Cancelled, ChildWorkflowError, NonDeterminismError

Code = Callable[[workflow.Context, Any], Coroutine[Any, Any, Any]]
INFO = workflow.RunInfo(
    workflow_id="w-1", workflow_type="T", namespace="main", task_queue="own", parent_id=None
)


def machine(code: Code) -> Machine:
    registry = workflow.Registry()
    registry.define("T")(code)
    return Machine(registry.body(INFO))


def history(*events: tuple[str, Any]) -> list[Event]:
    return [Event(seq, kind, payload, 100.0 + seq) for seq, (kind, payload) in enumerate(events, 1)]


def scheduled(seq: int, name: str) -> tuple[str, Any]:
    return "ActivityScheduled", {"activity_seq": seq, "name": name}


def completed(seq: int, result: Any = None) -> tuple[str, Any]:
    return "ActivityCompleted", {"activity_seq": seq, "result": result}


def signal(name: str, payload: Any = None) -> tuple[str, Any]:
    return "SignalReceived", {"signal": name, "payload": payload}


STARTED = ("WorkflowStarted", {"n": 1})


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
        return [await ctx.execute_activity("charge"), ctx.now()]

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

    wait = ("WorkflowAwaitingSignal", {"signal": "a", "timer_seq": 1})
    timer = ("TimerScheduled", {"timer_seq": 1})
    fired = ("TimerFired", {"timer_seq": 1})
    signal_first = machine(code)
    signal_first.feed(history(STARTED, timer, wait, signal("a", "yes"), fired))
    timer_first = machine(code)
    timer_first.feed(history(STARTED, timer, wait, fired, signal("a", "yes")))

    assert [command["name"] for command in signal_first.commands()] == ["signalled"]
    assert [command["name"] for command in timer_first.commands()] == ["timed_out"]


def test_signals_that_came_early_are_kept_in_their_order() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("slow")
        return [await ctx.wait_for_signal("s"), await ctx.wait_for_signal("s")]

    run = machine(code)
    run.feed(history(STARTED, signal("s", 1), scheduled(1, "slow"), signal("s", 2), completed(1)))

    assert run.commands() == [{"type": "CompleteWorkflow", "result": [1, 2]}]


def test_a_timed_wait_schedules_its_timer_first() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal("go", timeout=2.5)

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands() == [
        {"type": "ScheduleTimer", "seq": 1, "duration_secs": 2.5},
        {"type": "WaitForSignal", "name": "go", "timer_seq": 1},
    ]


def test_a_second_wait_for_the_same_signal_is_not_announced_again() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal("go", timeout=1)
        await ctx.wait_for_signal("go")

    run = machine(code)
    timer = ("TimerScheduled", {"timer_seq": 1})
    wait = ("WorkflowAwaitingSignal", {"signal": "go"})
    run.feed(history(STARTED, timer, wait, ("TimerFired", {"timer_seq": 1})))

    assert run.commands() == []


def test_a_wait_that_is_recorded_after_its_signal_is_open_again() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal("go")
        await ctx.wait_for_signal("go")

    run = machine(code)
    run.feed(history(STARTED, signal("go")))

    assert run.commands() == [{"type": "WaitForSignal", "name": "go"}]


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


@pytest.mark.parametrize("value", [42, None, False])
def test_a_recorded_side_effect_is_not_run_again(value: Any) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        kept = await ctx.side_effect("number", lambda: pytest.fail("ran in replay"))
        return [kept]

    recorded = ("SideEffectRecorded", {"side_effect_seq": 1, "name": "number", "value": value})
    run = machine(code)
    run.feed(history(STARTED, recorded))

    assert run.commands() == [{"type": "CompleteWorkflow", "result": [value]}]


def test_values_look_live_as_they_will_look_in_replay() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        pair = await ctx.side_effect("pair", lambda: (1, {2: "two"}))
        return [type(pair).__name__, pair]

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands()[-1] == {
        "type": "CompleteWorkflow",
        "result": ["list", [1, {"2": "two"}]],
    }


def test_what_the_workflow_changes_later_is_sent_as_it_was() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        value = await ctx.side_effect("list", lambda: [1])
        value.append(2)
        patch = {"n": 1}
        ctx.upsert_search_attributes(patch)
        patch["n"] = 2
        await ctx.sleep(1)

    run = machine(code)
    run.feed(history(STARTED))
    recorded, upserted, _ = run.commands()

    assert recorded["value"] == [1]
    assert upserted["patch"] == {"n": 1}


def test_cancellation_is_raised_at_the_current_wait() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.wait_for_signal("never")
        except Cancelled as cancelled:
            await ctx.execute_activity("clean_up", cancelled.reason)
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
        except Cancelled:
            await ctx.sleep(1)

    timer = ("TimerScheduled", {"timer_seq": 1})
    cancel = ("WorkflowCancelRequested", None)
    run = machine(code)
    run.feed(history(STARTED, timer, cancel, cancel))

    assert run.commands() == [{"type": "ScheduleTimer", "seq": 2, "duration_secs": 1}]


def test_a_signal_does_not_go_to_a_wait_that_was_cancelled() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.wait_for_signal("s")
        except Cancelled:
            return await ctx.wait_for_signal("s")

    wait = ("WorkflowAwaitingSignal", {"signal": "s"})
    cancel = ("WorkflowCancelRequested", None)
    run = machine(code)
    run.feed(history(STARTED, wait, cancel, signal("s", "late")))

    assert run.commands() == [{"type": "CompleteWorkflow", "result": "late"}]


def test_an_exception_fails_the_workflow_with_its_text() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        raise ValueError("bad order")

    run = machine(code)
    run.feed(history(STARTED))

    assert run.commands() == [{"type": "FailWorkflow", "error": "ValueError: bad order"}]


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


def test_awaiting_something_foreign_says_what_to_await_instead() -> None:
    class Foreign:
        def __await__(self) -> Any:
            yield "what an event loop would understand"

    async def code(ctx: workflow.Context, input: Any) -> Any:
        await Foreign()

    run = machine(code)
    run.feed(history(STARTED))

    [command] = run.commands()
    assert command["type"] == "FailWorkflow"
    assert "await ctx.execute_activity" in command["error"]


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


def test_a_child_returns_its_result_or_raises_its_error() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        good = await ctx.start_child_workflow("Child", workflow_id="c-1", input=1)
        try:
            await ctx.start_child_workflow("Child", workflow_id="c-2", task_queue="other")
        except ChildWorkflowError as error:
            return [good, error.error]

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


def test_time_belongs_to_the_event_and_never_goes_back() -> None:
    times = []

    async def code(ctx: workflow.Context, input: Any) -> Any:
        for _ in range(3):
            times.append(ctx.now())
            await ctx.wait_for_signal("s")

    run = machine(code)
    run.deliver(Event(1, "WorkflowStarted", None, 10.0))
    run.deliver(Event(2, "WorkflowAwaitingSignal", {"signal": "s"}, 99.0))
    run.deliver(Event(3, "SignalReceived", {"signal": "s"}, 20.0))
    run.deliver(Event(4, "SignalReceived", {"signal": "s"}, 15.0))

    assert times == [10.0, 20.0, 20.0]


def test_other_code_than_that_of_the_history_is_told_with_both_sides() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("charge_v2")

    run = machine(code)
    with pytest.raises(NonDeterminismError) as caught:
        run.feed(history(STARTED, scheduled(1, "charge")))

    assert "event 2 of the history is ActivityScheduled(activity_seq=1, name='charge')" in str(
        caught.value
    )
    assert "the code issued ScheduleActivity(seq=1, name='charge_v2'), on event 1" in str(
        caught.value
    )


def test_a_history_that_goes_on_where_the_code_has_ended_is_a_mismatch() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return None

    run = machine(code)
    with pytest.raises(NonDeterminismError, match="issued CompleteWorkflow"):
        run.feed(history(STARTED, scheduled(1, "charge")))


def test_events_that_landed_before_the_commands_do_not_disturb_the_check() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("a")
        await ctx.wait_for_signal("s")
        return "done"

    run = machine(code)
    run.feed(history(STARTED, signal("s"), scheduled(1, "a"), completed(1)))

    assert run.commands() == [{"type": "CompleteWorkflow", "result": "done"}]


def test_feeding_twice_delivers_once() -> None:
    seen: list[Any] = []

    async def code(ctx: workflow.Context, input: Any) -> Any:
        while True:
            seen.append(await ctx.wait_for_signal("s"))

    run = machine(code)
    events = history(STARTED, signal("s", 1), signal("s", 2))
    run.feed(events[:2])
    run.feed(events)
    run.feed(events)

    assert (seen, run.delivered) == ([1, 2], 3)


def test_a_retried_activity_takes_the_place_of_its_failure() -> None:
    values = itertools.count()

    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            got = await ctx.execute_activity("deploy")
        except ActivityError:
            await ctx.side_effect("ticket", lambda: next(values))
            await ctx.execute_activity("roll_back")
            raise
        mark = await ctx.side_effect("ticket", lambda: next(values))
        return [got, mark]

    run = machine(code)
    run.feed(
        history(
            STARTED,
            scheduled(1, "deploy"),
            ("ActivityFailed", {"activity_seq": 1, "error": "no", "final_attempt": 3}),
            ("SideEffectRecorded", {"side_effect_seq": 1, "name": "ticket", "value": "first"}),
            scheduled(2, "roll_back"),
            completed(2),
            ("WorkflowFailed", {"error": "no"}),
            ("ActivityRetryRequested", {"activity_seq": 1, "failed_event_seq": 3}),
            completed(1, "deployed"),
        )
    )

    assert run.commands() == [{"type": "CompleteWorkflow", "result": ["deployed", "first"]}]


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
