"""What can go wrong between a handler and its table, drawn by seed.

A call fails before the write, or after it (applied, but the caller does not know); the
process dies between two calls; another handler gets in between; the due index lags.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from assay_engine.app.ports import DueEntry, PutIf, S, Store, Stored, Update
from assay_engine.core.activity import Activity
from assay_engine.core.change import Change, Condition
from assay_engine.core.errors import BusyError
from assay_engine.core.keys import Key
from assay_engine.core.run import Head
from tests.property.lanes import Killed, Lanes

T = TypeVar("T")

# How far the index may lag: the tick counts on less than five seconds.
MAX_LAG_SECS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Chance of each fault at one store call."""

    busy_before: float = 0.0
    busy_after: float = 0.0
    killed: float = 0.0
    interrupted: float = 0.0
    stale_index: float = 0.0


CALM = Rates()


class FaultyStore:
    """A store that fails by `rates`. Reads and writes pass through to `inner`."""

    def __init__(self, inner: Store, random: Random, lanes: Lanes, now: Callable[[], float]):
        self._inner = inner
        self._random = random
        self._lanes = lanes
        self._now = now
        self.rates = CALM
        self._slots: set[str] = set()
        self._snapshots: list[tuple[float, dict[str, list[DueEntry]]]] = []

    def _read(self, call: Callable[[], T]) -> T:
        self._mishap()
        return call()

    def _write(self, call: Callable[[], T]) -> T:
        self._mishap()
        self._note_index()
        answer = call()
        if self._chance(self.rates.busy_after):
            raise BusyError("injected: applied, but the answer was lost")
        return answer

    def _mishap(self) -> None:
        if self._chance(self.rates.interrupted):
            self._lanes.pause()
        if self._chance(self.rates.killed):
            raise Killed
        if self._chance(self.rates.busy_before):
            raise BusyError("injected: nothing was applied")

    def _chance(self, rate: float) -> bool:
        return rate > 0 and self._random.random() < rate

    def _note_index(self) -> None:
        """Keep what the index shows now and then, to answer from it later."""
        if not self._chance(self.rates.stale_index):
            return
        everything = {slot: self._inner.due(slot, limit=10_000) for slot in sorted(self._slots)}
        self._snapshots = [*self._snapshots[-3:], (self._now(), everything)]

    def get(self, kind: type[S], key: Key) -> S | None:
        return self._read(lambda: self._inner.get(kind, key))

    def get_many(self, kind: type[S], keys: Sequence[Key]) -> dict[Key, S]:
        return self._read(lambda: self._inner.get_many(kind, keys))

    def put(self, record: Stored, when: tuple[Condition, ...] = ()) -> None:
        self._write(lambda: self._inner.put(record, when))

    def update(self, kind: type[S], key: Key, change: Change) -> S:
        return self._write(lambda: self._inner.update(kind, key, change))

    def delete(self, kind: type[S], key: Key, when: tuple[Condition, ...] = ()) -> None:
        self._write(lambda: self._inner.delete(kind, key, when))

    def transact(self, writes: Sequence[PutIf | Update]) -> None:
        self._write(lambda: self._inner.transact(writes))

    def query(self, kind: type[S], prefix: Key, **how: Any) -> Iterator[S]:
        return iter(self._read(lambda: list(self._inner.query(kind, prefix, **how))))

    def due(self, slot: str, *, limit: int, after: DueEntry | None = None) -> list[DueEntry]:
        self._mishap()
        self._slots.add(slot)
        old = [seen for at, seen in self._snapshots if at > self._now() - MAX_LAG_SECS]
        if not old or not self._chance(self.rates.stale_index):
            return self._inner.due(slot, limit=limit, after=after)
        entries = self._random.choice(old).get(slot, [])
        if after is not None:
            entries = [e for e in entries if (e.due, e.key) > (after.due, after.key)]
        return entries[:limit]

    def heads(self) -> Iterator[Head]:
        return iter(self._read(lambda: list(self._inner.heads())))

    def activities(self) -> Iterator[Activity]:
        return iter(self._read(lambda: list(self._inner.activities())))
