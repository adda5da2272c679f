"""Runs of the test environment among themselves: children, continuations, further attempts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from assay import testing, workflow
from assay.client import RetryPolicy
from assay.errors import (
    ApplicationError,
    ChildWorkflowError,
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
        ctx.spawn_child_workflow("Child", workflow_id="c", **options)
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
        if count < 3:
            ctx.continue_as_new(count + 1)
        return [count, ctx.workflow_id]

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
        (
            {
                "execution_timeout": 65,
                "run_timeout": 60,
                "retry_policy": RetryPolicy(initial_interval=10),
            },
            "timed out: run_timeout of 60 s",
            1,
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
