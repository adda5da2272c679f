"""The tick: timers, deadlines and debts of queues that nobody polls.

Mostly it looks at what has fallen due since the last tick; now and then at everything, since
an entry that waits for a worker keeps its early place while a later deadline passes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..core import keys
from ..core.activity import Activity
from ..core.run import Head
from . import activities, ending, queues, settle
from .engine import Engine
from .ports import DueEntry

# Pollers come first: what is younger than this they find themselves.
GRACE_SECS = 1.0
# How far an index may lag, or a clock be off.
OVERLAP_SECS = 5.0
SWEEP_SECS = 30.0
PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    looked_at: int


def tick(engine: Engine) -> Ticked:
    now = engine.now()
    memory = engine.memory
    sweeping = memory.last_sweep is None or now - memory.last_sweep >= SWEEP_SECS
    since = None if sweeping or memory.last_tick is None else memory.last_tick - OVERLAP_SECS
    looked = 0
    for entry in queues.every(engine):
        for shard in range(entry.shards):
            slot = keys.slot(entry.namespace, entry.queue, entry.kind, shard)
            looked += _look(engine, slot, entry.kind, since)
    memory.last_tick = now
    if sweeping:
        memory.last_sweep = now
    return Ticked(looked_at=looked)


def _look(engine: Engine, slot: str, kind: str, since: float | None) -> int:
    looked = 0
    for page in _overdue(engine, slot, since):
        places = [entry.key for entry in page]
        if kind == keys.ACTIVITIES:
            for item in engine.store.get_many(Activity, places).values():
                activities.expire(engine, item)
        else:
            for head in engine.store.get_many(Head, places).values():
                _settle(engine, head)
        looked += len(page)
    return looked


def _overdue(engine: Engine, slot: str, since: float | None) -> Iterator[list[DueEntry]]:
    """Pages of entries that fell due before now; only those after `since`, where given."""
    latest = engine.now() - GRACE_SECS
    # An exclusive start needs no entry behind it.
    last = None if since is None else DueEntry(key=keys.Key(" ", " "), type="", due=since)
    while True:
        page = engine.store.due(slot, limit=PAGE, after=last)
        overdue = [entry for entry in page if entry.due < latest]
        if overdue:
            yield overdue
        if len(overdue) < PAGE:
            return
        last = page[-1]


def _settle(engine: Engine, head: Head) -> None:
    if head.is_open:
        settle.settle_idle(engine, head)
    elif head.due is not None:
        ending.finish(engine, head)
