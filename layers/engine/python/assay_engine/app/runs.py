"""What a client does with a run: start, signal, cancel, terminate, continue, retry."""

from dataclasses import dataclass
from typing import Any

from ..core import ids, keys, limits
from ..core.change import Change, Drop, Equals, Exists
from ..core.draft import Draft
from ..core.errors import BusyError, ConflictError, NotFoundError
from ..core.history import EventType
from ..core.run import Head, Status
from ..core.values import Parcels
from . import ending, payloads
from .commits import continuation, free_id
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .names import RunRef, find, need
from .ports import ConditionFailedError, PutIf, TransactionRefusedError, Update
from .start import NewRun, put_run, stamped
from .views import Started

_TRIES = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    run_id: str
    type: str
    namespace: str = limits.DEFAULT_NAMESPACE
    queue: str = limits.DEFAULT_REST_QUEUE
    input: Any = None
    search_attributes: Any = None


def start(engine: Engine, request: StartRun) -> Started:
    new = NewRun(
        namespace=ids.check_name(request.namespace, "namespace"),
        run_id=ids.check_name(request.run_id, "workflow_id"),
        type=ids.check_name(request.type, "workflow_type"),
        queue=ids.check_name(request.queue, "task_queue"),
        nonce=engine.entropy.token(10),
        input=request.input,
        search_attributes=stamped(request.search_attributes),
    )
    try:
        return _started(put_run(engine, new))
    except ConditionFailedError:
        text = f"workflow {request.run_id} exists already"
        raise ConflictError(text, code="already_exists") from None


def _started(head: Head) -> Started:
    run_id = ids.run_id_text(head.id, head.created_at)
    return Started(workflow_id=head.id, run_id=run_id, namespace=head.namespace)


def signal(engine: Engine, ref: RunRef, name: str, payload: Any) -> bool:
    """Deliver a signal; False if the run is closed, which takes nothing any more."""
    ids.check_name(name, "signal name")
    key = keys.head(keys.default_namespace(ref.namespace), ref.run_id)
    parcels = Parcels()
    field = {} if payload is None else parcels.field(payload, "payload")
    if ref.namespace is None or parcels.items:
        head = need(engine, ref)
        key = head.key
        payloads.put(engine, key, head.nonce, parcels)
    received = Inbound(
        type=EventType.SIGNAL_RECEIVED,
        data={"n": name, **field},
        also=(Drop(("awaited", ids.short_hash(name))),),
    )
    try:
        append(engine, key, received)
    except NotAppendedError as refused:
        if refused.image is None:
            raise NotFoundError(f"workflow {ref.run_id}") from None
        return False
    return True


def cancel(engine: Engine, ref: RunRef, reason: str | None) -> None:
    head = find(engine, ref)
    if head is None or not ending.request_cancel(engine, head.key, reason):
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
        target = continuation(engine, source, name, value)
        try:
            _switch(engine, source, target)
        except TransactionRefusedError as refused:
            if 0 in refused.failed and len(refused.failed) == 1 and source.is_open:
                continue
            if target_id is None:
                continue
            text = f"cannot continue as {name}: that id exists"
            raise ConflictError(text, code="already_exists") from None
        engine.wakeups.notify(target.slot)
        return _started(target)
    raise BusyError("the run is changing too fast")


def _switch(engine: Engine, source: Head, target: Head) -> None:
    if not source.is_open:
        try:
            engine.store.put(target)
        except ConditionFailedError:
            raise TransactionRefusedError((1,)) from None
        return
    draft = Draft(head=source, now=engine.now())
    draft.append(EventType.COMPLETED, {})
    draft.close(Status.COMPLETED)
    draft.put("seen", value=draft.length)
    draft.put("continued_to", value=target.id)
    when = (Exists(("open",)), Equals(("version",), source.version))
    change = Change(when=when, do=draft.finish())
    engine.store.transact([Update(Head, source.key, change), PutIf(target)])
    if source.owed or source.watched:
        closed = engine.store.get(Head, source.key)
        if closed is not None:
            ending.finish(engine, closed)
