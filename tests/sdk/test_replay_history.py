"""Code against a history: what is taken from it, and what it must agree with."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from assay import errors, workflow
from assay._history import Event
from assay.errors import ActivityError, NonDeterminismError

from .histories import STARTED, completed, history, machine, scheduled, signal


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


def test_an_error_of_a_side_effect_is_recorded_and_raised_again() -> None:
    outcomes = iter([ValueError("not now")])

    def flaky() -> int:
        for error in outcomes:
            raise error
        return 1

    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            return await ctx.side_effect("flaky", flaky)
        except errors.ApplicationError as error:
            return str(error)

    first = machine(code)
    first.feed(history(STARTED))
    recorded, completed = first.commands()
    effect = {"side_effect_seq": 1, "name": "flaky", "value": recorded["value"]}
    second = machine(code)
    second.feed(history(STARTED, ("SideEffectRecorded", effect)))

    assert completed == {"type": "CompleteWorkflow", "result": "ValueError: not now"}
    assert second.commands() == [completed]


def test_time_belongs_to_the_event_and_never_goes_back() -> None:
    times = []

    async def code(ctx: workflow.Context, input: Any) -> Any:
        for _ in range(3):
            times.append(ctx.time())
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

    first, expected, got, where, *_ = str(caught.value).splitlines()
    assert first == "the code does not repeat its history at event 2"
    assert expected == "  expected: ActivityScheduled(activity_seq=1, name='charge')"
    assert got == "  got:      ScheduleActivity(seq=1, name='charge_v2'), on event 1"
    assert where.endswith(", in code")
    assert "test_replay_history.py:" in where


def test_a_history_that_goes_on_where_the_code_has_ended_is_a_mismatch() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return None

    run = machine(code)
    with pytest.raises(NonDeterminismError, match="got:      CompleteWorkflow"):
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
