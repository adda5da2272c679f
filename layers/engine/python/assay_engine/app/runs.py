"""What a client does with a run: start, signal, cancel, terminate, continue, retry."""

from typing import Any

from ..core import ids, keys
from ..core.change import Change, Condition, Drop, Equals, Exists, apply
from ..core.draft import Draft
from ..core.errors import BusyError, ConflictError, NotFoundError
from ..core.history import EventType
from ..core.run import Head, Status
from ..core.values import Parcels
from . import ending, payloads
from .commits import free_id
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .names import RunRef, find, need
from .ports import ConditionFailedError, PutIf, TransactionRefusedError, Update
from .starting import StartRun, start
from .successors import continuation
from .views import Started

__all__ = ("StartRun", "cancel", "continue_as_new", "signal", "start", "terminate")

_TRIES = 25


def signal(engine: Engine, ref: RunRef, name: str, payload: Any) -> bool:
    """Deliver a signal; False if the run is closed, which takes nothing any more."""
    ids.check_name(name, "signal name")
    key = keys.head(keys.default_namespace(ref.namespace), ref.run_id)
    parcels = Parcels()
    field = {} if payload is None else parcels.field(payload, "payload")
    for _ in range(_TRIES):
        guard: tuple[Condition, ...] = ()
        if ref.namespace is None or parcels.items:
            head = need(engine, ref)
            key = head.key
            payloads.put(engine, key, head.nonce, parcels)
            # A big payload stands beside this incarnation, and no other finds it.
            guard = (Equals(("nonce",), head.nonce),) if parcels.items else ()
        received = Inbound(
            type=EventType.SIGNAL_RECEIVED,
            data={"n": name, **field},
            guard=guard,
            also=(Drop(("awaited", ids.short_hash(name))),),
        )
        try:
            append(engine, key, received)
        except NotAppendedError as refused:
            if refused.image is None:
                raise NotFoundError(f"workflow {ref.run_id}") from None
            if not refused.image.is_open:
                return False
            continue
        return True
    raise BusyError("the id is changing hands too fast")


def cancel(engine: Engine, ref: RunRef, reason: str | None, deadline: float | None = None) -> None:
    """`deadline`: after so many seconds the run is closed, even if it still cleans up."""
    head = find(engine, ref)
    asked = head is not None and ending.request_cancel(engine, head.key, reason, deadline=deadline)
    if not asked:
        raise _gone(ref)


def terminate(engine: Engine, ref: RunRef, reason: str | None) -> None:
    head = find(engine, ref)
    if head is None or not ending.terminate(engine, head.key, reason):
        raise _gone(ref)


def _gone(ref: RunRef) -> NotFoundError:
    return NotFoundError(f"workflow {ref.run_id} not found or already terminal")


def continue_as_new(engine: Engine, ref: RunRef, value: Any, target_id: str | None) -> Started:
    """Close a run, if it is open, and start the one that continues it: both or neither."""
    if target_id is not None:
        ids.check_name(target_id, "workflow_id")
    for _ in range(_TRIES):
        source = need(engine, ref)
        name = target_id or free_id(engine, source)
        closing = _closing(engine, source, name) if source.is_open else None
        target = continuation(engine, source, name, value, closing)
        try:
            _switch(engine, source, closing, target)
        except TransactionRefusedError as refused:
            if 0 in refused.failed and len(refused.failed) == 1 and source.is_open:
                continue
            if target_id is None:
                continue
            text = f"cannot continue as {name}: that id exists"
            raise ConflictError(text, code="already_exists") from None
        engine.wakeups.notify(target.slot)
        return Started(
            workflow_id=target.id, run_id=target.incarnation_id, namespace=target.namespace
        )
    raise BusyError("the run is changing too fast")


def _closing(engine: Engine, source: Head, target_id: str) -> Change:
    draft = Draft(head=source, now=engine.now())
    draft.append(EventType.COMPLETED, {})
    draft.close(Status.COMPLETED)
    draft.put("seen", value=draft.length)
    draft.put("continued_to", value=target_id)
    when = (Exists(("open",)), Equals(("version",), source.version))
    return Change(when=when, do=draft.finish())


def _switch(engine: Engine, source: Head, closing: Change | None, target: Head) -> None:
    if closing is None:
        try:
            engine.store.put(target)
        except ConditionFailedError:
            raise TransactionRefusedError((1,)) from None
        return
    engine.store.transact([Update(Head, source.key, closing), PutIf(target)])
    if source.owed or source.watched:
        ending.finish(engine, apply(source, closing.do))
