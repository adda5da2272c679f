"""The store's contract in a dict: what DynamoStore must do, executable. Nothing survives."""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import combinations, islice
from threading import RLock
from typing import Any, TypeVar, cast

from ..app.ports import (
    ConditionFailedError,
    DueEntry,
    PutIf,
    S,
    Stored,
    TransactionRefusedError,
    Update,
)
from ..core import limits
from ..core.activity import Activity
from ..core.change import Change, Condition, DropFirst, apply, holds
from ..core.errors import TooLargeError
from ..core.keys import HEAD, Key
from ..core.run import Head
from .mapping import codec
from .sizes import MAX_ITEM_BYTES, item_bytes

_Entry = tuple[float, Key]
R = TypeVar("R", bound=Stored)


class MemoryStore:
    """`app.ports.Store` in one process."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._records: dict[Key, Stored] = {}
        self._partitions: dict[str, list[str]] = {}
        """pk -> its sort keys, in order."""
        self._due: dict[str, list[_Entry]] = {}

    def get(self, kind: type[S], key: Key) -> S | None:
        with self._lock:
            return _as(kind, self._records.get(key))

    def get_many(self, kind: type[S], keys: Sequence[Key]) -> dict[Key, S]:
        with self._lock:
            found = {key: _as(kind, self._records.get(key)) for key in keys}
        return {key: record for key, record in found.items() if record is not None}

    def put(self, record: Stored, when: tuple[Condition, ...] = ()) -> None:
        with self._lock:
            old = self._records.get(record.key)
            if not _may_put(old, when):
                raise ConditionFailedError(old)
            self._replace(record.key, _checked(record))

    def update(self, kind: type[S], key: Key, change: Change) -> S:
        with self._lock:
            old = _as(kind, self._records.get(key))
            if old is None or not _may_change(old, change.when):
                raise ConditionFailedError(old)
            new = _checked(_changed(old, change))
            self._replace(key, new)
            return new

    def delete(self, kind: type[S], key: Key, when: tuple[Condition, ...] = ()) -> None:
        with self._lock:
            old = _as(kind, self._records.get(key))
            if not _may_change(old, when):
                raise ConditionFailedError(old)
            self._replace(key, None)

    def transact(self, writes: Sequence[PutIf | Update]) -> None:
        with self._lock:
            targets = [w.record.key if isinstance(w, PutIf) else w.key for w in writes]
            if len(set(targets)) < len(targets):
                raise ValueError("a transaction writes an item once")
            refused = tuple(
                position
                for position, (write, key) in enumerate(zip(writes, targets, strict=True))
                if not _may_write(self._records.get(key), write)
            )
            if refused:
                raise TransactionRefusedError(refused)
            # All results before the first of them is kept: one may be too large.
            for new in [self._result(write) for write in writes]:
                self._replace(new.key, new)

    def query(
        self,
        kind: type[S],
        prefix: Key,
        *,
        after: str | None = None,
        limit: int | None = None,
        descending: bool = False,
    ) -> Iterator[S]:
        with self._lock:
            order = [sk for sk in self._partitions.get(prefix.pk, ()) if sk.startswith(prefix.sk)]
            if descending:
                order.reverse()
            if after is not None:
                order = [sk for sk in order if (sk < after if descending else sk > after)]
            wanted = [Key(prefix.pk, sk) for sk in islice(order, limit)]
            return iter(self.get_many(kind, wanted).values())

    def due(self, slot: str, *, limit: int, after: DueEntry | None = None) -> list[DueEntry]:
        with self._lock:
            entries = self._due.get(slot, [])
            start = bisect_right(entries, (after.due, after.key)) if after else 0
            return [
                DueEntry(key, cast(Head | Activity, self._records[key]).type, due)
                for due, key in entries[start : start + limit]
            ]

    def heads(self) -> Iterator[Head]:
        with self._lock:
            found = [
                record
                for key, record in self._records.items()
                if isinstance(record, Head) and key.sk == HEAD
            ]
        return iter(found)

    def activities(self) -> Iterator[Activity]:
        with self._lock:
            found = [record for record in self._records.values() if isinstance(record, Activity)]
        return iter(found)

    def _result(self, write: PutIf | Update) -> Stored:
        if isinstance(write, PutIf):
            return _checked(write.record)
        return _checked(_changed(self._records[write.key], write.change))

    def _replace(self, key: Key, new: Stored | None) -> None:
        """Keep `new` (None: nothing) under `key`, and the two orders with it."""
        old = self._records.pop(key, None)
        if (entry := _entry(old)) is not None:
            self._due[entry[0]].remove(entry[1])
        if old is None and new is not None:
            insort(self._partitions.setdefault(key.pk, []), key.sk)
        if old is not None and new is None:
            self._partitions[key.pk].remove(key.sk)
        if new is not None:
            self._records[key] = new
            if (entry := _entry(new)) is not None:
                insort(self._due.setdefault(entry[0], []), entry[1])


def _as(kind: type[S], record: Stored | None) -> S | None:
    if record is None or isinstance(record, kind):
        return record
    raise TypeError(f"{record.key} is a {type(record).__name__}, not a {kind.__name__}")


def _entry(record: Stored | None) -> tuple[str, _Entry] | None:
    """Slot and place of a record in the due index."""
    if not isinstance(record, Head | Activity) or record.due is None:
        return None
    return record.slot, (record.due, record.key)


def _may_put(old: Stored | None, when: tuple[Condition, ...]) -> bool:
    return all(holds(old, condition) for condition in when) if when else old is None


def _may_change(old: Stored | None, when: tuple[Condition, ...]) -> bool:
    return old is not None and all(holds(old, condition) for condition in when)


def _may_write(old: Stored | None, write: PutIf | Update) -> bool:
    if isinstance(write, PutIf):
        return _may_put(old, write.when)
    return _may_change(old, write.change.when)


def _changed(record: R, change: Change) -> R:
    """`record` after `change`; refuses what an update expression cannot say."""
    for one, other in combinations((action.path for action in change.do), 2):
        shared = min(len(one), len(other))
        if one[:shared] == other[:shared]:
            raise ValueError(f"two actions on {one} and {other}")
    for action in change.do:
        if isinstance(action, DropFirst) and action.count > limits.MAX_CUT:
            raise TooLargeError(f"{action.count} list elements cannot be cut at once")
    return apply(record, change.do)


def _checked(record: R) -> R:
    """As it would be read again: an empty set is none. Refuses what one item cannot hold."""
    if item_bytes(codec(type(record)).item(record)) > MAX_ITEM_BYTES:
        raise TooLargeError("too large for one item of the table")
    empty = [f.name for f in fields(record) if getattr(record, f.name) == frozenset()]
    nothing: dict[str, Any] = dict.fromkeys(empty)
    return replace(record, **nothing) if empty else record
