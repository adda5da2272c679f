"""How a parent hears of its children: by a notice when one closes, by an hourly look."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..core import failures, ids, keys, values
from ..core import history as log
from ..core.history import EventType, Numbered
from ..core.keys import Key
from ..core.options import ParentClosePolicy
from ..core.run import Head, Status
from . import history, incarnations, payloads
from .engine import Engine
from .inbound import NotAppendedError, append
from .owed import child_guard, child_outcome

_ENDED = {Status.CANCELLED: "was cancelled", Status.TIMED_OUT: "timed out"}


def notify_parent(engine: Engine, child: Head) -> None:
    """Tell the parent how `child` ended. At least once, guarded by the child's nonce."""
    goes_on = child.continued_to is not None or child.retried_as is not None
    if child.is_open or child.parent is None or goes_on:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A child as its parent's history names it."""

    key: Key
    nonce: str
    policy: ParentClosePolicy | None


def started(engine: Engine, head: Head) -> list[Child]:
    """The children that a run still has in its books."""
    return [
        _child(head, n)
        for n in (history.load(engine, head) if head.children else [])
        if n.event.type is EventType.CHILD_STARTED and str(n.seq) in head.children
    ]


def _child(head: Head, numbered: Numbered) -> Child:
    data = numbered.event.data
    return Child(
        key=keys.head(head.namespace, str(data["i"])),
        nonce=ids.child_nonce(head.nonce, numbered.seq),
        policy=ParentClosePolicy(data["p"]) if "p" in data else None,
    )


def chain_before(engine: Engine, head: Head) -> Iterator[Head]:
    """The run, and those before it in its chain that have left children to it."""
    run: Head | None = head
    while run is not None:
        yield run
        link = run.earlier
        if link is None:
            return
        run = incarnations.find(engine, keys.head(run.namespace, str(link["i"])), str(link["n"]))


def check(engine: Engine, head: Head) -> None:
    """Look at every open child: a notice may have been lost."""
    waiting = started(engine, head)
    heads = engine.store.get_many(Head, sorted({child.key for child in waiting}))
    for child in waiting:
        run = incarnations.child(engine, heads.get(child.key), child.nonce)
        if run is not None and not run.is_open:
            notify_parent(engine, run)


def all_of(engine: Engine, head: Head) -> list[Head]:
    """Every run that is or was a child of this one, with the runs that continue them."""
    found: list[Head] = []
    events = history.load(engine, head)
    known = [_child(head, n) for n in events if n.event.type is EventType.CHILD_STARTED]
    heads = engine.store.get_many(Head, sorted({child.key for child in known}))
    for child in known:
        run = incarnations.newest(engine, heads.get(child.key), child.nonce)
        while run is not None:
            found.append(run)
            run = incarnations.continued(engine, run, child.nonce)
    return found
