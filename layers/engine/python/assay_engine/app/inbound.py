"""Appending to a run without its lease: the rows `inbound`, unleased and leased.

Nothing is read first. Which row applies is tried, because a lease may come or go between a
read and the write: an append that missed the lease's end would never wake anybody.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core import limits
from ..core.change import (
    Action,
    Below,
    Change,
    Condition,
    Exists,
    Extend,
    Missing,
    Plus,
    Put,
    holds,
)
from ..core.errors import BusyError
from ..core.history import Event, EventType, pack, size
from ..core.keys import Key
from ..core.run import Head
from . import history
from .engine import Engine
from .ports import ConditionFailedError

_TRIES = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    type: EventType
    data: Mapping[str, Any]
    guard: tuple[Condition, ...] = ()
    also: tuple[Action, ...] = ()
    """Done in the same write."""
    at: float | None = None
    following: tuple[tuple[EventType, Mapping[str, Any]], ...] = ()
    """Further events, appended in the same write."""
    looked_at: bool = False
    """Somebody has to look at the run even while it is leased."""


class NotAppendedError(Exception):
    """There is no such run, it is closed, or the guard does not hold. `image` tells which."""

    def __init__(self, image: Head | None) -> None:
        super().__init__("not appended")
        self.image = image


def append(engine: Engine, key: Key, inbound: Inbound) -> Head:
    """Append one event; returns the head afterwards, flushed if it grew too long."""
    leased, full = False, 0
    for _ in range(_TRIES):
        try:
            head = engine.store.update(Head, key, change(engine.now(), inbound, leased))
        except ConditionFailedError as failed:
            image = failed.image
            if not isinstance(image, Head) or not _allowed(image, inbound):
                raise NotAppendedError(image if isinstance(image, Head) else None) from None
            if image.tail_bytes >= limits.TAIL_FULL:
                full += 1
                if full > 3:
                    raise BusyError("the run takes in events faster than they are stored") from None
                history.flush_above(engine, image, limits.TAIL_AFTER_INBOUND)
            leased = image.lease_token is not None
            continue
        engine.memory.let_go(key)
        if not leased:
            engine.wakeups.notify(head.slot)
        return history.flush_above(engine, head, limits.TAIL_AFTER_INBOUND)
    raise BusyError("the run is changing too fast")


def _allowed(image: Head, inbound: Inbound) -> bool:
    return image.is_open and all(holds(image, condition) for condition in inbound.guard)


def change(now: float, inbound: Inbound, leased: bool) -> Change:
    """The append of its events: to a leased run, or to one that is to be found."""
    at = now if inbound.at is None else inbound.at
    events = ((inbound.type, inbound.data), *inbound.following)
    texts = tuple(pack(Event(kind, at, data)) for kind, data in events)
    lease: Condition = Exists(("lease_token",)) if leased else Missing(("lease_token",))
    # Whole seconds: a burst of signals moves the index key once a second.
    asleep = leased and not inbound.looked_at
    wake: tuple[Action, ...] = () if asleep else (Put(("due",), math.floor(now)),)
    return Change(
        when=(
            Exists(("open",)),
            lease,
            Below(("tail_bytes",), limits.TAIL_FULL),
            *inbound.guard,
        ),
        do=(
            Extend(("tail",), texts),
            Plus(("length",), len(texts)),
            Plus(("tail_bytes",), size(texts)),
            Plus(("version",), 1),
            *wake,
            *inbound.also,
        ),
    )
