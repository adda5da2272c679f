"""How a parent hears of its children: by a notice when one closes, by an hourly look."""

from contextlib import suppress
from typing import Any

from ..core import failures, ids, keys, values
from ..core import history as log
from ..core.history import EventType
from ..core.run import Head, Status
from . import history, payloads
from .engine import Engine
from .inbound import NotAppendedError, append
from .owed import child_guard, child_outcome

_ENDED = {Status.CANCELLED: "was cancelled", Status.TIMED_OUT: "timed out"}


def notify_parent(engine: Engine, child: Head) -> None:
    """Tell the parent how `child` ended. At least once, guarded by the child's nonce."""
    if child.is_open or child.parent is None or child.continued_to is not None:
        return
    link = child.parent
    first_id = str(link.get("c", child.id))
    type_, data = _outcome(engine, child, first_id)
    parent = keys.head(child.namespace, str(link["i"]))
    mark = ids.child_mark(str(link["n"]), first_id)
    seq = int(link["s"])
    with suppress(NotAppendedError):  # closed, or told before
        append(engine, parent, child_outcome(type_, data, seq, (child_guard(seq, mark),)))


def _outcome(engine: Engine, child: Head, first_id: str) -> tuple[EventType, dict[str, Any]]:
    closing = log.unpack(child.tail[-1])
    stored = values.from_field(closing.data)
    text = payloads.text(engine, child.key, child.nonce, stored)
    parcels = values.Parcels()
    if child.status is Status.COMPLETED:
        field = {} if text is None else parcels.field(values.parse(text), "result")
        data: dict[str, Any] = {"i": first_id, **field}
        kind = EventType.CHILD_COMPLETED
    else:
        kind = EventType.CHILD_FAILED
        error = _ENDED.get(child.status)
        error = f"child workflow {error}" if error else str(closing.data.get("e") or text)
        if len(error) <= 1000:
            data = {"i": first_id, "e": error}
        else:
            data = {"i": first_id, **parcels.field(error, "error")}
        failure = payloads.second(engine, child.key, child.nonce, closing.data, failures.FIELD)
        data |= failures.field(parcels, failure)
    _park(engine, child, parcels)
    return kind, data


def _park(engine: Engine, child: Head, parcels: values.Parcels) -> None:
    """A big result becomes the parent's: its payload stands beside the parent."""
    if not parcels.items or child.parent is None:
        return
    parent_key = keys.head(child.namespace, str(child.parent["i"]))
    parent = engine.store.get(Head, parent_key)
    if parent is not None:
        payloads.put(engine, parent_key, parent.nonce, parcels)


def check(engine: Engine, head: Head) -> None:
    """Look at every open child: a notice may have been lost."""
    started = {
        n.seq: str(n.event.data["i"])
        for n in history.load(engine, head)
        if n.event.type is EventType.CHILD_STARTED and str(n.seq) in head.children
    }
    for child in closed_chain(engine, head, set(started.values())):
        notify_parent(engine, child)


def closed_chain(engine: Engine, head: Head, child_ids: set[str]) -> list[Head]:
    """The children, each at the end of its chain of continuations, that are closed."""
    found = []
    waiting = {keys.head(head.namespace, child_id) for child_id in child_ids}
    while waiting:
        heads = engine.store.get_many(Head, sorted(waiting)).values()
        waiting = set()
        for child in heads:
            if child.continued_to is not None:
                waiting.add(keys.head(child.namespace, child.continued_to))
            elif not child.is_open:
                found.append(child)
    return found
