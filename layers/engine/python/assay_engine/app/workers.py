"""Workers: their records, and what their polls may be given.

A worker id carries its namespace (`w-<hex>@<namespace>`); one without is an old client,
which cannot say one: listed under `main`, and polling every namespace.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..core import ids, keys
from ..core.change import Below, Change, Exists, Put
from ..core.keys import Key
from ..core.worker import Worker
from .engine import Engine
from .ports import ConditionFailedError

# A worker's record is read once per process, and its sign of life written this often at most.
SIGN_OF_LIFE_SECS = 20.0
# Silent for longer, a worker is no longer listed; its next poll brings it back.
LISTED_SECS = 90.0
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    identity: str
    queue: str
    namespace: str | None = None
    """None: an old client, which could not say one."""
    workflows: tuple[str, ...] | None = None
    activities: tuple[str, ...] | None = None
    max_concurrent_workflows: int = 10
    max_concurrent_activities: int = 10


def register(engine: Engine, registration: Registration) -> str:
    ids.check_name(registration.identity, "identity")
    queue = ids.check_name(registration.queue, "queue")
    if registration.namespace is not None:
        ids.check_name(registration.namespace, "namespace")
    now = engine.now()
    worker_id = "w-" + engine.entropy.token(16)
    if registration.namespace is not None:
        worker_id += "@" + registration.namespace
    worker = Worker(
        key=_key(worker_id),
        identity=registration.identity,
        queue=queue,
        workflows=registration.workflows,
        activities=registration.activities,
        max_concurrent_workflows=registration.max_concurrent_workflows,
        max_concurrent_activities=registration.max_concurrent_activities,
        registered_at=now,
        last_heartbeat=now,
    )
    engine.store.put(worker)
    engine.memory.workers[worker_id] = (now, worker)
    return worker_id


def namespace_of(worker_id: str) -> str | None:
    """The namespace a worker is confined to; None: it looks everywhere."""
    head, at, namespace = worker_id.partition("@")
    return namespace if at and head.startswith("w-") else None


def _key(worker_id: str) -> Key:
    return keys.worker(keys.default_namespace(namespace_of(worker_id)), worker_id)


def heartbeat(engine: Engine, worker_id: str) -> None:
    """A sign of life. Ids that nobody registered are none of our business."""
    alive(engine, worker_id)


def alive(engine: Engine, worker_id: str) -> Worker | None:
    """The worker's record, after noting that it is alive; None if it never registered."""
    now = engine.now()
    known = engine.memory.workers.get(worker_id)
    if known is not None and now - known[0] < SIGN_OF_LIFE_SECS:
        return known[1]
    worker = known[1] if known else None
    if worker is None:
        worker = engine.store.get(Worker, _key(worker_id)) if _plausible(worker_id) else None
    if worker is not None:
        _note(engine, worker, now)
    if len(engine.memory.workers) > _REMEMBERED:
        engine.memory.workers.clear()
    engine.memory.workers[worker_id] = (now, worker)
    return worker


def _plausible(worker_id: str) -> bool:
    """Made-up ids are legal and free; only ids of our own making are looked up."""
    return worker_id.startswith("w-") and 18 <= len(worker_id.encode()) <= 1024


def _note(engine: Engine, worker: Worker, now: float) -> None:
    change = Change(
        when=(Exists(("identity",)), Below(("last_heartbeat",), now)),
        do=(Put(("last_heartbeat",), now),),
    )
    with suppress(ConditionFailedError):  # another process was later
        engine.store.update(Worker, worker.key, change)


def list_workers(engine: Engine, namespace: str) -> list[Worker]:
    ids.check_name(namespace, "namespace")
    since = engine.now() - LISTED_SECS
    found = engine.store.query(Worker, keys.workers(namespace))
    listed = [worker for worker in found if worker.last_heartbeat >= since]
    return sorted(listed, key=lambda worker: (worker.registered_at, worker.id))


def types(worker: Worker | None, kind: str) -> frozenset[str] | None:
    """The types of a kind a worker has handlers for; None: any."""
    if worker is None:
        return None
    names = worker.workflows if kind == keys.WORKFLOWS else worker.activities
    return None if names is None else frozenset(names)


def seen_by_exchange(
    engine: Engine, worker_id: str, namespace: str, request: Mapping[str, Any]
) -> None:
    """An exchange needs no registration; its worker is listed all the same."""
    now = engine.now()
    name = f"{namespace}/{worker_id}"
    known = engine.memory.workers.get(name)
    queue = request.get("queue")
    if not isinstance(queue, str) or (known and now - known[0] < SIGN_OF_LIFE_SECS):
        return
    worker = known[1] if known else None
    if worker is None:
        worker = _exchanging(worker_id, namespace, request, now)
        try:
            engine.store.put(worker)
        except ConditionFailedError:
            _note(engine, worker, now)
    else:
        _note(engine, worker, now)
    engine.memory.workers[name] = (now, worker)


def _exchanging(worker_id: str, namespace: str, request: Mapping[str, Any], now: float) -> Worker:
    room = request.get("room")
    room = room if isinstance(room, Mapping) else {}
    return Worker(
        key=keys.worker(namespace, worker_id),
        identity=worker_id,
        queue=str(request["queue"]),
        workflows=_names(request.get("workflows")),
        activities=_names(request.get("activities")),
        max_concurrent_workflows=int(room.get("workflows") or 0),
        max_concurrent_activities=int(room.get("activities") or 0),
        registered_at=now,
        last_heartbeat=now,
    )


def _names(raw: Any) -> tuple[str, ...] | None:
    return tuple(str(name) for name in raw) if isinstance(raw, list) else None
