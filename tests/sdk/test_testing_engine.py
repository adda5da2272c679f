"""The environment is held to the real engine: the same workflow leaves the same history on both."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from assay import Client, Worker, activity, testing, workflow
from assay.errors import ActivityError, ApplicationError, ChildWorkflowError, RunCancelledError
from tests.conformance.engine_process import serve

REGISTRY = workflow.Registry()


@REGISTRY.activity("double")
def double(number: int) -> int:
    return number * 2


@REGISTRY.activity("flaky")
async def flaky(ctx: activity.Context) -> int:
    if ctx.attempt == 1:
        raise ConnectionError("no line")
    return ctx.attempt


@REGISTRY.activity("refuse")
def refuse() -> None:
    raise ValueError("not this one")


@REGISTRY.define("Child")
async def child(ctx: workflow.Context, fails: bool) -> str:
    if fails:
        raise ApplicationError("the child gives up")
    return ctx.info.parent_id or "nobody"


@REGISTRY.define("Everything")
async def everything(ctx: workflow.Context, input: Any) -> Any:
    ctx.register_query("input", lambda: input)
    seen: list[Any] = [await ctx.execute_activity(double, 4)]
    seen.append(await ctx.execute_activity(flaky, initial_interval_secs=0.01))
    try:
        await ctx.execute_activity(refuse, max_attempts=1)
    except ActivityError as error:
        seen.append([error.message, error.attempts])
    await ctx.sleep(0.01)
    seen.append(await ctx.side_effect("three", lambda: 3))
    await ctx.upsert_search_attributes({"stage": "children"})
    for fails in (False, True):
        try:
            child_id = f"{ctx.workflow_id}-{fails}"
            seen.append(await ctx.start_child_workflow(child, fails, workflow_id=child_id))
        except ChildWorkflowError as error:
            seen.append(error.message)
    seen.append(await ctx.wait_for_signal("go"))
    return seen


@REGISTRY.define("Cancelled")
async def cancelled(ctx: workflow.Context, input: Any) -> Any:
    try:
        await ctx.wait_for_signal("never")
    except asyncio.CancelledError:
        await ctx.execute_activity(double, 1)
        raise


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serve() as url, Client(url) as client:
        worker = Worker(client, registry=REGISTRY)
        running = threading.Thread(target=lambda: asyncio.run(worker.run_async()))
        running.start()
        try:
            yield client
        finally:
            worker.stop()
            running.join()


def test_the_same_workflow_leaves_the_same_history(client: Client) -> None:
    handle = client.start(everything, {"n": 1}, id="e-1")
    handle.signal("go", "ahead")
    result = handle.result(timeout=60)
    exported = testing.export(client, "e-1")
    with testing.Environment(registry=REGISTRY) as env:
        run = env.start(everything, {"n": 1}, id="e-1")
        run.signal("go", "ahead")

        assert run.result() == result
        assert _without_waiting(run.export()) == _without_waiting(exported)
    assert testing.replay(exported, REGISTRY) == ["e-1"]


def test_a_cancelled_run_leaves_the_same_history(client: Client) -> None:
    handle = client.start(cancelled, None, id="c-1")
    while len(client.get_events("c-1")) < 2:  # each look takes its time
        continue
    handle.cancel("enough")
    with pytest.raises(RunCancelledError):
        handle.result(timeout=60)
    exported = testing.export(client, "c-1")
    with testing.Environment(registry=REGISTRY) as env:
        run = env.start(cancelled, None, id="c-1")
        run.cancel("enough")

        assert _events(run.export()) == _events(exported)
    assert testing.replay(exported, REGISTRY) == ["c-1"]


_OF_ITS_OWN = ("activity_id", "fire_at", "timer_id")


def _events(history: dict[str, Any]) -> list[Any]:
    """Return events without times and ids, which are each engine's own."""
    return [
        (
            event["event_type"],
            {name: value for name, value in event["payload"].items() if name not in _OF_ITS_OWN}
            if isinstance(event["payload"], dict)
            else event["payload"],
        )
        for event in history["events"]
    ]


def _without_waiting(history: dict[str, Any]) -> list[Any]:
    """Return events in the order that does not depend on when the signal came."""
    waiting = ("SignalReceived", "WorkflowAwaitingSignal")
    return [event for event in _events(history) if event[0] not in waiting]
