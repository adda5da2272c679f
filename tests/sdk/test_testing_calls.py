"""Runs of the test environment that call others: signals, requests, monitors and links."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from assay import testing, workflow
from assay.errors import (
    CallError,
    RequestRejectedError,
    ResultTimeoutError,
    RunEndedError,
    RunFailedError,
)


@pytest.fixture
def env() -> Iterator[testing.Environment]:
    with testing.Environment(registry=workflow.Registry(), replay_each_step=True) as env:
        yield env


async def sleeper(ctx: workflow.Context, secs: Any) -> Any:
    await ctx.sleep(secs or "1d")
    return secs


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
    assert env.now == datetime(2025, 1, 1, 0, 10, tzinfo=UTC)
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
