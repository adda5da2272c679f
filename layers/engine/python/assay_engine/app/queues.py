"""The queue registry: which namespaces have entries on a queue, so that pollers know where
to look. Written before the first entry, remembered by the process, never taken back."""

from contextlib import suppress

from ..core import keys
from ..core.worker import QueueEntry
from .engine import Engine
from .ports import ConditionFailedError

LIST_FOR_SECS = 5.0


def announce(engine: Engine, namespace: str, queue: str, kind: str) -> None:
    """Make sure pollers of `queue` will look into `namespace`. To be done before the entry."""
    place = (namespace, queue, kind)
    if place in engine.memory.queues:
        return
    with suppress(ConditionFailedError):  # announced before
        engine.store.put(QueueEntry(key=keys.queue(queue, namespace, kind), queue=queue))
    # Adding to a set and setting a dict's item are atomic; two threads may do it twice.
    engine.memory.queues.add(place)
    engine.memory.queue_lists.pop((queue, kind), None)


def slots(engine: Engine, queue: str, kind: str, namespace: str | None) -> list[str]:
    """Index partitions a poll looks into; None: every namespace that has the queue."""
    names = _namespaces(engine, queue, kind) if namespace is None else [namespace]
    return [keys.slot(name, queue, kind) for name in names]


def _namespaces(engine: Engine, queue: str, kind: str) -> list[str]:
    now = engine.now()
    listed = engine.memory.queue_lists.get((queue, kind))
    if listed is None or not listed[0] <= now < listed[0] + LIST_FOR_SECS:
        found = engine.store.query(QueueEntry, keys.queues(queue, kind))
        listed = (now, frozenset(entry.namespace for entry in found))
        engine.memory.queue_lists[(queue, kind)] = listed
    return sorted(listed[1])


def every(engine: Engine) -> list[QueueEntry]:
    return list(engine.store.query(QueueEntry, keys.all_queues()))
