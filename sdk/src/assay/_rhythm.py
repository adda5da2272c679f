"""When the next poll is worth its price, as far as the worker itself knows."""

from __future__ import annotations

import asyncio
import math

from assay._clock import Clock

_TIMER_MARGIN_SECS = 0.005  # the engine's timer is due a moment after the worker's


class Rhythm:
    """Holds the earliest moment at which somebody expects something."""

    def __init__(self, clock: Clock, changed: asyncio.Event) -> None:
        self._clock = clock
        self._changed = changed
        self._at = math.inf

    def look(self, secs: float) -> None:
        """Expect something in `secs`."""
        at = self._clock.monotonic() + secs + (_TIMER_MARGIN_SECS if secs else 0.0)
        if at < self._at:
            self._at = at
            self._changed.set()

    def polled(self) -> None:
        """Forget what was expected: a poll is under way that sees more."""
        self._at = math.inf

    def left(self, until: float) -> float:
        """Return the seconds to the next poll, which is due at `until` at the latest."""
        return min(until, self._at) - self._clock.monotonic()
