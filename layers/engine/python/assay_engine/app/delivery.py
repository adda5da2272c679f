"""Doing something to a run exactly once: what is done and a marker, in one transaction.

A marker is never deleted. Whoever finds it knows that the thing was done, or that somebody
who looked before had to give up: the first verdict counts for all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from ..core import keys, limits
from ..core.change import Change, Equals
from ..core.errors import BusyError
from ..core.keys import Key
from ..core.run import Head, Marker
from . import history
from .engine import Engine
from .inbound import Inbound, change
from .ports import ConditionFailedError, PutIf, TransactionRefusedError, Update

_TRIES = 25


class Delivered(Enum):
    NOW = auto()
    BEFORE = auto()
    """A marker was there already."""
    CLOSED = auto()
    NOT_FOUND = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    write: Callable[[Head], Change]
    """Makes the change out of an image of the run, and puts what it needs beside it."""
    mark: Key | None = None
    """Once, whatever run has the id by then."""
    request_id: str | None = None
    """Once in this very run."""
    nonce: str | None = None
    """Only to this incarnation of the id."""

    def marks(self, target: Head | None) -> list[Key]:
        found = [] if self.mark is None else [self.mark]
        if self.request_id is not None and target is not None:
            found.append(keys.request_mark(target.key, target.nonce, self.request_id))
        return found


def deliver(engine: Engine, key: Key, deed: Deed) -> Delivered:
    """Rows `call` and `signal of a numbered request`."""
    for _ in range(_TRIES):
        target = engine.store.get(Head, key)
        marks = deed.marks(target)
        if target is None or not target.is_open or deed.nonce not in (None, target.nonce):
            if engine.store.get_many(Marker, marks):
                return Delivered.BEFORE
            return Delivered.NOT_FOUND if target is None else Delivered.CLOSED
        if target.tail_bytes >= limits.TAIL_FULL:
            history.flush_above(engine, target, limits.TAIL_AFTER_INBOUND)
            continue
        puts = [PutIf(Marker(key=mark, created_at=engine.now())) for mark in marks]
        try:
            engine.store.transact([Update(Head, key, deed.write(target)), *puts])
        except TransactionRefusedError as refused:
            if any(place > 0 for place in refused.failed):
                return Delivered.BEFORE
            continue
        _follow_up(engine, target)
        return Delivered.NOW
    raise BusyError("the run is changing too fast")


def append_change(engine: Engine, target: Head, event: Inbound) -> Change:
    """An inbound append on condition that the run is still the one that was looked at."""
    appended = change(engine.now(), event, target.lease_token is not None)
    return Change(when=(*appended.when, Equals(("nonce",), target.nonce)), do=appended.do)


def _follow_up(engine: Engine, before: Head) -> None:
    engine.memory.let_go(before.key)
    if before.lease_token is None:
        engine.wakeups.notify(before.slot)
    if before.tail_bytes > limits.TAIL_AFTER_INBOUND:
        after = engine.store.get(Head, before.key)
        if after is not None:
            history.flush_above(engine, after, limits.TAIL_AFTER_INBOUND)


def first_verdict(engine: Engine, mark: Key, verdict: str | None) -> str | None:
    """What is found out about a call; the first to say it is right, for everybody."""
    try:
        engine.store.put(Marker(key=mark, created_at=engine.now(), verdict=verdict))
    except ConditionFailedError as failed:
        return failed.image.verdict if isinstance(failed.image, Marker) else verdict
    return verdict
