"""What was done is undone, the last thing first, when a later step fails or the run is stopped."""

from __future__ import annotations

import asyncio
from typing import Any

from assay import workflow
from assay.saga import Saga

from .histories import completed
from .programs_played import named, played, result


def failed(seq: int, text: str = "no") -> tuple[str, Any]:
    return "ActivityFailed", {"activity_seq": seq, "error": text, "final_attempt": 1}


CANCEL = ("WorkflowCancelRequested", {"reason": "enough"})


async def trip(ctx: workflow.Context, input: Any) -> Any:
    async with Saga() as saga:
        hotel = await ctx.execute_activity("hotel")
        saga.compensate(ctx.execute_activity, "no hotel", hotel, max_attempts=9)
        await ctx.execute_activity("flight")
        saga.compensate(ctx.execute_activity, "no flight")
        await ctx.execute_activity("car")
    return "booked"


def test_nothing_is_undone_if_all_goes_well() -> None:
    assert result(trip, completed(1), completed(2), completed(3)) == "booked"


def test_what_was_done_is_undone_backwards_when_a_step_fails() -> None:
    *_, undo, then, end = played(
        trip, completed(1, "room 7"), completed(2), failed(3), completed(4), completed(5)
    )

    assert named(undo) == ["no flight"]
    [command] = then
    assert (command["name"], command["input"], command["max_attempts"]) == ("no hotel", "room 7", 9)
    assert end == [{"type": "FailWorkflow", "error": "activity car failed: no"}]


def test_what_was_not_done_yet_is_not_undone() -> None:
    *_, undo, end = played(trip, completed(1), failed(2), completed(3))

    assert named(undo) == ["no hotel"]
    assert end == [{"type": "FailWorkflow", "error": "activity flight failed: no"}]


def test_a_cancelled_run_undoes_what_it_did_and_ends_as_cancelled() -> None:
    *_, undo, end = played(trip, completed(1), CANCEL, completed(3))

    assert named(undo) == ["no hotel"]
    assert end == [{"type": "CancelWorkflow", "reason": "enough"}]


def test_a_compensation_that_fails_does_not_keep_the_others_from_being_run() -> None:
    failing = failed(4, "it has left")
    *_, then, end = played(trip, completed(1), completed(2), failed(3), failing, completed(5))

    assert named(then) == ["no hotel"]
    [command] = end
    text = "activity car failed: no; activity no flight failed: it has left"
    assert (command["type"], command["error"]) == ("FailWorkflow", text)


def test_all_errors_are_raised_together_where_a_compensation_fails() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await trip(ctx, input)
        except ExceptionGroup as errors:
            return [str(each) for each in errors.exceptions]

    ends = [completed(1), failed(2), failed(3)]
    assert result(code, *ends) == ["activity flight failed: no", "activity no hotel failed: no"]


def test_a_run_that_ends_itself_has_nothing_to_undo() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        async with Saga() as saga:
            saga.compensate(ctx.execute_activity, "undo")
            ctx.continue_as_new({"n": 2})

    assert played(code)[0] == [{"type": "ContinueAsNew", "input": {"n": 2}}]


def test_a_run_that_is_given_up_undoes_nothing() -> None:
    begun: list[str] = []

    async def undo() -> None:
        begun.append("undo")

    async def code(ctx: workflow.Context, input: Any) -> Any:
        async with Saga() as saga:
            saga.compensate(undo)
            await ctx.sleep(10)

    played(code)  # and evicted
    assert begun == []


def test_sagas_inside_each_other_undo_the_inner_one_first() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        undone: list[str] = []

        async def undo(name: str) -> None:
            undone.append(name)

        try:
            async with Saga() as outer:
                outer.compensate(undo, "outer")
                async with Saga() as inner:
                    inner.compensate(undo, "inner 1")
                    inner.compensate(undo, "inner 2")
                    await asyncio.sleep(0)
                    raise ValueError("no")
        except ValueError:
            return undone

    assert result(code) == ["inner 2", "inner 1", "outer"]
