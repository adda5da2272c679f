"""The runs that a worker holds in memory: the least recently used one goes first.

A cached run saves the replay and makes fused steps possible; losing one costs only time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from assay._exchange import RunRef
from assay._replay import Machine


@dataclass(slots=True, eq=False)
class Run:
    """One run in memory. Whoever does something with it holds its lock.

    `known` is the longest history that an answer has spoken of: the machine may go on by itself
    only if it has seen all of that.
    """

    ref: RunRef
    machine: Machine | None = None
    mark: Any = None
    known: int = 0
    context: dict[str, Any] | None = None
    users: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def up_to_date(self) -> Machine | None:
        """The machine, if it has seen everything and everything it issued is recorded."""
        machine = self.machine
        if machine is None or machine.closed or machine.delivered < self.known:
            return None
        return None if machine.outstanding else machine

    def forget(self) -> None:
        """Throw the instance away; the next task of the run brings its whole history."""
        if self.machine is not None:
            self.machine.drop()
        self.machine, self.mark, self.known = None, None, 0


class Runs:
    """At most `limit` runs, besides those in use."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._runs: OrderedDict[RunRef, Run] = OrderedDict()

    @asynccontextmanager
    async def held(self, ref: RunRef) -> AsyncIterator[Run]:
        """Have a run to oneself, cached or not."""
        run = self._runs.setdefault(ref, Run(ref))
        self._runs.move_to_end(ref)
        run.users += 1
        try:
            async with run.lock:
                yield run
        finally:
            run.users -= 1
            self._trim(run)

    def moved(self, ref: RunRef) -> None:
        """Note that something lands in the history of a run beside its instance in memory."""
        run = self._runs.get(ref)
        if run is not None and run.machine is not None:
            run.known = max(run.known, run.machine.delivered + 1)

    def cached(self) -> list[tuple[RunRef, int]]:
        """Return the runs in memory with the last seq that each has seen."""
        return [
            (ref, run.machine.delivered)
            for ref, run in self._runs.items()
            if run.machine is not None and not run.machine.closed
        ]

    def close(self) -> None:
        """Forget all of them."""
        for run in self._runs.values():
            run.forget()
        self._runs.clear()

    def _trim(self, run: Run) -> None:
        if run.machine is None and not run.users:
            self._runs.pop(run.ref, None)
        while len(self._runs) > self._limit:
            idle = next((each for each in self._runs.values() if not each.users), None)
            if idle is None:
                return
            idle.forget()
            del self._runs[idle.ref]
