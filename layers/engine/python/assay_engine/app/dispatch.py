"""Tasks as exchange hands them out: only what the worker does not hold yet, in pages."""

from collections.abc import Iterable
from typing import Any

from ..core import history as log
from ..core import ids, values
from ..core.activity import Activity, Policy
from ..core.commit import LEGACY_REPORT
from ..core.history import EventType, Numbered
from ..core.render import Renderer, shipped
from ..core.run import Head
from . import activities, history, payloads
from .engine import Engine

# A page of a long history. The first comes with the task, the rest is asked for.
PAGE_BYTES = 512 * 1024


def run_ref(head: Head) -> dict[str, str]:
    return {"namespace": head.namespace, "id": head.id, "incarnation": head.nonce}


def workflow_task(engine: Engine, head: Head, cached: int) -> dict[str, Any]:
    """A leased run as a task, with the events above `cached`."""
    after = cached if 0 < cached <= head.length else 0
    found, record = history.read_with_record(engine, head, after)
    if after and any(n.event.type is EventType.ACTIVITY_RETRY_REQUESTED for n in found):
        # What the worker has replayed is partly undone.
        after = 0
        found, record = history.read_with_record(engine, head, after)
    events, following = _page(head, found)
    return {
        "run": run_ref(head),
        "run_id": head.incarnation_id,
        "workflow_type": head.type,
        "task_queue": head.queue,
        "parent_id": (head.parent or {}).get("i"),
        "attempt": head.attempt or 1,
        "started_at": head.created_at,
        # A worker that holds the run in its cache was given it with the first task.
        "context": payloads.context_in(engine, record, head.nonce),
        "lease": head.lease_token,
        "lease_secs": head.task_secs or engine.options.lease_secs,
        "version": head.lease_length,
        "seen": head.seen,
        "legacy": (head.report or "").startswith(LEGACY_REPORT),
        "after": after,
        "history": events,
        "history_next": following,
    }


def history_page(engine: Engine, head: Head, cursor: int) -> dict[str, Any]:
    events, following = _page(head, history.read(engine, head, cursor))
    return {"run": run_ref(head), "history": events, "history_next": following}


def _page(head: Head, found: Iterable[Numbered]) -> tuple[list[dict[str, Any]], int | None]:
    renderer = Renderer(head.nonce)
    events: list[dict[str, Any]] = []
    size = 0
    last = head.lease_length or head.length
    for n in shipped(found):
        if n.seq > last:
            break
        payload = renderer.payload(n)
        size += 100 + len(values.encode(payload))
        if size > PAGE_BYTES and events:
            return events, events[-1]["seq"]
        events.append(
            {"seq": n.seq, "event_type": n.event.type, "payload": payload, "timestamp": n.event.at}
        )
    return events, None


def eager_task(engine: Engine, head: Head, scheduled: Numbered) -> dict[str, Any]:
    """An activity given straight back to the worker that scheduled it."""
    data = scheduled.event.data
    policy = log.policy_of(data)
    text = payloads.text(engine, head.key, head.nonce, values.from_field(data))
    line = head.eager.get(str(data["q"]), {})
    return {
        "run": run_ref(head),
        "workflow_type": head.type,
        "activity_id": ids.activity_id(head.nonce, scheduled.seq),
        "seq": data["q"],
        "attempt": line.get("a", 1),
        "name": data["n"],
        "task_queue": data["k"],
        "input": None if text is None else values.parse(text),
        "eager": True,
        "lease_secs": engine.options.lease_secs,
        "scheduled_at": scheduled.event.at,
        "details": None,
        **_policy(policy),
    }


def _policy(policy: Policy) -> dict[str, Any]:
    return {
        "max_attempts": policy.max_attempts,
        "start_to_close_secs": policy.start_to_close_secs,
        "heartbeat_timeout_secs": policy.heartbeat_timeout_secs,
    }


def lines_of(engine: Engine, head: Head, report: str) -> list[dict[str, Any]]:
    """Eager activities that a report started and nobody has ended: still its worker's."""
    seqs = [int(seq) for seq, line in head.eager.items() if line.get("r") == report]
    found = (history.find_schedule(engine, head, seq) for seq in sorted(seqs))
    return [eager_task(engine, head, scheduled) for scheduled in found if scheduled is not None]


def activity_task(engine: Engine, item: Activity) -> dict[str, Any]:
    namespace, run_id = item.run
    policy = activities.policy_of(item)
    text = payloads.text(engine, item.head_key, item.nonce, item.input)
    details = payloads.text(engine, item.head_key, item.nonce, item.details)
    return {
        "run": {"namespace": namespace, "id": run_id, "incarnation": item.nonce},
        "workflow_type": None,
        "activity_id": item.id,
        "seq": item.seq,
        "attempt": item.attempt,
        "name": item.type,
        "task_queue": item.queue,
        "input": None if text is None else values.parse(text),
        "context": _context(engine, item),
        "eager": False,
        "lease_secs": engine.options.lease_secs,
        "scheduled_at": item.scheduled_at,
        "details": None if details is None else values.parse(details),
        **_policy(policy),
    }


def _context(engine: Engine, item: Activity) -> Any:
    return payloads.context(engine, item.head_key, item.nonce) if item.has_context else None
