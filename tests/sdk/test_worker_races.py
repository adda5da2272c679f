"""What lands while a worker thinks or works: nothing is lost, and the order is the true one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay import activity, workflow

from .conftest import Scenario, Stage, charge_and_ship

Play = Callable[[Scenario], None]


def test_queued_activities_are_reported_alone_and_the_run_comes_back(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        charge_and_ship(stage)
        stage.engine.eager = False
        async with stage.worker():
            run = stage.engine.start("Order", "o-1", 5)
            await stage.ended(run)

        assert [(report["kind"], "then" in report) for report in stage.engine.reports()] == [
            ("commands", False),
            ("completed", False),
            ("commands", False),
            ("completed", False),
            ("commands", False),
        ]

    play(scenario)


def test_parallel_outcomes_of_one_run_are_reported_one_after_the_other(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Fan")
        async def fan(ctx: workflow.Context, input: Any) -> Any:
            return await ctx.execute_parallel([("double", n) for n in range(10)])

        @stage.registry.activity("double")
        async def double(ctx: activity.Context, input: Any) -> Any:
            return input * 2

        async with stage.worker():
            run = stage.engine.start("Fan", "f-1")
            assert await stage.ended(run) == [n * 2 for n in range(10)]

        statuses = [each["status"] for answer in stage.engine.answers for each in answer["reports"]]
        assert statuses == ["accepted"] * 11

    play(scenario)


def test_queued_outcomes_do_not_throw_away_what_is_in_memory(play: Play) -> None:
    """With one place, one activity comes eagerly and the others from the queue, in turn."""

    async def scenario(stage: Stage) -> None:
        starts: list[int] = []

        @stage.registry.define("Mix")
        async def mix(ctx: workflow.Context, input: Any) -> Any:
            starts.append(1)
            first = await ctx.execute_parallel([("echo", n) for n in range(3)])
            return [*first, await ctx.execute_activity("echo", 3)]

        @stage.registry.activity("echo")
        async def echo(ctx: activity.Context, input: Any) -> Any:
            return input

        async with stage.worker(max_concurrent_activities=1):
            run = stage.engine.start("Mix", "m-1")
            await stage.clock.advance(10)
            assert await stage.ended(run) == [0, 1, 2, 3]

        assert len(starts) == 1
        statuses = [each["status"] for answer in stage.engine.answers for each in answer["reports"]]
        assert set(statuses) == {"accepted"}

    play(scenario)


def test_a_signal_that_lands_first_refuses_the_fused_step(play: Play) -> None:
    """The outcome is kept, the workflow starts again from history, in the true order."""

    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Race")
        async def race(ctx: workflow.Context, input: Any) -> Any:
            await ctx.execute_activity("work")
            early = await ctx.wait_for_signal("stop", timeout=0.5)
            return await ctx.execute_activity("report", early)

        @stage.registry.activity("work")
        async def work(ctx: activity.Context, input: Any) -> Any:
            return None

        @stage.registry.activity("report")
        async def report(ctx: activity.Context, input: Any) -> Any:
            return input

        def land_a_signal(report: Any) -> None:
            if report["kind"] == "completed" and "SignalReceived" not in run.types():
                stage.engine.signal(run, "stop", "now")

        async with stage.worker():
            stage.engine.before_report = land_a_signal
            run = stage.engine.start("Race", "r-1")
            assert await stage.ended(run) == "now"

        refused = [
            each["code"]
            for answer in stage.engine.answers
            for each in answer["reports"]
            if each["status"] == "refused"
        ]
        assert refused == ["history_moved"]
        assert run.types()[2:4] == ["SignalReceived", "ActivityCompleted"]
        assert run.types().count("TimerScheduled") == 0

    play(scenario)


def test_a_signal_during_a_task_is_seen_by_the_next_one(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Late")
        async def late(ctx: workflow.Context, input: Any) -> Any:
            await ctx.execute_activity("work")
            return await ctx.wait_for_signal("s")

        @stage.registry.activity("work")
        async def work(ctx: activity.Context, input: Any) -> Any:
            return None

        def land_a_signal(report: Any) -> None:
            if report["kind"] == "commands" and "SignalReceived" not in run.types():
                stage.engine.signal(run, "s", "landed")

        async with stage.worker():
            stage.engine.before_report = land_a_signal
            run = stage.engine.start("Late", "l-1")
            assert await stage.ended(run) == "landed"

        assert run.types() == [
            "WorkflowStarted",
            "SignalReceived",
            "ActivityScheduled",
            "ActivityCompleted",
            "WorkflowCompleted",
        ]

    play(scenario)


def test_closing_without_having_seen_everything_is_thought_over(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Quick")
        async def quick(ctx: workflow.Context, input: Any) -> Any:
            return ctx.history_length

        landed: list[Any] = []

        def land_a_signal(report: Any) -> None:
            if not landed:
                landed.append(stage.engine.signal(run, "s"))

        async with stage.worker():
            stage.engine.before_report = land_a_signal
            run = stage.engine.start("Quick", "q-1")
            await stage.ended(run)

        assert [each["code"] for answer in stage.engine.answers for each in answer["reports"]] == [
            "unseen_events",
            None,
        ]

    play(scenario)
