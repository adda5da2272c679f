"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio

_TURNS = 60  # of the loop: more than any chain of callbacks in the worker is long


async def settle() -> None:
    """Let everything that can go on without time go on."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class FakeClock:
    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now
        self.pauses: list[float] = []
        self._alarms: list[tuple[float, asyncio.Future[None]]] = []

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def pause(self, secs: float) -> None:
        self.pauses.append(secs)
        self.now += secs

    async def wait(self, event: asyncio.Event, secs: float) -> bool:
        if event.is_set() or secs <= 0:
            return event.is_set()
        alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (self.now + secs, alarm)
        self._alarms.append(entry)
        waiter = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({alarm, waiter}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._alarms.remove(entry)
            waiter.cancel()
            alarm.cancel()
        return event.is_set()

    async def advance(self, secs: float) -> None:
        """Move time, and stop on the way wherever somebody waits."""
        until = self.now + secs
        await settle()
        while True:
            due = [at for at, alarm in self._alarms if at <= until and not alarm.done()]
            if not due:
                break
            self.now = max(self.now, min(due))
            for at, alarm in self._alarms:
                if at <= self.now and not alarm.done():
                    alarm.set_result(None)
            await settle()
        self.now = until
        await settle()
