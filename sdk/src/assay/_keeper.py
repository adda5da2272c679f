"""Keeps what the worker holds: heartbeats of activities and renewals of workflow tasks.

All that is due soon goes out together, well within each lease. It knows what to send and when,
and hands every answer to whoever holds the thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from assay._clock import Clock
from assay._exchange import Report, ReportAnswer
from assay._outbox import Outbox

_SHARE = 3.0  # of a lease: two beats may get lost
_SOONEST_SECS = 0.5  # between two beats of one activity, however often it tells its details
_IDLE_SECS = 3600.0


@dataclass(slots=True, kw_only=True, eq=False)
class Hold:
    """One thing to keep. `report` makes its next sign of life, `heard` gets the answer."""

    every_secs: float
    report: Callable[[], Report]
    heard: Callable[[ReportAnswer], None]
    due: float = 0.0
    last: float = 0.0
    on_its_way: bool = False


def rhythm(lease_secs: float, heartbeat_timeout_secs: float | None = None) -> float:
    """Return how many seconds may lie between two signs of life."""
    return min(lease_secs, heartbeat_timeout_secs or lease_secs) / _SHARE


class Keeper:
    """Holds things from `add` to `drop`; `run` keeps them alive."""

    def __init__(self, outbox: Outbox, clock: Clock) -> None:
        self._outbox = outbox
        self._clock = clock
        self._holds: set[Hold] = set()
        self._beats: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()

    def add(self, hold: Hold) -> None:
        """Keep a thing that was taken just now."""
        hold.last = self._clock.monotonic()
        hold.due = hold.last + hold.every_secs
        self._holds.add(hold)
        self._changed.set()

    def drop(self, hold: Hold) -> None:
        """Keep it no longer."""
        self._holds.discard(hold)

    def hurry(self, hold: Hold) -> None:
        """Send its next sign of life soon: there is something new to tell."""
        soon = hold.last + min(_SOONEST_SECS, hold.every_secs)
        if soon < hold.due:
            hold.due = soon
            self._changed.set()

    async def run(self) -> None:
        """Keep until cancelled."""
        try:
            while True:
                now = self._clock.monotonic()
                first = min((hold.due for hold in self._holds), default=now + _IDLE_SECS)
                if first > now:
                    self._changed.clear()
                    await self._clock.wait(self._changed, first - now)
                    continue
                self._beat(now)
        finally:
            for beat in self._beats:
                beat.cancel()

    def _beat(self, now: float) -> None:
        # Those that are due within half their rhythm come along: one call instead of many.
        for hold in [each for each in self._holds if each.due <= now + each.every_secs / 2]:
            hold.due = now + hold.every_secs
            if hold.on_its_way:
                continue
            hold.last = now
            hold.on_its_way = True
            beat = asyncio.create_task(self._send(hold))
            self._beats.add(beat)
            beat.add_done_callback(self._beats.discard)

    async def _send(self, hold: Hold) -> None:
        try:
            answer = await self._outbox.submit(hold.report())
            if hold in self._holds:
                hold.heard(answer)
        finally:
            hold.on_its_way = False
