"""The tick: timers, deadlines and debts of queues that nobody polls."""

from dataclasses import dataclass

from ..core import keys
from ..core.activity import Activity
from ..core.run import Head
from . import activities, ending, queues, settle
from .engine import Engine
from .ports import DueEntry

# Pollers come first: what is younger than this they find themselves.
GRACE_SECS = 1.0
PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    looked_at: int


def tick(engine: Engine) -> Ticked:
    """Look at everything overdue, in every queue there is."""
    looked = 0
    for entry in queues.every(engine):
        for shard in range(entry.shards):
            slot = keys.slot(entry.namespace, entry.queue, entry.kind, shard)
            looked += _sweep(engine, slot, entry.kind)
    return Ticked(looked_at=looked)


def _sweep(engine: Engine, slot: str, kind: str) -> int:
    latest = engine.now() - GRACE_SECS
    looked, last = 0, None
    while True:
        page = engine.store.due(slot, limit=PAGE, after=last)
        overdue = [entry for entry in page if entry.due < latest]
        for entry in overdue:
            _settle(engine, entry, kind)
        looked += len(overdue)
        if len(overdue) < PAGE:
            return looked
        last = page[-1]


def _settle(engine: Engine, entry: DueEntry, kind: str) -> None:
    if kind == keys.ACTIVITIES:
        item = engine.store.get(Activity, entry.key)
        if item is not None:
            activities.expire(engine, item)
        return
    head = engine.store.get(Head, entry.key)
    if head is None:
        return
    if head.is_open:
        settle.settle_idle(engine, head)
    else:
        ending.finish(engine, head)
