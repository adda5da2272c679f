"""The workflows whose recorded runs stand beside this file, as their code is today.

Change them as a user would change code of which runs are open: `test_histories` says whether the
recorded runs could still go on.
"""

from __future__ import annotations

import asyncio
from typing import Any

from assay import workflow
from assay.errors import ActivityError, ChildWorkflowError

REGISTRY = workflow.Registry()


@REGISTRY.define("Order")
async def order(ctx: workflow.Context, input: Any) -> Any:
    """Activities, one after the other; one that fails is made good for."""
    ctx.register_query("input", lambda: input)
    paid = await ctx.execute_activity("charge", input, max_attempts=2)
    try:
        return await ctx.execute_activity("ship", paid)
    except ActivityError as error:
        await ctx.execute_activity("refund", {"paid": paid, "because": error.kind})
        raise


@REGISTRY.define("Fan")
async def fan(ctx: workflow.Context, count: int) -> Any:
    """Activities at the same time, at most two of them."""
    results = await ctx.execute_parallel(
        [("square", number) for number in range(count)], limit=2, tolerated_failures=1
    )
    return [None if isinstance(result, ActivityError) else result for result in results]


@REGISTRY.define("Reminder")
async def reminder(ctx: workflow.Context, input: Any) -> Any:
    """A timer, then a signal that comes or does not come in time."""
    await ctx.sleep("7d")
    for count in range(3):
        answer = await ctx.wait_for_signal("answer", timeout="1d")
        if answer is not None:
            return {"answer": answer, "reminders": count}
        await ctx.execute_activity("remind", count)
    return {"answer": None, "reminders": 3}


@REGISTRY.define("Family")
async def family(ctx: workflow.Context, input: Any) -> Any:
    """A child whose id is drawn, one that is named, and one that fails."""
    drawn = await ctx.start_child_workflow("Fan", 2)
    named = ctx.spawn_child_workflow("Reminder", None, workflow_id=f"{ctx.workflow_id}-reminder")
    try:
        await ctx.start_child_workflow("Order", {"total": 0}, workflow_id=f"{ctx.workflow_id}-bad")
    except ChildWorkflowError as error:
        failed = error.kind
    return {"drawn": drawn, "named": await named.result(), "failed": failed}


@REGISTRY.define("Chance")
async def chance(ctx: workflow.Context, input: Any) -> Any:
    """Everything that comes out differently each time, and yet the same in a replay."""
    token = await ctx.side_effect("token", object().__hash__)
    drawn = [ctx.random.randrange(1000), str(ctx.uuid4()), ctx.now().isoformat()]
    key = ctx.random_bytes(4).hex()
    await ctx.upsert_search_attributes({"token": str(token)})
    await ctx.execute_activity("use", {"drawn": drawn, "key": key})
    return await ctx.wait_for_signal(f"code-{drawn[0]}", timeout=1)


@REGISTRY.define("Payment")
async def payment(ctx: workflow.Context, input: Any) -> Any:
    """Changed since the run `payment-before` was recorded: the old way is kept for it."""
    if ctx.version("fraud-check", 1, 2) == 2:
        await ctx.execute_activity("check_fraud", input)
    paid = await ctx.execute_activity("charge", input)
    await ctx.sleep(60)
    if ctx.version("receipt", 1, 2) == 2:
        await ctx.execute_activity("send_receipt", paid)
    return paid


@REGISTRY.define("Lease")
async def lease(ctx: workflow.Context, input: Any) -> Any:
    """Cancelled while it waits; it cleans up, with a timer that outlives the cancellation."""
    flat = await ctx.execute_activity("rent", input)
    beat = asyncio.create_task(asyncio.sleep(86_400))
    try:
        await ctx.wait_for_signal("leave")
    except asyncio.CancelledError:
        await ctx.sleep(5)
        await ctx.execute_activity("give_back", {"flat": flat, "reason": ctx.cancel_reason})
        beat.cancel()
        raise


@REGISTRY.define("Counter")
async def counter(ctx: workflow.Context, count: int) -> int:
    """Continues as new twice."""
    count += await ctx.wait_for_signal("add")
    if count < 10:
        ctx.continue_as_new(count)
    return count


@REGISTRY.define("Desk")
async def desk(ctx: workflow.Context, input: Any) -> Any:
    """Channels, and a choice between them; two workers share the jobs."""
    orders, stop = ctx.channel("order"), ctx.channel("stop")
    jobs: workflow.Channel[Any] = workflow.Channel(1)
    done: list[Any] = []

    async def work() -> None:
        async for job in jobs:
            dish = await ctx.execute_activity("cook", job)
            done.append(dish)

    workers = [asyncio.create_task(work()) for _ in range(2)]
    while True:
        channel, value = await ctx.select(orders, stop, timeout="1h")
        if channel is not orders:
            break
        await jobs.send(value)
    jobs.close()
    await asyncio.gather(*workers)
    return {"done": done, "stopped": channel is stop}


@REGISTRY.define("Together")
async def together(ctx: workflow.Context, input: Any) -> Any:
    """What asyncio has: a task group, a gather, a time-out, a first to end."""
    async with asyncio.TaskGroup() as group:
        left = group.create_task(ctx.execute_activity("left"))
        right = group.create_task(ctx.execute_activity("right"))
    naps = await asyncio.gather(nap(ctx, 3), nap(ctx, 1), nap(ctx, 2))
    try:
        async with asyncio.timeout(5):
            await ctx.wait_for_signal("never")
    except TimeoutError:
        naps.append(0)
    tasks = [asyncio.create_task(nap(ctx, secs)) for secs in (30, 10, 20)]
    first, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    return [left.result(), right.result(), naps, [task.result() for task in first]]


async def nap(ctx: workflow.Context, secs: int) -> int:
    await ctx.sleep(secs)
    return secs


@REGISTRY.define("Boss")
async def boss(ctx: workflow.Context, input: Any) -> Any:
    """Calls to another run: a request, a signal, a watch."""
    helper = ctx.spawn_child_workflow("Helper", workflow_id=f"{ctx.workflow_id}-helper")
    await ctx.monitor(helper.workflow_id)
    answer = await ctx.request(helper.workflow_id, "ask", 20, timeout="1m")
    await helper.signal("go_home")
    exited = await ctx.exits.receive()
    return {"answer": answer, "helper": exited.status}


@REGISTRY.define("Helper")
async def helper(ctx: workflow.Context) -> str:
    questions, home = ctx.messages("ask"), ctx.messages("go_home")
    while True:
        channel, message = await ctx.select(questions, home)
        if channel is home:
            return message.sender or "nobody"
        message.reply(message.payload + 1)
