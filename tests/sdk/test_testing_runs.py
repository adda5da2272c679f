"""Runs of the test environment among themselves: children, calls, chains, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from assay import testing, workflow
from assay.client import RetryPolicy
from assay.errors import (
    ApplicationError,
    CallError,
    ChildWorkflowError,
    RequestRejectedError,
    ResultTimeoutError,
    RunCancelledError,
    RunEndedError,
    RunFailedError,
)


@pytest.fixture
def env() -> Iterator[testing.Environment]:
    with testing.Environment(registry=workflow.Registry(), replay_each_step=True) as env:
        yield env


def kinds(run: testing.Run[Any]) -> list[str]:
    return [event.event_type for event in run.history]


def passed(env: testing.Environment) -> float:
    return (env.now - datetime(2025, 1, 1, tzinfo=UTC)).total_seconds()


async def sleeper(ctx: workflow.Context, secs: Any) -> Any:
    await ctx.sleep(secs or "1d")
    return secs


# -- children --------------------------------------------------------------------------------------


def test_children_are_run_as_workflows_of_their_own(env: testing.Environment) -> None:
    async def parent(ctx: workflow.Context) -> Any:
        children = [
            ctx.spawn_child_workflow("Child", secs, workflow_id=f"c-{secs}") for secs in (9, 4)
        ]
        return [await child.result() for child in children]

    env.workflow("Parent", parent)
    env.workflow("Child", sleeper)
    run = env.start("Parent", id="p")

    assert run.result() == [9, 4]
    assert [child.workflow_id for child in run.children] == ["c-9", "c-4"]
    assert kinds(run)[1:] == [
        "ChildWorkflowStarted",
        "ChildWorkflowStarted",
        "ChildWorkflowCompleted",
        "ChildWorkflowCompleted",
        "WorkflowCompleted",
    ]
    assert run.history[3].payload == {"child_workflow_id": "c-4", "result": 4}
    assert kinds(run.children[0]) == [
        "WorkflowStarted",
        "TimerScheduled",
        "TimerFired",
        "WorkflowCompleted",
    ]


def test_a_function_in_a_childs_place_is_called_once(env: testing.Environment) -> None:
    seen: list[Any] = []

    async def parent(ctx: workflow.Context) -> Any:
        parcel = await ctx.start_child_workflow("Shipping", {"to": "ada"})
        try:
            await ctx.start_child_workflow("Billing", 5)
        except ChildWorkflowError as error:
            return [parcel, error.kind, error.message]

    def ship(input: Any) -> Any:
        seen.append(input)
        return {"parcel": 7}

    def bill() -> None:
        raise ApplicationError("no such customer", kind="NOT_FOUND")

    env.workflow("Parent", parent)
    env.workflow("Shipping", ship)
    env.workflow("Billing", bill)

    assert env.start("Parent").result() == [{"parcel": 7}, "NOT_FOUND", "no such customer"]
    assert seen == [{"to": "ada"}]


def test_an_id_that_is_in_use_fails_the_child(env: testing.Environment) -> None:
    async def parent(ctx: workflow.Context) -> Any:
        await ctx.start_child_workflow("Child", workflow_id="taken")

    env.workflow("Parent", parent)
    env.workflow("Child", sleeper)
    env.start("Child", 5, id="taken")

    with pytest.raises(RunFailedError, match="a run with the id taken exists already"):
        env.start("Parent").result()


@pytest.mark.parametrize(
    ("policy", "ends", "status"),
    [
        (None, "by itself", "RUNNING"),
        (None, "terminated", "CANCELLED"),
        ("terminate", "by itself", "FAILED"),
        ("request_cancel", "by itself", "CANCELLED"),
        ("abandon", "terminated", "RUNNING"),
        ("abandon", "cancelled", "RUNNING"),
        (None, "cancelled", "CANCELLED"),
    ],
)
def test_what_becomes_of_a_child_when_its_parent_ends(
    env: testing.Environment, policy: Any, ends: str, status: str
) -> None:
    async def parent(ctx: workflow.Context) -> Any:
        options = {} if policy is None else {"parent_close_policy": policy}
        ctx.spawn_child_workflow("Child", workflow_id="c", **options)  # type: ignore[arg-type]
        await ctx.wait_for_signal("end")

    env.workflow("Parent", parent)
    env.workflow("Child", sleeper)
    run = env.start("Parent")
    end = {"by itself": lambda: run.signal("end"), "terminated": run.terminate}
    end.get(ends, run.cancel)()

    assert env.get("c").status == status


def test_context_goes_to_activities_and_children(env: testing.Environment) -> None:
    async def parent(ctx: workflow.Context, input: Any) -> Any:
        mine = await ctx.execute_activity("look")
        inherited = await ctx.start_child_workflow("Child")
        return [mine, inherited, await ctx.start_child_workflow("Child", context={"user": "bob"})]

    async def child(ctx: workflow.Context) -> Any:
        return [ctx.context["user"], ctx.info.parent_id]

    env.workflow("Parent", parent)
    env.workflow("Child", child)
    env.activity("look", lambda ctx: ctx.context["user"])

    run = env.start("Parent", id="p", context={"user": "ada"})
    assert run.result() == ["ada", ["ada", "p"], ["bob", "p"]]


# -- chains ----------------------------------------------------------------------------------------


def test_a_continuation_is_followed_and_inherits(env: testing.Environment) -> None:
    async def counter(ctx: workflow.Context, count: int) -> Any:
        await ctx.attrs(search={f"at-{count}": True}, memo={"count": count})
        await ctx.sleep(1)
        if count == 3:
            return [count, ctx.workflow_id]
        ctx.continue_as_new(count + 1)

    env.workflow("Counter", counter)
    run = env.start("Counter", 1, id="c", memo={"owner": "ada"})

    assert run.result() == [3, "c-continued-1735689602"]
    assert [each.workflow_id for each in env.runs] == [
        "c",
        "c-continued-1735689601",
        "c-continued-1735689602",
    ]
    assert run.latest.search_attributes == {"at-1": True, "at-2": True, "at-3": True}
    assert run.latest.memo == {"owner": "ada", "count": 3}
    assert run.history[-1].payload is None


def test_a_parent_hears_of_the_end_of_a_childs_chain(env: testing.Environment) -> None:
    async def parent(ctx: workflow.Context) -> Any:
        return await ctx.start_child_workflow("Counter", 1, workflow_id="c")

    async def counter(ctx: workflow.Context, count: int) -> Any:
        if count < 3:
            ctx.continue_as_new(count + 1)
        return ctx.info.parent_id

    env.workflow("Parent", parent)
    env.workflow("Counter", counter)
    run = env.start("Parent", id="p")

    assert run.result() == "p"
    assert run.history[-2].payload == {"child_workflow_id": "c", "result": "p"}


def test_a_run_is_tried_again_by_its_retry_policy(env: testing.Environment) -> None:
    async def flaky(ctx: workflow.Context, enough: int) -> int:
        if ctx.info.attempt < enough:
            raise ValueError("not yet")
        return ctx.info.attempt

    env.workflow("Flaky", flaky)
    policy = RetryPolicy(maximum_attempts=3, initial_interval="10s", backoff_coefficient=3)
    run = env.start("Flaky", 3, id="f", retry_policy=policy)

    assert run.result() == 3
    assert passed(env) == 10.0 + 30.0
    assert [(each.status, each.attempt) for each in env.runs] == [
        ("FAILED", 1),
        ("FAILED", 2),
        ("COMPLETED", 3),
    ]
    with pytest.raises(RunFailedError, match="not yet"):
        env.start("Flaky", 4, id="g", retry_policy=policy).result()


def test_a_kind_that_is_listed_is_not_tried_again(env: testing.Environment) -> None:
    async def invalid(ctx: workflow.Context) -> None:
        raise ApplicationError("no", kind="INVALID")

    env.workflow("Invalid", invalid)
    run = env.start("Invalid", retry_policy=RetryPolicy(non_retryable_kinds=["INVALID"]))

    with pytest.raises(RunFailedError):
        run.result()
    assert len(env.runs) == 1


@pytest.mark.parametrize(
    ("options", "error", "attempts"),
    [
        ({"run_timeout": "60s"}, "timed out: run_timeout of 60 s", 1),
        ({"execution_timeout": 90}, "timed out: execution_timeout of 90 s", 1),
        (
            {"run_timeout": 60, "retry_policy": RetryPolicy(maximum_attempts=2)},
            "timed out: run_timeout of 60 s",
            2,
        ),
        (
            {"execution_timeout": 90, "run_timeout": 60, "retry_policy": RetryPolicy()},
            "timed out: execution_timeout of 90 s",
            2,
        ),
    ],
)
def test_a_run_whose_time_is_over(
    env: testing.Environment, options: Any, error: str, attempts: int
) -> None:
    env.workflow("Sleeper", sleeper)
    run = env.start("Sleeper", id="s", **options)

    with pytest.raises(RunFailedError, match=f"run s ended as TIMED_OUT: {error}"):
        run.result()
    assert len(env.runs) == attempts
    assert run.history[-1].event_type == "WorkflowFailed"


def test_a_run_with_a_start_delay_begins_later_and_finds_its_signals(
    env: testing.Environment,
) -> None:
    async def late(ctx: workflow.Context) -> Any:
        return [await ctx.wait_for_signal("s"), ctx.time() - ctx.info.started_at]

    env.workflow("Late", late)
    run = env.start("Late", start_delay="1h", id="late")
    run.signal("s", "early")
    off = env.start("Late", start_delay="1h", id="off")
    off.cancel()

    assert run.status == "PENDING"
    assert kinds(off) == ["WorkflowStarted", "WorkflowCancelRequested", "WorkflowCancelled"]
    assert run.result()[0] == "early"
    assert passed(env) == 3600.0


# -- cancelling ------------------------------------------------------------------------------------


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


# -- calls -----------------------------------------------------------------------------------------


def test_a_run_signals_cancels_and_terminates_others(env: testing.Environment) -> None:
    async def caller(ctx: workflow.Context) -> Any:
        await ctx.signal("a", "go", 1)
        await ctx.cancel_workflow("b", "enough")
        await ctx.terminate_workflow("c", "at once")
        errors = []
        for target in ("b", "nobody"):
            try:
                await ctx.signal(target, "go")
            except CallError as error:
                errors.append(error.kind)
        return errors

    async def waiter(ctx: workflow.Context) -> Any:
        message = await ctx.messages("go").receive()
        return [message.payload, message.sender]

    env.workflow("Caller", caller)
    env.workflow("Waiter", waiter)
    a, b, c = (env.start("Waiter", id=name) for name in "abc")
    run = env.start("Caller", id="caller")

    assert run.result() == ["CLOSED", "NOT_FOUND"]
    assert a.result() == [1, "caller"]
    assert [b.status, c.status] == ["CANCELLED", "FAILED"]
    assert c.history[-1].payload == {"error": "at once"}
    assert run.history[1].payload == {
        "call_seq": 1,
        "call": "signal",
        "workflow_id": "a",
        "name": "go",
        "payload": 1,
    }


async def teller(ctx: workflow.Context) -> Any:
    async for message in ctx.messages("ask"):
        if message.payload == "end":
            return None
        if message.payload == "later":
            await ctx.sleep("1h")
        if message.payload == "bad":
            message.reject("not that", kind="BAD")
        else:
            message.reply(f"{message.payload}!")


def test_a_test_and_a_run_can_ask_a_run(env: testing.Environment) -> None:
    async def asker(ctx: workflow.Context, question: str) -> Any:
        return await ctx.request("t", "ask", question)

    env.workflow("Teller", teller)
    env.workflow("Asker", asker)
    run = env.start("Teller", id="t")

    assert run.request("ask", "hello") == "hello!"
    assert env.start("Asker", "run").result() == "run!"
    with pytest.raises(RequestRejectedError, match="not that"):
        run.request("ask", "bad")
    with pytest.raises(RunFailedError, match="t rejects the request: not that"):
        env.start("Asker", "bad").result()
    with pytest.raises(ResultTimeoutError):
        run.request("ask", "later", timeout="10m")
    assert passed(env) == 600.0
    assert run.request("ask", "later") == "later!"
    with pytest.raises(testing.NeverEndsError, match="never replies to unheard"):
        run.request("unheard")
    with pytest.raises(RunEndedError):
        run.request("ask", "end")


def test_a_monitor_and_a_link_are_told_of_an_end(env: testing.Environment) -> None:
    async def watcher(ctx: workflow.Context) -> Any:
        await ctx.monitor("a")
        await ctx.unmonitor("a")
        await ctx.monitor("b")
        ctx.trap_links = True
        await ctx.link("c")
        exits = [await ctx.exits.receive() for _ in range(2)]
        return [[each.workflow_id, each.status, each.result, each.linked] for each in exits]

    env.workflow("Sleeper", sleeper)
    env.workflow("Watcher", watcher)
    for name, secs in (("a", 1), ("b", 2)):
        env.start("Sleeper", secs, id=name)
    c = env.start("Sleeper", id="c")
    run = env.start("Watcher")
    env.advance(5)
    c.terminate("gone")

    assert run.result() == [["b", "COMPLETED", 2, False], ["c", "FAILED", None, True]]


def test_a_link_takes_the_other_run_with_it(env: testing.Environment) -> None:
    async def linked(ctx: workflow.Context) -> Any:
        await ctx.link("other")
        await ctx.sleep("1d")

    env.workflow("Sleeper", sleeper)
    env.workflow("Linked", linked)
    other = env.start("Sleeper", "2d", id="other")
    run = env.start("Linked", id="linked")
    run.terminate("gone")

    with pytest.raises(RunFailedError, match="linked run linked is down: gone"):
        other.result()
    exited = [event.payload for event in other.history if event.event_type == "WorkflowExited"]
    assert [(each["call_seq"], each["link"]) for each in exited] == [(None, True)]
