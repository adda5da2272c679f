"""The worker against an engine that speaks the protocol: what it sends, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from assay import activity, workflow
from assay.errors import ActivityError, NonRetryableError

from .conftest import Scenario, Stage, charge_and_ship
from .fake_clock import settle

Play = Callable[[Scenario], None]


def test_sequential_activities_are_fused_one_report_each(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        charge_and_ship(stage)
        async with stage.worker():
            run = stage.engine.start("Order", "o-1", 5)
            assert await stage.ended(run) == [{"paid": 5}, False]

        assert [(report["kind"], "then" in report) for report in stage.engine.reports()] == [
            ("commands", False),
            ("completed", True),
            ("completed", True),
        ]
        assert run.types() == [
            "WorkflowStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled",
            "ActivityCompleted",
            "WorkflowCompleted",
        ]

    play(scenario)


def test_a_cached_run_is_shipped_only_what_is_new(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Chat")
        async def chat(ctx: workflow.Context, input: Any) -> Any:
            return [await ctx.wait_for_signal("say") for _ in range(2)]

        async with stage.worker():
            run = stage.engine.start("Chat", "c-1")
            await settle()
            stage.engine.signal(run, "say", "a")
            await settle()
            stage.engine.signal(run, "say", "b")
            assert await stage.ended(run) == ["a", "b"]

        tasks = [task for answer in stage.engine.answers for task in answer["workflow_tasks"]]
        shipped = [(task["after"], [event["seq"] for event in task["history"]]) for task in tasks]
        assert shipped == [(0, [1]), (2, [3]), (4, [5])]

    play(scenario)


def test_a_full_cache_forgets_and_replays_from_history(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        starts: list[str] = []

        @stage.registry.define("Chat")
        async def chat(ctx: workflow.Context, input: Any) -> Any:
            starts.append(ctx.workflow_id)
            return await ctx.wait_for_signal("say")

        async with stage.worker(max_cached_runs=1):
            runs = [stage.engine.start("Chat", f"c-{number}") for number in range(3)]
            await settle()
            for run in runs:
                stage.engine.signal(run, "say", run.ref["id"])
                assert await stage.ended(run) == run.ref["id"]

        assert len(starts) == 5

    play(scenario)


def test_many_runs_share_their_calls(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        charge_and_ship(stage)
        stage.registry.activities["ship"] = stage.registry.activities["charge"]
        async with stage.worker(max_concurrent_activities=50):
            runs = [stage.engine.start("Order", f"o-{number}") for number in range(50)]
            for run in runs:
                await stage.ended(run)

        assert len(stage.engine.reports()) == 150
        assert len(stage.engine.requests) <= 20

    play(scenario)


def test_timers_wake_the_workflow_when_they_are_due(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Nap")
        async def nap(ctx: workflow.Context, input: Any) -> Any:
            before = ctx.time()
            await ctx.sleep(3600)
            return ctx.time() - before

        async with stage.worker():
            run = stage.engine.start("Nap", "n-1")
            await stage.clock.advance(3600)
            assert await stage.ended(run) == 3600

    play(scenario)


def test_the_hint_spaces_the_polls_and_an_own_timer_brings_one_forward(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Nap")
        async def nap(ctx: workflow.Context, input: Any) -> Any:
            await ctx.sleep(7)

        stage.engine.hint = 50.0
        async with stage.worker(wait_secs=0):
            await stage.clock.advance(49)
            idle_polls = len(stage.engine.polls())
            run = stage.engine.start("Nap", "n-1")
            await stage.clock.advance(1)
            taken = stage.engine.polls()
            await stage.clock.advance(7.1)
            assert run.closed.is_set()

        assert (idle_polls, len(taken)) == (1, 2)
        assert len(stage.engine.polls()) == 3

    play(scenario)


def test_a_failure_is_tried_again_and_then_raised_in_the_workflow(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        attempts: list[int] = []

        @stage.registry.define("Try")
        async def try_it(ctx: workflow.Context, input: Any) -> Any:
            try:
                await ctx.execute_activity("flaky", max_attempts=3)
            except ActivityError as error:
                return [error.message, error.attempts]

        @stage.registry.activity("flaky")
        async def flaky(ctx: activity.Context, input: Any) -> Any:
            attempts.append(ctx.attempt)
            raise ValueError("no luck")

        async with stage.worker():
            run = stage.engine.start("Try", "t-1")
            await stage.clock.advance(10)
            assert await stage.ended(run) == ["ValueError: no luck", 3]

        assert attempts == [1, 2, 3]

    play(scenario)


def test_a_failure_that_says_so_is_final_at_once_and_fused(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Try")
        async def try_it(ctx: workflow.Context, input: Any) -> Any:
            await ctx.execute_activity("declined")

        @stage.registry.activity("declined")
        def declined(ctx: activity.Context, input: Any) -> Any:
            raise NonRetryableError("card declined")

        async with stage.worker():
            run = stage.engine.start("Try", "t-1")
            assert await stage.ended(run) == "activity declined failed: card declined"

        [report] = stage.engine.reports("failed")
        assert (report["retryable"], report["then"]["version"]) == (False, 2)

    play(scenario)


def test_what_the_workflow_does_to_a_result_is_not_what_is_reported(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Change")
        async def change(ctx: workflow.Context, input: Any) -> Any:
            got = await ctx.execute_activity("fetch")
            got.append("changed")
            return got

        @stage.registry.activity("fetch")
        async def fetch(ctx: activity.Context, input: Any) -> Any:
            return ["fetched"]

        async with stage.worker():
            run = stage.engine.start("Change", "c-1")
            assert await stage.ended(run) == ["fetched", "changed"]

        [report] = stage.engine.reports("completed")
        assert report["result"] == ["fetched"]

    play(scenario)


def test_the_state_of_the_queries_is_recorded_with_the_step(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Staged")
        async def staged(ctx: workflow.Context, input: Any) -> Any:
            stage_name = ["build"]
            ctx.register_query("stage", lambda: stage_name[0])
            ctx.upsert_search_attributes({"env": "prod"})
            await ctx.wait_for_signal("go")
            stage_name[0] = "done"

        async with stage.worker():
            run = stage.engine.start("Staged", "s-1")
            await settle()
            before = run.snapshot
            stage.engine.signal(run, "go")
            await stage.ended(run)

        assert (before, run.snapshot) == ({"stage": "build"}, {"stage": "done"})
        assert run.attributes == {"env": "prod"}

    play(scenario)


def test_a_worker_full_of_activities_still_takes_workflow_tasks(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        release = asyncio.Event()

        @stage.registry.define("Slow")
        async def slow(ctx: workflow.Context, input: Any) -> Any:
            await ctx.execute_activity("slow")

        @stage.registry.define("Quick")
        async def quick(ctx: workflow.Context, input: Any) -> Any:
            return "quick"

        @stage.registry.activity("slow")
        async def slow_activity(ctx: activity.Context, input: Any) -> Any:
            await release.wait()

        async with stage.worker(max_concurrent_activities=1):
            slow_run = stage.engine.start("Slow", "s-1")
            await stage.clock.advance(6)
            assert stage.engine.polls()[-1]["room"] == {"workflows": 50, "activities": 0}
            quick_run = stage.engine.start("Quick", "q-1")
            assert await stage.ended(quick_run) == "quick"
            release.set()
            await stage.ended(slow_run)

    play(scenario)


def test_long_histories_are_fetched_page_by_page(play: Play) -> None:
    async def scenario(stage: Stage) -> None:
        @stage.registry.define("Count")
        async def count(ctx: workflow.Context, input: Any) -> Any:
            return [await ctx.wait_for_signal("n") for _ in range(1200)][-1]

        stage.engine.page_size = 100
        run = stage.engine.start("Count", "c-1")
        for number in range(1200):
            stage.engine.signal(run, "n", number)
        async with stage.worker():
            assert await stage.ended(run) == 1199

        assert sum(len(request.get("pages", [])) for request in stage.engine.requests) == 12

    play(scenario)
