"""Connections break, signals land anywhere, the cache is tiny: the outcome is the same."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from assay import activity, workflow

from .conftest import Stage
from .fake_runs import Run
from .faults import FlakyTransport

STEPS = 4
RUNS = 3


def _define(stage: Stage) -> None:
    numbers = itertools.count()

    @stage.registry.define("Mixed")
    async def mixed(ctx: workflow.Context, input: Any) -> Any:
        ticket = await ctx.side_effect("ticket", lambda: next(numbers))
        done = [await ctx.execute_activity("echo", n) for n in range(STEPS)]
        both = await ctx.execute_parallel([("echo", "x"), ("echo", "y")])
        heard = [await ctx.wait_for_signal("say") for _ in range(2)]
        late = await ctx.wait_for_signal("say", timeout=1)
        again = await ctx.execute_activity("echo", ticket)
        return {"same": ticket == again, "done": done, "both": both, "heard": heard, "late": late}

    @stage.registry.activity("echo")
    async def echo(ctx: activity.Context, input: Any) -> Any:
        return input


async def _disturbed(seed: int) -> list[Run]:
    chance = random.Random(seed)
    stage = Stage()
    _define(stage)
    transport = FlakyTransport(stage.engine)
    transport.breaks = lambda asked: chance.choice([None, None, None, "before", "after"])
    runs = [stage.engine.start("Mixed", f"m-{number}") for number in range(RUNS)]
    unsaid = [(run, word) for run in runs for word in ("a", "b")]

    def speak_up(_report: Any) -> None:
        if unsaid and chance.random() < 0.3:
            stage.engine.signal(*_next(unsaid[0][0], unsaid))

    stage.engine.before_report = speak_up
    async with stage.worker(transport, max_cached_runs=2):
        for _ in range(400):
            await stage.clock.advance(chance.choice([0.05, 1, 7, 31]))
            if unsaid:
                stage.engine.signal(*_next(unsaid[0][0], unsaid))
            if all(run.closed.is_set() for run in runs):
                break
        transport.breaks = lambda asked: None
    return runs


def _next(run: Run, unsaid: list[tuple[Run, str]]) -> tuple[Run, str, str]:
    word = unsaid.pop(0)[1]
    return run, "say", word


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_disturbed_run_ends_as_an_undisturbed_one(seed: int) -> None:
    for run in asyncio.run(_disturbed(seed)):
        assert run.status == "COMPLETED", run.events[-1]
        assert run.events[-1]["payload"] == {
            "same": True,
            "done": list(range(STEPS)),
            "both": ["x", "y"],
            "heard": ["a", "b"],
            "late": None,
        }
        kinds = run.types()
        assert kinds.count("SideEffectRecorded") == 1
        assert kinds.count("ActivityScheduled") == STEPS + 3
        assert kinds.count("ActivityCompleted") == STEPS + 3
        assert kinds.count("TimerScheduled") == 1
