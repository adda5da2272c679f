"""The test environment: what it does with time, activities, signals and a run's end."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from assay import activity, testing, workflow
from assay.errors import (
    ActivityError,
    ApplicationError,
    ConflictError,
    ForbiddenCallError,
    NonRetryableError,
    NotFoundError,
    RunCancelledError,
    RunFailedError,
    UsageError,
)

REGISTRY = workflow.Registry()


@REGISTRY.activity("charge")
def charge(total: int) -> str:
    return f"{total} for real"


@REGISTRY.define("Order")
async def order(ctx: workflow.Context, input: dict[str, int]) -> dict[str, str]:
    steps = [{"name": "approve", "status": "open"}]
    ctx.register_query("pipeline_state", lambda: {"steps": steps})
    approval = await ctx.wait_for_signal("approve", timeout="7d")
    steps[0]["status"] = "done" if approval else "over"
    return {"payment": await ctx.execute_activity(charge, input["total"])}


@pytest.fixture
def env() -> Any:
    with testing.Environment(registry=REGISTRY, replay_each_step=True) as env:
        yield env


def kinds(run: testing.Run[Any]) -> list[str]:
    return [event.event_type for event in run.history]


def test_a_run_from_its_start_to_its_end(env: testing.Environment) -> None:
    env.activity("charge", lambda ctx, total: f"{total} paid")
    run = env.start(order, {"total": 5}, id="o-1")
    open_state = run.state("pipeline_state")
    run.signal("approve", {"by": "ada"})

    assert open_state == {"steps": [{"name": "approve", "status": "open"}]}
    assert run.result() == {"payment": "5 paid"}
    assert run.query("pipeline_state")["steps"][0]["status"] == "done"
    assert kinds(run) == [
        "WorkflowStarted",
        "WorkflowAwaitingSignal",
        "TimerScheduled",
        "SignalReceived",
        "TimerCancelled",
        "ActivityScheduled",
        "ActivityCompleted",
        "WorkflowCompleted",
    ]


def test_activities_are_run_for_real_unless_something_is_in_their_place(
    env: testing.Environment,
) -> None:
    for_real = env.start(order, {"total": 5}).result()
    env.activity(charge, lambda: "free")

    assert for_real == {"payment": "5 for real"}
    assert env.start(order, {"total": 5}).result() == {"payment": "free"}
    assert REGISTRY.activities["charge"].function is charge


def test_time_is_skipped_and_passes_when_told(env: testing.Environment) -> None:
    run = env.start(order, {"total": 5})
    env.advance("6d")
    early = run.status
    env.advance("1d")

    assert early == "RUNNING"
    assert run.status == "COMPLETED"
    assert env.now == datetime(2025, 1, 8, tzinfo=UTC)
    assert [event.timestamp - run.history[0].timestamp for event in run.history[-1:]] == [604_800.0]


def test_a_called_off_time_out_does_not_move_the_clock(env: testing.Environment) -> None:
    run = env.start(order, {"total": 5})
    run.signal("approve", True)
    run.result()

    assert env.now == datetime(2025, 1, 1, tzinfo=UTC)


def test_timers_fire_in_the_order_in_which_they_are_due(env: testing.Environment) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        woken: list[int] = []

        async def nap(secs: int) -> None:
            await ctx.sleep(secs)
            woken.append(secs)

        await asyncio.gather(*(nap(secs) for secs in (30, 10, 20)))
        return woken

    env.workflow("T", code)
    assert env.start("T").result() == [10, 20, 30]


def test_a_run_that_nobody_signals_says_where_it_waits(env: testing.Environment) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal("approve")

    env.workflow("T", code)
    run = env.start("T", id="t")
    with pytest.raises(testing.NeverEndsError) as raised:
        run.result()

    told = str(raised.value)
    assert told.startswith("run t never ends, nothing more will happen by itself\n")
    assert "  t (T) waits at " in told
    assert 'in code: await ctx.wait_for_signal("approve")' in told


def test_a_run_that_goes_on_for_ever_is_stopped(
    env: testing.Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        while True:
            await ctx.sleep("1d")

    monkeypatch.setattr("assay._testing.driving._MOST_STEPS", 50)
    env.workflow("T", code)
    with pytest.raises(testing.NeverEndsError, match=r"50 steps later") as raised:
        env.start("T").result()
    assert 'in code: await ctx.sleep("1d")' in str(raised.value)


def test_async_activities_and_a_test_with_a_loop() -> None:
    async def test() -> Any:
        loop = asyncio.get_running_loop()
        replied: asyncio.Future[str] = loop.create_future()

        async def ask(ctx: activity.Context, total: int) -> str:
            loop.call_soon_threadsafe(replied.set_result, f"{total} on the test's loop")
            return await asyncio.wait_for(_on(loop, replied), 5)

        with testing.Environment(registry=REGISTRY) as env:
            env.activity("charge", ask)
            return await env.start(order, {"total": 5}).result_async()

    assert asyncio.run(test()) == {"payment": "5 on the test's loop"}


async def _on(loop: asyncio.AbstractEventLoop, future: asyncio.Future[str]) -> str:
    async def wait() -> str:
        return await future

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(wait(), loop))


def test_the_blocking_calls_work_in_a_test_with_a_loop_too() -> None:
    async def pay(total: int) -> str:
        await asyncio.sleep(0)
        return activity.current().workflow_id

    async def test() -> Any:
        with testing.Environment(registry=REGISTRY) as env:
            env.activity("charge", pay)
            return env.start(order, {"total": 5}, id="o-1").result()

    assert asyncio.run(test()) == {"payment": "o-1"}


def test_an_activity_may_signal_a_run_but_not_wait_for_one(env: testing.Environment) -> None:
    async def approve_other(total: int) -> str:
        env.get("other").signal("approve", total)
        with pytest.raises(UsageError, match="an activity cannot wait"):
            env.get("other").result()
        return "asked"

    other = env.start(order, {"total": 1}, id="other")
    env.activity("charge", lambda: "other")
    env.activity("charge", approve_other)
    run = env.start(order, {"total": 5}, messages=[("approve", 1)])

    assert run.status == "COMPLETED"
    assert "SignalReceived" in kinds(other)


def test_failures_are_what_they_are_live(env: testing.Environment) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        try:
            await ctx.execute_activity("charge")
        except ActivityError as error:
            return [error.kind, error.message, error.details, error.retryable, error.attempts]

    def refuse() -> None:
        raise ApplicationError("no money", kind="DECLINED", retryable=False, details={"left": 0})

    env.workflow("T", code)
    env.activity("charge", refuse)
    run = env.start("T")

    assert run.result() == ["DECLINED", "no money", {"left": 0}, False, 1]


@pytest.mark.parametrize(
    ("error", "attempts", "secs"),
    [(ValueError("x"), [1, 2, 3, 4], 3.0 + 6.0 + 12.0), (NonRetryableError("x"), [1], 0.0)],
)
def test_an_activity_is_retried_in_skipped_time(
    env: testing.Environment, error: Exception, attempts: list[int], secs: float
) -> None:
    made: list[int] = []

    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("charge", max_attempts=4, initial_interval_secs=3)

    def fail(ctx: activity.Context) -> None:
        made.append(ctx.attempt)
        raise error

    env.workflow("T", code)
    env.activity("charge", fail)
    run = env.start("T")
    with pytest.raises(RunFailedError, match=r"activity charge failed: .*x"):
        run.result()
    passed = (env.now - datetime(2025, 1, 1, tzinfo=UTC)).total_seconds()

    assert made == attempts
    assert passed == secs


def test_an_attempt_that_takes_too_long_times_out_and_is_tried_again(
    env: testing.Environment,
) -> None:
    begun: list[float] = []

    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("slow", max_attempts=2, start_to_close_secs="10m")

    env.workflow("T", code)
    env.activity("slow", lambda: begun.append(env.now.timestamp()), takes="11m")
    with pytest.raises(RunFailedError, match="start-to-close time-out after 600 s"):
        env.start("T").result()

    assert [moment - begun[0] for moment in begun] == [0.0, 600.0]


def test_a_worker_that_dies_is_noticed_by_its_silence_and_the_details_go_on(
    env: testing.Environment,
) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return await ctx.execute_activity("import", heartbeat_timeout_secs=12)

    def import_rows(ctx: activity.Context) -> Any:
        if ctx.attempt == 1:
            ctx.heartbeat({"row": 7})
            raise testing.WorkerDiedError
        return [ctx.details, env.now.timestamp() - 1735689600]

    env.workflow("T", code)
    env.activity("import", import_rows)
    assert env.start("T").result() == [{"row": 7}, 12.0]


def test_what_has_no_code_is_said_with_what_to_do(env: testing.Environment) -> None:
    async def code(ctx: workflow.Context, name: str) -> Any:
        if name == "child":
            await ctx.start_child_workflow("Unknown")
        await ctx.execute_activity("unknown")

    env.workflow("T", code)

    with pytest.raises(UsageError, match=r"no activity 'unknown': .*env.activity\('unknown'"):
        env.start("T", "activity")
    with pytest.raises(UsageError, match=r"no workflow 'Unknown': .*env.workflow\('Unknown'"):
        env.start("T", "child")
    with pytest.raises(UsageError, match="no workflow 'Nobody'"):
        env.start("Nobody")


def test_what_a_workflow_must_not_do_reaches_the_test(env: testing.Environment) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return datetime.now(UTC).isoformat()  # noqa: TID251

    env.workflow("T", code)
    with pytest.raises(ForbiddenCallError, match=r"use ctx.now\(\)"):
        env.start("T")


def test_a_failed_and_a_cancelled_run_raise_as_live(env: testing.Environment) -> None:
    env.activity("charge", lambda: 1 / 0)
    failing = env.start(order, {"total": 5}, id="bad")
    with pytest.raises(RunFailedError, match="run bad ended as FAILED: activity charge failed"):
        failing.result()
    cancelled = env.start(order, {"total": 5}, id="off")
    cancelled.cancel("not wanted")
    with pytest.raises(RunCancelledError, match="run off was cancelled"):
        cancelled.result()

    assert [event.payload for event in cancelled.history[-2:]] == [{"reason": "not wanted"}] * 2


def test_an_id_that_is_taken_is_a_conflict_unless_its_policies_say_otherwise(
    env: testing.Environment,
) -> None:
    first = env.start(order, {"total": 1}, id="o")
    with pytest.raises(ConflictError, match="workflow o exists already"):
        env.start(order, {"total": 2}, id="o")
    same = env.start(
        order,
        {"total": 3},
        id="o",
        id_conflict_policy="use_existing",
        messages=[("approve", True)],
    )
    again = env.start(order, {"total": 4}, id="o", id_reuse_policy="allow_duplicate")

    assert same.run_id == first.run_id
    assert first.result() == {"payment": "1 for real"}
    assert again.result() == {"payment": "4 for real"}
    assert again.run_id != first.run_id
    with pytest.raises(ConflictError):
        env.start(order, {"total": 5}, id="o", id_reuse_policy="allow_duplicate_failed_only")


def test_a_query_and_a_run_that_there_are_not(env: testing.Environment) -> None:
    with pytest.raises(NotFoundError, match="no run nobody"):
        env.get("nobody")
    with pytest.raises(NotFoundError, match="no query 'progress'"):
        env.start(order, {"total": 5}).state("progress")


def test_results_have_the_type_that_the_workflow_declares(env: testing.Environment) -> None:
    async def typed(ctx: workflow.Context) -> set[int]:
        return await ctx.side_effect("three", lambda: {3})

    REGISTRY.workflows.pop("Typed", None)
    REGISTRY.define("Typed")(typed)

    assert env.start(typed).result() == {3}


def test_a_workflow_may_change_what_it_is_given(env: testing.Environment) -> None:
    async def code(ctx: workflow.Context, input: dict[str, int]) -> Any:
        input["total"] += 1
        found = await ctx.execute_activity("charge", 1)
        found.append(input["total"])
        return found

    env.workflow("T", code)
    env.activity("charge", lambda: [1])
    run = env.start("T", {"total": 5})

    assert run.result() == [1, 6]
    assert run.history[0].payload == {"total": 5}
