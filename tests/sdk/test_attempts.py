"""Activities: kept alive while they run, told when they are not wanted, tried again from where
they were."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from assay import activity, workflow

from .conftest import Scenario, Stage
from .fake_clock import settle

Play = Callable[[Scenario], None]


def _one_activity(stage: Stage, function: Any, **options: Any) -> None:
    @stage.registry.define("One")
    async def one(ctx: workflow.Context, input: Any) -> Any:
        return await ctx.execute_activity("work", input, **options)

    stage.registry.activity("work")(function)


def test_a_long_activity_keeps_its_lease(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        finish = asyncio.Event()

        async def work(ctx: activity.Context, input: Any) -> Any:
            await finish.wait()
            return ctx.attempt

        _one_activity(stage, work)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            await stage.clock.advance(100)
            finish.set()
            assert await stage.ended(run) == 1

        assert len(stage.engine.reports("heartbeat")) == 10

    play(scenario)


def test_a_heartbeat_time_out_shorter_than_the_lease_sets_the_pace(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        finish = asyncio.Event()

        async def work(ctx: activity.Context, input: Any) -> Any:
            await finish.wait()

        _one_activity(stage, work, heartbeat_timeout_secs=3)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            await stage.clock.advance(10)
            finish.set()
            await stage.ended(run)

        assert len(stage.engine.reports("heartbeat")) == 10

    play(scenario)


def test_beats_of_many_activities_share_their_calls(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        finish = asyncio.Event()

        async def work(ctx: activity.Context, input: Any) -> Any:
            await finish.wait()

        _one_activity(stage, work)
        async with stage.worker(max_concurrent_activities=30):
            runs = []
            for number in range(30):
                runs.append(stage.engine.start("One", f"o-{number}"))
                await stage.clock.advance(0.1)
            before = [each for each in stage.engine.requests if each.get("reports")]
            await stage.clock.advance(30)
            after = [each for each in stage.engine.requests if each.get("reports")]
            finish.set()
            for run in runs:
                await stage.ended(run)

        assert len(stage.engine.reports("heartbeat")) >= 90
        assert len(after) - len(before) <= 8

    play(scenario)


def test_details_are_told_soon_and_reach_the_next_attempt(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        seen: list[Any] = []

        async def work(ctx: activity.Context, input: Any) -> Any:
            seen.append((ctx.attempt, ctx.details))
            ctx.heartbeat({"row": ctx.attempt})
            if ctx.attempt < 3:
                raise RuntimeError("broken off")
            return ctx.details

        _one_activity(stage, work)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            await stage.clock.advance(10)
            assert await stage.ended(run) == {"row": 2}

        assert seen == [(1, None), (2, {"row": 1}), (3, {"row": 2})]

    play(scenario)


def test_details_told_often_are_sent_seldom(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        row = 0
        finish = asyncio.Event()
        context: list[activity.Context] = []

        async def work(ctx: activity.Context, input: Any) -> Any:
            context.append(ctx)
            await finish.wait()

        _one_activity(stage, work)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            await settle()
            for row in range(40):
                context[0].heartbeat(row)
                await stage.clock.advance(0.05)
            await stage.clock.advance(1)
            finish.set()
            await stage.ended(run)

        told = [report["details"] for report in stage.engine.reports("heartbeat")]
        assert told[-1] == row
        assert len(told) <= 6

    play(scenario)


def test_an_attempt_that_tells_nothing_keeps_what_was_told_before(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        async def work(ctx: activity.Context, input: Any) -> Any:
            if ctx.attempt == 1:
                ctx.heartbeat("half")
                raise RuntimeError("broken off")
            if ctx.attempt == 2:
                await slow.wait()
                raise RuntimeError("broken off again")
            return ctx.details

        slow = asyncio.Event()
        _one_activity(stage, work)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            await stage.clock.advance(15)
            slow.set()
            await stage.clock.advance(10)
            assert await stage.ended(run) == "half"

    play(scenario)


def test_an_activity_is_told_that_its_run_was_cancelled(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        context: list[activity.Context] = []
        finish = asyncio.Event()

        @stage.registry.define("Stubborn")
        async def stubborn(ctx: workflow.Context, input: Any) -> Any:
            try:
                await ctx.execute_activity("work")
            except asyncio.CancelledError:
                await ctx.wait_for_signal("end")

        @stage.registry.activity("work")
        async def work(ctx: activity.Context, input: Any) -> Any:
            context.append(ctx)
            await finish.wait()

        async with stage.worker():
            run = stage.engine.start("Stubborn", "s-1")
            await settle()
            before = context[0].is_cancelled
            stage.engine.cancel(run)
            await stage.clock.advance(11)
            assert (before, context[0].is_cancelled) == (False, True)
            finish.set()
            stage.engine.signal(run, "end")
            await stage.ended(run)

    play(scenario)


def test_an_activity_whose_run_has_ended_is_told_too(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        context: list[activity.Context] = []
        finish = asyncio.Event()

        async def work(ctx: activity.Context, input: Any) -> Any:
            context.append(ctx)
            await finish.wait()

        _one_activity(stage, work)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            await settle()
            stage.engine.cancel(run, "not needed")
            await stage.ended(run)
            await stage.clock.advance(11)
            assert context[0].is_cancelled
            finish.set()

        assert run.status == "CANCELLED"

    play(scenario)


def test_blocking_activities_run_side_by_side(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        together = threading.Barrier(4, timeout=10)

        @stage.registry.define("Fan")
        async def fan(ctx: workflow.Context, input: Any) -> Any:
            return await ctx.execute_parallel([("meet", n) for n in range(4)])

        @stage.registry.activity("meet")
        def meet(ctx: activity.Context, input: Any) -> Any:
            together.wait()
            return input

        async with stage.worker(max_concurrent_activities=4):
            run = stage.engine.start("Fan", "f-1")
            assert await stage.ended(run) == [0, 1, 2, 3]

    play(scenario)


def test_an_activity_may_be_any_callable_and_fail_in_any_way(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        def work(ctx: activity.Context, input: Any) -> Any:
            raise SystemExit("bye")

        _one_activity(stage, work, max_attempts=1)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            assert await stage.ended(run) == "activity work failed: SystemExit: bye"

    play(scenario)


def test_a_result_that_is_no_json_is_a_failure_of_the_activity(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        async def work(ctx: activity.Context, input: Any) -> Any:
            return object()

        _one_activity(stage, work, max_attempts=1)
        async with stage.worker():
            run = stage.engine.start("One", "o-1")
            error = await stage.ended(run)

        assert error.startswith("activity work failed: not expressible as JSON")

    play(scenario)
