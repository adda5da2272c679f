"""Starting a run: what if its id is taken, messages it finds when it begins, and the worker
that starts it and takes its first task at once."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ..core import ids, limits, options
from ..core.change import Drop, Equals
from ..core.errors import BusyError, ConflictError
from ..core.history import EventType
from ..core.need import need
from ..core.options import Options
from ..core.run import STATUS_LETTERS, Head, Status
from ..core.values import Parcels
from . import claims, dispatch, ending, incarnations, payloads
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .ports import ConditionFailedError
from .start import Message, NewRun, prepare_run, signal_data, stamped
from .views import Started

_TRIES = 25


class IdConflictPolicy(StrEnum):
    """What if an open run has the id."""

    FAIL = "fail"
    USE_EXISTING = "use_existing"
    TERMINATE_EXISTING = "terminate_existing"


class IdReusePolicy(StrEnum):
    """What if a run that has ended has the id."""

    ALLOW = "allow_duplicate"
    AFTER_FAILURE = "allow_duplicate_failed_only"
    REJECT = "reject_duplicate"


_FAILED = (Status.FAILED, Status.CANCELLED, Status.TIMED_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class EagerStart:
    """The worker that starts the run and takes its first task with the answer."""

    worker: str
    lease: str | None = None
    """The token of its lease: with it, a repeated start is known for what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    run_id: str
    type: str
    namespace: str = limits.DEFAULT_NAMESPACE
    queue: str = limits.DEFAULT_REST_QUEUE
    input: Any = None
    search_attributes: Any = None
    options: Options = options.NONE
    messages: tuple[Message, ...] = ()
    on_conflict: IdConflictPolicy = IdConflictPolicy.FAIL
    on_reuse: IdReusePolicy = IdReusePolicy.REJECT
    eager: EagerStart | None = None


def start(engine: Engine, request: StartRun) -> Started:
    for message in request.messages:
        ids.check_name(message.name, "signal name")
    new = NewRun(
        namespace=ids.check_name(request.namespace, "namespace"),
        run_id=ids.check_name(request.run_id, "workflow_id"),
        type=ids.check_name(request.type, "workflow_type"),
        queue=ids.check_name(request.queue, "task_queue"),
        nonce=engine.entropy.token(ids.NONCE_CHARS),
        input=request.input,
        search_attributes=stamped(request.search_attributes),
        options=request.options,
        messages=request.messages,
    )
    head = _taken(engine, prepare_run(engine, new), request.eager)
    try:
        engine.store.put(head)
    except ConditionFailedError as failed:
        return _on_conflict(engine, head, failed.image, request)
    engine.wakeups.notify(head.slot)
    return _started(engine, head, request)


def _taken(engine: Engine, head: Head, eager: EagerStart | None) -> Head:
    """As if the worker had claimed it, unless it has to wait."""
    if eager is None or head.start_at is not None:
        return head
    until = head.created_at + claims.lease_secs(engine, head.task_secs)
    taken = replace(
        head,
        lease_token=eager.lease or engine.entropy.token(claims.TOKEN_CHARS),
        lease_worker=eager.worker,
        lease_until=until,
        lease_taken=head.created_at,
        lease_length=head.length,
        status_letter=STATUS_LETTERS[Status.RUNNING],
        running_at=head.created_at,
    )
    return replace(taken, due=need(taken, head.created_at))


def _started(engine: Engine, head: Head, request: StartRun, *, started: bool = True) -> Started:
    task = None
    if request.eager is not None and head.lease_token is not None and started:
        task = dispatch.workflow_task(engine, head, 0)
    return Started(
        workflow_id=head.id,
        run_id=head.incarnation_id,
        namespace=head.namespace,
        status=head.status,
        started=started,
        workflow_task=task,
    )


def _on_conflict(engine: Engine, new: Head, found: object, request: StartRun) -> Started:
    """The id is taken: do what the policies say to the run that `found` shows, or look again."""
    for _ in range(_TRIES):
        assert isinstance(found, Head), "a head is never deleted"
        if _is_repeat(engine, found, request.eager):
            return _started(engine, found, request)
        try:
            if found.is_open:
                return _with_open(engine, new, found, request)
            _check_reuse(found, request)
            incarnations.reuse(engine, found, new)
            return _replaced(engine, found, new, request)
        except ConditionFailedError as failed:
            found = failed.image
        except NotAppendedError as refused:
            found = refused.image
    raise BusyError("the id is changing hands too fast")


def _with_open(engine: Engine, new: Head, found: Head, request: StartRun) -> Started:
    """Raises ConditionFailedError, or NotAppendedError, if it is no longer as it was found."""
    match request.on_conflict:
        case IdConflictPolicy.USE_EXISTING:
            if request.messages:
                found = _deliver(engine, found, request.messages)
            return _started(engine, found, request, started=False)
        case IdConflictPolicy.TERMINATE_EXISTING:
            ending.replace_open(engine, found, new)
            return _replaced(engine, found, new, request)
        case IdConflictPolicy.FAIL:
            raise _exists(found.id)


def _replaced(engine: Engine, old: Head, new: Head, request: StartRun) -> Started:
    return _started(engine, incarnations.successor(old, new), request)


def _check_reuse(closed: Head, request: StartRun) -> None:
    match request.on_reuse:
        case IdReusePolicy.REJECT:
            raise _exists(closed.id)
        case IdReusePolicy.AFTER_FAILURE if closed.status not in _FAILED:
            raise _exists(closed.id)
        case _:
            return


def _exists(run_id: str) -> ConflictError:
    return ConflictError(f"workflow {run_id} exists already", code="already_exists")


def _is_repeat(engine: Engine, found: Head, eager: EagerStart | None) -> bool:
    """A start sent again by a worker that holds the first task of the run it has started."""
    return (
        eager is not None
        and eager.lease is not None
        and found.leased(engine.now())
        and (found.lease_token, found.lease_worker) == (eager.lease, eager.worker)
    )


def _deliver(engine: Engine, head: Head, messages: tuple[Message, ...]) -> Head:
    """All of them in one write: who is cut short has delivered none, or all."""
    parcels = Parcels()
    data = [signal_data(message, parcels) for message in messages]
    payloads.put(engine, head.key, head.nonce, parcels)
    names = dict.fromkeys(message.name for message in messages)
    return append(
        engine,
        head.key,
        Inbound(
            type=EventType.SIGNAL_RECEIVED,
            data=data[0],
            following=tuple((EventType.SIGNAL_RECEIVED, further) for further in data[1:]),
            guard=(Equals(("nonce",), head.nonce),),
            also=tuple(Drop(("awaited", ids.short_hash(name))) for name in names),
        ),
    )
