"""Time and waiting as a port, and the growing pause between tries.

The worker knows no other clock, so a test moves time by hand.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """What the SDK asks of time."""

    def time(self) -> float:
        """Return seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""

    def pause(self, secs: float) -> None:
        """Block this thread for `secs`."""

    async def wait(self, event: asyncio.Event, secs: float) -> bool:
        """Wait until `event` is set, at most `secs`; return whether it is."""


class SystemClock:
    """The clock of the machine."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def pause(self, secs: float) -> None:
        time.sleep(secs)

    async def wait(self, event: asyncio.Event, secs: float) -> bool:
        try:
            async with asyncio.timeout(secs):
                return await event.wait()
        except TimeoutError:
            return event.is_set()


class Backoff:
    """Pauses that double from `first` to `last`, each shortened by up to a half at random."""

    def __init__(
        self, first: float = 0.1, last: float = 5.0, *, jitter: Callable[[], float] = random.random
    ) -> None:
        self._first = first
        self._last = last
        self._jitter = jitter
        self._next = first

    @property
    def tried(self) -> bool:
        """Whether there was a pause since the last success."""
        return self._next > self._first

    def next(self) -> float:
        """Return the pause before the next try."""
        pause = self._next * (1 - self._jitter() / 2)
        self._next = min(self._next * 2, self._last)
        return pause

    def reset(self) -> None:
        """Begin anew after a success."""
        self._next = self._first
