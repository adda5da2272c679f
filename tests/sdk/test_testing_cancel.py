"""What the test environment does when a run is cancelled, and with what a run leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from assay import testing, workflow
from assay.client import RetryPolicy
from assay.errors import RunCancelledError


@pytest.fixture
def env() -> Iterator[testing.Environment]:
    with testing.Environment(registry=workflow.Registry(), replay_each_step=True) as env:
        yield env


def passed(env: testing.Environment) -> float:
    return (env.now - datetime(2025, 1, 1, tzinfo=UTC)).total_seconds()


def test_cancelling_stops_timers_and_those_still_wanted_begin_again(
    env: testing.Environment,
) -> None:
    async def tidy(ctx: workflow.Context) -> Any:
        heartbeat = asyncio.create_task(asyncio.sleep(100))
        try:
            await ctx.sleep(1000)
        except asyncio.CancelledError:
            await heartbeat
            await ctx.execute_activity("clean_up")
            raise

    env.workflow("Tidy", tidy)
    env.activity("clean_up", lambda: None)
    run = env.start("Tidy", id="t")
    env.advance(40)
    run.cancel()

    with pytest.raises(RunCancelledError):
        run.result()
    assert passed(env) == 100.0
    assert [
        (event.event_type, event.payload["timer_seq"], event.payload.get("duration_secs"))
        for event in run.history
        if event.event_type.startswith("Timer")
    ] == [
        ("TimerScheduled", 1, 1000.0),
        ("TimerScheduled", 2, 100.0),
        ("TimerScheduled", 3, 60.0),
        ("TimerFired", 3, None),
    ]


def test_a_clean_up_that_takes_too_long_is_cut_short_at_the_deadline(
    env: testing.Environment,
) -> None:
    async def stubborn(ctx: workflow.Context) -> Any:
        try:
            await ctx.wait_for_signal("never")
        except asyncio.CancelledError:
            await ctx.sleep("1h")
            raise

    env.workflow("Stubborn", stubborn)
    run = env.start("Stubborn")
    run.cancel("now", deadline="5m")
    cleaning_up = run.status

    with pytest.raises(RunCancelledError):
        run.result()
    assert cleaning_up == "RUNNING"
    assert passed(env) == 300.0


@pytest.mark.parametrize(
    ("end", "status"), [("fail", "FAILED"), ("continue", "CANCELLED"), ("return", "COMPLETED")]
)
def test_a_run_that_was_asked_to_end_is_followed_by_no_other(
    env: testing.Environment, end: str, status: str
) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.wait_for_signal("never")
        except asyncio.CancelledError:
            if end == "fail":
                raise ValueError("no") from None
            if end == "continue":
                ctx.continue_as_new()

    env.workflow("T", code)
    run = env.start("T", retry_policy=RetryPolicy())
    run.cancel()
    env.advance("1d")

    assert [each.status for each in env.runs] == [status]
    assert run.latest.run_id == run.run_id


def test_an_activity_between_two_attempts_is_dropped_when_its_run_is_cancelled(
    env: testing.Environment,
) -> None:
    made: list[int] = []

    async def code(ctx: workflow.Context) -> Any:
        await ctx.execute_activity("flaky", initial_interval_secs=60)

    def flaky() -> None:
        made.append(1)
        raise ValueError

    env.workflow("T", code)
    env.activity("flaky", flaky)
    run = env.start("T")
    run.cancel()
    env.advance("1h")

    assert run.status == "CANCELLED"
    assert made == [1]


def test_what_a_run_leaves_behind_is_still_done(env: testing.Environment) -> None:
    done: list[Any] = []

    async def hasty(ctx: workflow.Context) -> str:
        asyncio.create_task(ctx.execute_activity("audit", 5))  # noqa: RUF006
        await asyncio.sleep(0)
        return "done"

    env.workflow("Hasty", hasty)
    env.activity("audit", done.append)

    assert env.start("Hasty").result() == "done"
    env.advance(1)
    assert done == [5]
