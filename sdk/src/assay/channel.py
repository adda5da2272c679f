"""Channels between the tasks of a workflow, and the choice between several of them.

A value stays in its channel until a receiver takes it, so nothing is lost when a task is
cancelled between being woken and going on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

from assay.errors import AssayError

__all__ = ["Channel", "ChannelClosedError", "select"]

T = TypeVar("T")


class ChannelClosedError(AssayError):
    """The channel is closed, and everything that was in it has been taken."""


class Channel(Generic[T]):
    """A queue that can be closed; with a `size`, sending waits while it is full::

    jobs = Channel[int](10)

    async def work() -> None:
        async for job in jobs:
            await ctx.execute_activity("resize", job)
    """

    def __init__(self, size: int = 0) -> None:
        self._size = size
        self._values: deque[T] = deque()
        self._receivers: deque[asyncio.Future[None]] = deque()
        self._senders: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._values)

    @property
    def closed(self) -> bool:
        """Whether nothing more can be sent."""
        return self._closed

    @property
    def ready(self) -> bool:
        """Whether `receive` would return, or raise, at once."""
        return bool(self._values) or self._closed

    async def send(self, value: T) -> None:
        """Put a value in; wait while there is no room."""
        while not self._closed and self._size and len(self._values) >= self._size:
            await _woken_by(self._senders)
        self.put(value)

    def put(self, value: T) -> None:
        """Put a value in, whatever the size."""
        if self._closed:
            raise ChannelClosedError("nothing can be sent into a closed channel")
        self._values.append(value)
        wake(self._receivers)

    async def receive(self) -> T:
        """Take the next value; raise `ChannelClosedError` when there will be none."""
        while not self.ready:
            await _woken_by(self._receivers)
        return self.take()

    def take(self) -> T:
        """Take the next value, which must be there."""
        if not self._values:
            raise ChannelClosedError("the channel is closed")
        value = self._values.popleft()
        wake(self._senders)
        if self.ready:
            wake(self._receivers)
        return value

    def close(self) -> None:
        """Let receivers end when they have taken what is there."""
        self._closed = True
        for waiting in (*self._receivers, *self._senders):
            if not waiting.done():
                waiting.set_result(None)

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                value = await self.receive()
            except ChannelClosedError:
                return
            yield value


async def select(
    *channels: Channel[Any], timeout: float | None = None
) -> tuple[Channel[Any] | None, Any]:
    """Take from the first channel that has something; the order given decides between several.

    Return that channel and the value; `(None, None)` when the time is over. A closed channel
    counts as long as it holds values; when all are closed and empty, that is raised::

        channel, value = await select(jobs, done, timeout=30)
    """
    try:
        async with asyncio.timeout(timeout):
            return await _first(channels)
    except TimeoutError:
        return None, None


async def _first(channels: tuple[Channel[Any], ...]) -> tuple[Channel[Any], Any]:
    while True:
        filled = [channel for channel in channels if len(channel)]
        if filled:
            for other in filled[1:]:  # it may be that one that has woken us, instead of others
                wake(other._receivers)
            return filled[0], filled[0].take()
        if all(channel.closed for channel in channels):
            raise ChannelClosedError("all of the channels are closed")
        queues = [channel._receivers for channel in channels if not channel.closed]
        await _woken_by(*queues)


async def _woken_by(*queues: deque[asyncio.Future[None]]) -> None:
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    for queue in queues:
        queue.append(waiting)
    try:
        await waiting
    except asyncio.CancelledError:
        if waiting.done() and not waiting.cancelled():
            for queue in queues:  # woken, but not going on: somebody else may
                wake(queue)
        raise
    finally:
        for queue in queues:
            if waiting in queue:
                queue.remove(waiting)


def wake(queue: deque[asyncio.Future[None]]) -> None:
    """Let the first that still waits look again."""
    while queue:
        waiting = queue.popleft()
        if not waiting.done():
            waiting.set_result(None)
            return
