"""Time that is skipped: what is to be done, and when. Nothing here waits, nothing reads a clock."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

Deed = Callable[[], object]


@dataclass(order=True, slots=True)
class Appointment:
    """Something to be done at a moment, unless it is called off."""

    at: float
    number: int
    do: Deed = field(compare=False)
    off: bool = field(default=False, compare=False)

    def call_off(self) -> None:
        """Do not do it: time is not skipped for its sake either."""
        self.off = True


class Agenda:
    """One thing after the other: what is ready first, then whatever is due next."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._ready: deque[Deed] = deque()
        self._later: list[Appointment] = []
        self._numbers = itertools.count()

    def soon(self, do: Deed) -> None:
        """Do something at this moment, behind what is ready already."""
        self._ready.append(do)

    def later(self, secs: float, do: Deed) -> Appointment:
        """Do something when `secs` are over."""
        appointment = Appointment(self.now + secs, next(self._numbers), do)
        heapq.heappush(self._later, appointment)
        return appointment

    def step(self, until: float | None = None) -> bool:
        """Do the next thing, not later than `until`; say whether there was one."""
        if self._ready:
            self._ready.popleft()()
            return True
        while self._later and self._later[0].off:
            heapq.heappop(self._later)
        if not self._later or (until is not None and self._later[0].at > until):
            return False
        due = heapq.heappop(self._later)
        self.now = max(self.now, due.at)
        due.do()
        return True
