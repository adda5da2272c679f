"""A worker's whole conversation in one request: reports first, then tasks, then waiting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import ids, keys, limits, values
from ..core.errors import AssayError, InvalidError, ShapeError
from ..core.keys import Key
from ..core.run import Head
from . import claims, dispatch, polling, queues, reports, workers
from .engine import Engine
from .reports import Sender

PROTOCOL = 1
MAX_ROOM = 100
# Where other processes write to the table, a waiting call looks again this often.
LOOK_AGAIN_SECS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the worker has room for."""

    queue: str
    workflows: int
    activities: int
    workflow_types: frozenset[str] | None
    activity_types: frozenset[str] | None
    cached: Mapping[tuple[str, str, str], int]
    wait_secs: float


@dataclass(kw_only=True)
class Tasks:
    workflows: list[dict[str, Any]]
    activities: list[dict[str, Any]]
    next_due: float | None = None

    def __bool__(self) -> bool:
        return bool(self.workflows or self.activities)


def exchange(
    engine: Engine, request: Mapping[str, Any], caller_gone: Callable[[], bool] = lambda: False
) -> dict[str, Any]:
    """`caller_gone`: a worker that died while it waited must not be given a task."""
    if request.get("protocol", PROTOCOL) != PROTOCOL:
        raise InvalidError(f"this engine speaks protocol {PROTOCOL}", code="unknown_protocol")
    sender = _sender(request)
    _types(request, "workflows")
    wanted = _wanted(request, sender)
    raw_reports = _list(request, "reports")
    workers.seen_by_exchange(engine, sender.worker, sender.namespace, request)
    answers = [reports.answer(engine, raw, sender) for raw in raw_reports]
    tasks = Tasks(workflows=[], activities=[])
    if wanted is not None:
        gone = None if raw_reports else caller_gone
        tasks = _take(engine, sender, wanted, gone)
    return {
        "protocol": PROTOCOL,
        "reports": [answer for answer in answers if answer is not None],
        "workflow_tasks": tasks.workflows,
        "activity_tasks": tasks.activities,
        "pages": [page for raw in _list(request, "pages") for page in _page(engine, raw, sender)],
        "next_poll_secs": _next_poll(engine, wanted, tasks),
    }


def _sender(request: Mapping[str, Any]) -> Sender:
    worker = request.get("worker_id")
    if not isinstance(worker, str) or not worker:
        raise ShapeError("worker_id must be a text")
    namespace = request.get("namespace")
    if namespace is None:
        namespace = limits.DEFAULT_NAMESPACE
    if not isinstance(namespace, str):
        raise ShapeError("namespace must be a text")
    queue = request.get("queue")
    if queue is not None and not isinstance(queue, str):
        raise ShapeError("queue must be a text")
    return Sender(
        worker=ids.check_name(worker, "worker_id"),
        queue=None if queue is None else ids.check_name(queue, "queue"),
        activities=_types(request, "activities"),
        namespace=ids.check_name(namespace, "namespace"),
    )


def _types(request: Mapping[str, Any], name: str) -> frozenset[str] | None:
    found = request.get(name)
    if found is None:
        return None
    if found == {}:
        found = []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ShapeError(f"{name} must be a list of texts")
    return frozenset(found)


def _list(request: Mapping[str, Any], name: str) -> list[Any]:
    found = request.get(name)
    if found is None or found == {}:
        return []
    if not isinstance(found, list):
        raise ShapeError(f"{name} must be a list")
    return found


def _wanted(request: Mapping[str, Any], sender: Sender) -> Wanted | None:
    room = request.get("room") or {}
    if not isinstance(room, Mapping):
        raise ShapeError("room must be an object")
    workflows, activities = (_room(room, name) for name in ("workflows", "activities"))
    if not workflows and not activities:
        return None
    if sender.queue is None:
        raise ShapeError("room without a queue to take tasks from")
    wait = request.get("wait_secs", 0)
    if isinstance(wait, bool) or not isinstance(wait, int | float):
        raise ShapeError("wait_secs must be a number")
    return Wanted(
        queue=sender.queue,
        workflows=workflows,
        activities=activities,
        workflow_types=_types(request, "workflows"),
        activity_types=sender.activities,
        cached=_cached(request),
        wait_secs=min(max(float(wait), 0.0), limits.MAX_WAIT_SECS),
    )


def _room(room: Mapping[str, Any], name: str) -> int:
    found = room.get(name) or 0
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ShapeError(f"room.{name} must be a number")
    return max(min(int(found), MAX_ROOM), 0)


def _cached(request: Mapping[str, Any]) -> dict[tuple[str, str, str], int]:
    found: dict[tuple[str, str, str], int] = {}
    for entry in _list(request, "cached"):
        run = entry.get("run") if isinstance(entry, Mapping) else None
        seq = entry.get("seq") if isinstance(entry, Mapping) else None
        if isinstance(run, Mapping) and isinstance(seq, int):
            name = (str(run.get("namespace")), str(run.get("id")), str(run.get("incarnation")))
            found[name] = seq
    return found


def _take(engine: Engine, sender: Sender, wanted: Wanted, gone: Callable[[], bool] | None) -> Tasks:
    """What is ready; if nothing is and the caller has time (`gone` is given), wait for it."""
    runs = queues.slots(engine, wanted.queue, keys.WORKFLOWS, sender.namespace)
    items = queues.slots(engine, wanted.queue, keys.ACTIVITIES, sender.namespace)
    slots = runs * bool(wanted.workflows) + items * bool(wanted.activities)
    until = engine.now() + min(wanted.wait_secs, engine.options.max_wait_secs)
    woken = False
    while True:
        ticket = engine.wakeups.ticket(slots)
        try:
            tasks = _look(engine, sender, wanted, (runs, items))
        except AssayError:
            engine.wakeups.pass_on(slots)
            raise
        if woken and not tasks:
            engine.wakeups.pass_on(slots)
        now = engine.now()
        if tasks or gone is None or now >= until:
            return tasks
        moment = until if tasks.next_due is None else min(until, tasks.next_due)
        if engine.options.shared:
            moment = min(moment, now + LOOK_AGAIN_SECS)
        woken = engine.wakeups.wait(slots, ticket, max(moment - now, 0.001))
        if gone():
            engine.wakeups.pass_on(slots)
            return tasks


def _look(
    engine: Engine, sender: Sender, wanted: Wanted, slots: tuple[Sequence[str], Sequence[str]]
) -> Tasks:
    tasks = Tasks(workflows=[], activities=[])
    coming: list[float | None] = []
    if wanted.workflows:
        sight = polling.look(engine, slots[0], wanted.workflow_types)
        coming.append(sight.next_due)
        heads = polling.take_runs(
            engine, sight, sender.worker, room=wanted.workflows, tries=wanted.workflows + 3
        )
        tasks.workflows = _workflow_tasks(engine, heads, wanted.cached)
    if wanted.activities:
        sight = polling.look(engine, slots[1], wanted.activity_types)
        coming.append(sight.next_due)
        taken = polling.take_activities(
            engine,
            sight,
            sender.worker,
            room=wanted.activities,
            lease_secs=engine.options.lease_secs,
        )
        tasks.activities = [dispatch.activity_task(engine, item) for item in taken]
    tasks.next_due = min((moment for moment in coming if moment is not None), default=None)
    return tasks


def _workflow_tasks(
    engine: Engine, heads: list[Head], cached: Mapping[tuple[str, str, str], int]
) -> list[dict[str, Any]]:
    """Tasks until the answer is full; what does not fit is handed back."""
    tasks: list[dict[str, Any]] = []
    size = 0
    for head in heads:
        if size > limits.MAX_EXCHANGE_BYTES // 2:
            claims.release(engine, head.key, head.nonce, str(head.lease_token))
            continue
        held = cached.get((head.namespace, head.id, head.nonce), 0)
        task = dispatch.workflow_task(engine, head, held)
        size += len(values.encode(task["history"]))
        tasks.append(task)
    return tasks


def _page(engine: Engine, raw: Any, sender: Sender) -> list[dict[str, Any]]:
    """Further events of a run; nothing for a run that is gone."""
    run = raw.get("run") if isinstance(raw, Mapping) else None
    cursor = raw.get("cursor") if isinstance(raw, Mapping) else None
    if not isinstance(run, Mapping) or not isinstance(cursor, int) or cursor < 0:
        raise ShapeError("a page needs run and cursor")
    key: Key = keys.head(sender.namespace, str(run.get("id")))
    head = engine.store.get(Head, key)
    if head is None or head.nonce != run.get("incarnation"):
        return []
    return [dispatch.history_page(engine, head, cursor)]


def _next_poll(engine: Engine, wanted: Wanted | None, tasks: Tasks) -> float:
    """When the next poll is worth its price."""
    if wanted is None or tasks:
        return 0.0
    idle = engine.options.idle_poll_secs
    if tasks.next_due is None:
        return idle
    return round(min(max(tasks.next_due - engine.now(), 0.0), idle), 3)
