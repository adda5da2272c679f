"""Channels and the choice between them: nothing is lost, nobody is forgotten, closing ends it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay import workflow
from assay.channel import Channel, ChannelClosedError, select

from .histories import Code, completed, signal
from .programs_played import fired, named, played, result


def in_workflow(code: Code) -> Any:
    """Return the result of a workflow that needs nothing but its start."""
    return result(code)


def test_values_come_out_in_the_order_in_which_they_went_in() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel = Channel[int]()
        for number in range(3):
            await channel.send(number)
        return [len(channel), *[await channel.receive() for _ in range(3)], len(channel)]

    assert in_workflow(code) == [3, 0, 1, 2, 0]


def test_receivers_are_served_in_the_order_in_which_they_came() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel, got = Channel[str](), list[list[Any]]()

        async def take(name: int) -> None:
            got.append([name, await channel.receive()])

        async with asyncio.TaskGroup() as group:
            for name in range(3):
                group.create_task(take(name))
            await asyncio.sleep(0)
            for value in "abc":
                channel.put(value)
        return got

    assert in_workflow(code) == [[0, "a"], [1, "b"], [2, "c"]]


def test_a_full_channel_makes_senders_wait_for_room() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel, log = Channel[int](2), list[str]()

        async def produce() -> None:
            for number in range(4):
                await channel.send(number)
                log.append(f"sent {number}")

        sending = asyncio.create_task(produce())
        await asyncio.sleep(0)
        log.append(f"full: {len(channel)}")
        for _ in range(4):
            log.append(f"got {await channel.receive()}")
            await asyncio.sleep(0)
        await sending
        return log

    first, second, full, *rest = in_workflow(code)
    assert [first, second, full] == ["sent 0", "sent 1", "full: 2"]
    assert [each for each in rest if "got" in each] == ["got 0", "got 1", "got 2", "got 3"]
    assert [each for each in rest if "sent" in each] == ["sent 2", "sent 3"]


def test_closing_lets_receivers_take_what_is_there_and_then_end() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel = Channel[int]()
        channel.put(1)
        channel.put(2)
        channel.close()
        got = [each async for each in channel]
        with pytest.raises(ChannelClosedError):
            await channel.receive()
        with pytest.raises(ChannelClosedError):
            await channel.send(3)
        with pytest.raises(ChannelClosedError):
            channel.put(3)
        return [got, channel.closed, channel.ready]

    assert in_workflow(code) == [[1, 2], True, True]


def test_closing_wakes_everybody_who_waits() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        empty, full = Channel[int](), Channel[int](1)
        full.put(1)
        waiting = [
            *(asyncio.create_task(empty.receive()) for _ in range(2)),
            *(asyncio.create_task(full.send(2)) for _ in range(2)),
        ]
        await asyncio.sleep(0)
        empty.close()
        full.close()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        return [type(each).__name__ for each in ended]

    assert in_workflow(code) == ["ChannelClosedError"] * 4


def test_a_receiver_cancelled_between_waking_and_taking_loses_nothing() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel = Channel[str]()
        first, second = (asyncio.create_task(channel.receive()) for _ in range(2))
        await asyncio.sleep(0)
        channel.put("value")  # wakes the first,
        first.cancel()  # which does not get that far
        return [await second, first.cancelled(), len(channel)]

    assert in_workflow(code) == ["value", True, 0]


def test_a_sender_cancelled_between_waking_and_sending_leaves_its_room_to_the_next() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel = Channel[str](1)
        channel.put("old")
        first, second = (asyncio.create_task(channel.send(name)) for name in ("1st", "2nd"))
        await asyncio.sleep(0)
        old = await channel.receive()
        first.cancel()
        await second
        return [old, await channel.receive(), first.cancelled()]

    assert in_workflow(code) == ["old", "2nd", True]


def test_select_takes_from_one_channel_only_and_the_order_given_decides() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        low, high = Channel[str](), Channel[str]()
        low.put("low")
        high.put("high")
        chosen, value = await select(high, low)
        return [chosen is high, value, len(low), len(high)]

    assert in_workflow(code) == [True, "high", 1, 0]


def test_what_comes_in_while_a_selector_wakes_stays_for_others() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        one, other = Channel[str](), Channel[str]()
        selector = asyncio.create_task(select(one, other))
        late = asyncio.create_task(asyncio.sleep(0))
        await late
        other.put("for somebody else")
        one.put("chosen")
        receiver = asyncio.create_task(other.receive())
        chosen, value = await selector
        return [value, chosen is one, await receiver]

    assert in_workflow(code) == ["chosen", True, "for somebody else"]


def test_a_selector_cancelled_between_waking_and_taking_loses_nothing() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        one, other = Channel[str](), Channel[str]()
        selector = asyncio.create_task(select(one, other))
        await asyncio.sleep(0)
        receivers = [asyncio.create_task(each.receive()) for each in (one, other)]
        await asyncio.sleep(0)
        one.put("first")
        selector.cancel()
        other.put("second")
        return await asyncio.gather(*receivers)

    assert in_workflow(code) == ["first", "second"]


def test_a_selector_that_takes_elsewhere_leaves_its_wake_up_to_the_next() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        first, second = Channel[str](), Channel[str]()
        selector = asyncio.create_task(select(first, second))
        await asyncio.sleep(0)
        receiver = asyncio.create_task(second.receive())
        await asyncio.sleep(0)
        second.put("for the receiver")  # wakes the selector,
        first.put("chosen")  # which then finds something better
        _, value = await selector
        async with asyncio.timeout(5):
            return [value, await receiver]

    assert in_workflow(code) == ["chosen", "for the receiver"]


def test_select_passes_over_closed_channels_until_all_are() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        closed, alive = Channel[str](), Channel[str]()
        closed.put("rest")
        closed.close()
        got = [(await select(closed, alive))[1]]
        alive.put("later")
        got.append((await select(closed, alive))[1])
        waiting = asyncio.create_task(select(closed, alive))
        await asyncio.sleep(0)
        alive.close()
        with pytest.raises(ChannelClosedError):
            await waiting
        return got

    assert in_workflow(code) == ["rest", "later"]


def test_select_gives_up_when_its_time_is_over() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel = Channel[int]()
        chosen, value = await ctx.select(channel, timeout="1m")
        return [chosen, value]

    assert named(played(code)[0]) == ["ScheduleTimer"]
    assert result(code, fired(1)) == [None, None]


def test_a_select_without_time_only_looks() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        channel = Channel[int]()
        nothing = await select(channel, timeout=0)
        channel.put(1)
        something = await select(channel, timeout=0)
        return [nothing[1], something[1]]

    assert in_workflow(code) == [None, 1]


def test_a_pool_of_tasks_shares_the_work() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        jobs, done = Channel[int](1), list[list[int]]()

        async def work(name: int) -> None:
            async for job in jobs:
                await ctx.execute_activity("job", job)
                done.append([name, job])

        async with asyncio.TaskGroup() as group:
            for name in range(2):
                group.create_task(work(name))
            for job in range(4):
                await jobs.send(job)
            jobs.close()
        return done

    ends = [completed(2), completed(1), completed(3), completed(4)]
    assert result(code, *ends) == [[1, 1], [0, 0], [1, 2], [0, 3]]


def test_signals_and_channels_of_the_workflow_can_be_chosen_between() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        own, orders = Channel[str](), ctx.channel("order", int)
        got = []
        asyncio.get_running_loop().call_later(10, own.put, "tick")
        for _ in range(2):
            channel, value = await ctx.select(own, orders, timeout=60)
            got.append([channel is own, value])
        return got

    assert result(code, signal("order", 7), fired(1)) == [[False, 7], [True, "tick"]]
