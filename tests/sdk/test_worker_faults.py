"""What goes wrong between a worker and the engine, and that nothing is lost or done twice."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Any

import pytest

from assay import activity, workflow

from .conftest import Scenario, Stage
from .fake_clock import settle
from .fake_runs import Json
from .faults import Busy, FlakyTransport, Refusing

Play = Callable[[Scenario], None]


def _count_to(stage: Stage, steps: int) -> list[int]:
    done: list[int] = []

    @stage.registry.define("Count")
    async def count(ctx: workflow.Context, input: Any) -> Any:
        return [await ctx.execute_activity("step", n) for n in range(steps)]

    @stage.registry.activity("step")
    async def step(ctx: activity.Context, input: Any) -> Any:
        done.append(input)
        return input

    return done


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_lost_report_or_answer_is_sent_again_with_the_same_id(play: Play, how: str) -> None:
    async def scenario(stage: Stage) -> None:
        done = _count_to(stage, 4)
        transport = FlakyTransport(stage.engine)
        broken: set[str] = set()

        def every_report_once(asked: Json) -> str | None:
            new = {report["id"] for report in asked.get("reports", [])} - broken
            broken.update(new)
            return how if new else None

        transport.breaks = every_report_once
        async with stage.worker(transport):
            run = stage.engine.start("Count", "c-1")
            await stage.clock.advance(20)
            assert await stage.ended(run) == [0, 1, 2, 3]

        assert done == [0, 1, 2, 3]
        assert run.types().count("ActivityScheduled") == 4
        sent = [report["id"] for report in stage.engine.reports()]
        assert len(set(sent)) == 5
        assert len(sent) == (10 if how == "after" else 5)

    play(scenario)


def test_an_engine_that_is_away_is_asked_again_at_growing_intervals(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        _count_to(stage, 1)
        asked_at: list[float] = []
        transport = FlakyTransport(stage.engine)

        def away(asked: Json) -> str | None:
            asked_at.append(stage.clock.now)
            return "before"

        transport.breaks = away
        async with stage.worker(transport):
            await stage.clock.advance(30)
            gaps = [after - before for before, after in itertools.pairwise(asked_at)]
            transport.breaks = lambda asked: None
            run = stage.engine.start("Count", "c-1")
            await stage.clock.advance(6)
            assert await stage.ended(run) == [0]

        assert 0.05 <= gaps[0] <= 0.1
        assert all(2.5 <= gap <= 5.0 for gap in gaps[6:])
        assert 8 <= len(asked_at) <= 18

    play(scenario)


def test_a_busy_engine_is_no_end_of_the_worker(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        _count_to(stage, 2)
        async with stage.worker(Busy(stage.engine, 3)):
            run = stage.engine.start("Count", "c-1")
            await stage.clock.advance(5)
            assert await stage.ended(run) == [0, 1]

    play(scenario)


def test_a_stale_step_gives_way_to_the_worker_that_took_over(play: Play) -> None:
    """The connection is away longer than the lease: somebody else does the activity again."""

    async def scenario(stage: Stage) -> None:
        done = _count_to(stage, 2)
        transport = FlakyTransport(stage.engine)
        async with stage.worker(transport):
            run = stage.engine.start("Count", "c-1")
            transport.breaks = lambda asked: "before" if asked.get("reports") else None
            await stage.clock.advance(31)
            async with stage.worker():
                await stage.clock.advance(31)
                assert await stage.ended(run) == [0, 1]
                transport.breaks = lambda asked: None
                await stage.clock.advance(10)

        assert run.types().count("ActivityCompleted") == 2
        assert done == [0, 1]
        statuses = [each["status"] for answer in stage.engine.answers for each in answer["reports"]]
        assert statuses[:3] == ["accepted"] * 3
        assert set(statuses[3:]) == {"stale"}

    play(scenario)


def test_other_code_leaves_the_run_alone_and_is_told_in_the_log(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Changed")
        async def changed(ctx: workflow.Context, input: Any) -> Any:
            await ctx.execute_activity("new_name")

        run = stage.engine.start("Changed", "c-1")
        run.append("ActivityScheduled", {"activity_seq": 1, "name": "old_name"}, 0.0)
        async with stage.worker():
            await stage.clock.advance(100)

        assert run.types() == ["WorkflowStarted", "ActivityScheduled"]
        # 1, 2, 4 and 8 s, then the lease of 30 s is left to run out: no spinning.
        assert len(stage.engine.reports("release")) == 4
        assert {report["kind"] for report in stage.engine.reports()} == {"release"}

    with caplog.at_level(logging.ERROR, "assay.worker"):
        play(scenario)
    assert (
        "run c-1 (Changed) stays as it is: the code does not repeat its history at event 2"
        in caplog.text
    )


def test_a_run_that_is_no_longer_in_memory_is_handed_back_and_comes_whole(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Chat")
        async def chat(ctx: workflow.Context, input: Any) -> Any:
            await ctx.execute_activity("step")
            return await ctx.wait_for_signal("s")

        @stage.registry.activity("step")
        async def step(ctx: activity.Context, input: Any) -> Any:
            return None

        landed: list[Any] = []

        def refuse_the_fused_step(report: Json) -> None:
            if "then" in report and not landed:
                landed.append(stage.engine.signal(run, "s", "first"))

        stage.engine.before_report = refuse_the_fused_step
        async with stage.worker():
            run = stage.engine.start("Chat", "c-1")
            assert await stage.ended(run) == "first"

    play(scenario)


def test_two_workers_on_one_queue_do_everything_once(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        done = _count_to(stage, 3)
        async with stage.worker(), stage.worker():
            runs = [stage.engine.start("Count", f"c-{number}") for number in range(20)]
            for run in runs:
                assert await stage.ended(run) == [0, 1, 2]

        assert len(done) == 60

    play(scenario)


def test_a_clock_that_is_off_costs_the_fusing_and_nothing_else(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        done = _count_to(stage, 3)
        real_time = stage.clock.time
        stage.clock.time = lambda: real_time() + 60  # type: ignore[method-assign]
        async with stage.worker():
            run = stage.engine.start("Count", "c-1")
            assert await stage.ended(run) == [0, 1, 2]

        assert done == [0, 1, 2]
        codes = [each["code"] for answer in stage.engine.answers for each in answer["reports"]]
        assert codes.count("clock_skew") == 1

    play(scenario)


def test_a_result_that_is_too_large_fails_the_activity_and_nothing_else(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Big")
        async def big(ctx: workflow.Context, input: Any) -> Any:
            await ctx.execute_activity("big")

        @stage.registry.activity("big")
        async def big_activity(ctx: activity.Context, input: Any) -> Any:
            return "x" * 5000

        async with stage.worker(Refusing(stage.engine, 3000)):
            run = stage.engine.start("Big", "b-1")
            error = await stage.ended(run)

        assert error == "activity big failed: the result could not be reported: too large"

    play(scenario)


def test_stopping_lets_a_running_activity_finish(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        finish = asyncio.Event()

        @stage.registry.define("Slow")
        async def slow(ctx: workflow.Context, input: Any) -> Any:
            return await ctx.execute_activity("slow")

        @stage.registry.activity("slow")
        async def slow_activity(ctx: activity.Context, input: Any) -> Any:
            await finish.wait()
            return "finished"

        async with stage.worker() as worker:
            run = stage.engine.start("Slow", "s-1")
            await settle()
            worker.stop()
            await stage.clock.advance(6)
            finish.set()
            assert await stage.ended(run) == "finished"

        assert stage.engine.reports("release") == []

    play(scenario)


def test_stopping_hands_back_what_does_not_finish(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Slow")
        async def slow(ctx: workflow.Context, input: Any) -> Any:
            return await ctx.execute_activity("slow")

        @stage.registry.activity("slow")
        async def slow_activity(ctx: activity.Context, input: Any) -> Any:
            if not done:
                done.append("started")
                await asyncio.Event().wait()
            return "second"

        done: list[str] = []
        async with stage.worker():
            run = stage.engine.start("Slow", "s-1")
            await settle()
        assert [report["seq"] for report in stage.engine.reports("release")] == [1]

        async with stage.worker():
            assert await stage.ended(run) == "second"

    play(scenario)


def test_stopping_hands_back_what_a_last_poll_brings(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        _count_to(stage, 1)
        async with stage.worker() as worker:
            worker.stop()
            await settle()
            run = stage.engine.start("Count", "c-1")
            await settle()

        assert len(stage.engine.reports("release")) == 1
        assert run.lease is None

    play(scenario)
