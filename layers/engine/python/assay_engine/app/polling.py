"""Finding work in the due index. One query a partition; what it shows is only a hint."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.activity import Activity
from ..core.run import Head
from . import activities, claims
from .engine import Engine
from .ports import DueEntry

PAGE = 25
LONG_PAGE = 100
MAX_PAGES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a look at the index showed."""

    ready: tuple[DueEntry, ...]
    next_due: float | None
    """The next moment something falls due, as far as could be seen."""


def look(engine: Engine, slots: Sequence[str], types: frozenset[str] | None) -> Sight:
    now = engine.now()
    ready: list[DueEntry] = []
    coming: list[float] = []
    for slot in slots:
        for entry in _entries(engine, slot, types, now):
            if entry.due <= now:
                ready.append(entry)
            else:
                coming.append(entry.due)
    ready.sort(key=lambda entry: entry.due)
    return Sight(ready=tuple(ready), next_due=min(coming, default=None))


def _entries(
    engine: Engine, slot: str, types: frozenset[str] | None, now: float
) -> Iterator[DueEntry]:
    """Entries that may be taken: up to three pages past types the worker has not, and past
    what this process knows to be taken, whose entries stay for a while."""
    last, strange, limit = None, 0, PAGE
    while strange < MAX_PAGES:
        page = engine.store.due(slot, limit=limit, after=last)
        free = [e for e in page if not engine.memory.held(e.key, e.due, now)]
        fitting = [entry for entry in free if types is None or entry.type in types]
        yield from fitting
        if fitting or len(page) < limit or page[-1].due > now:
            return
        strange += bool(free)
        last, limit = page[-1], LONG_PAGE


def take_runs(engine: Engine, sight: Sight, worker: str, *, room: int, tries: int) -> list[Head]:
    """Claim up to `room` runs; `tries` claims that brought nothing are enough."""
    taken: list[Head] = []
    left = list(sight.ready)
    while left and len(taken) < room and tries > 0:
        claimed = claims.claim(engine, left.pop(0), worker)
        if claimed.head is not None:
            taken.append(claimed.head)
            continue
        tries -= 1
        if claimed.lost and left:
            # Racing pollers part ways.
            left.insert(0, left.pop(engine.entropy.below(len(left))))
    return taken


def take_activities(
    engine: Engine, sight: Sight, worker: str, *, room: int, lease_secs: float | None
) -> list[Activity]:
    taken: list[Activity] = []
    tries = room + MAX_PAGES
    left = list(sight.ready)
    while left and len(taken) < room and tries > 0:
        tries -= 1
        item = activities.claim(engine, left.pop(0), worker, lease_secs=lease_secs)
        if item is not None:
            taken.append(item)
        elif left:
            left.insert(0, left.pop(engine.entropy.below(len(left))))
    return taken
