"""Ending runs from outside: cancel, terminate, and what a closed run still owes.

The event comes first, then the items of queued activities, then the children, down the
tree; whoever settles the run next goes on where somebody was cut short.
"""

from contextlib import suppress
from dataclasses import replace

from ..core import activity as states
from ..core import ids, keys, limits
from ..core.activity import Activity
from ..core.change import (
    Action,
    Change,
    Contains,
    Drop,
    Equals,
    Exclude,
    Exists,
    Missing,
    Plus,
    Put,
)
from ..core.decide import CANCELLED_BEFORE
from ..core.draft import Draft
from ..core.errors import BusyError
from ..core.history import EventType
from ..core.keys import Key
from ..core.options import ParentClosePolicy
from ..core.run import Head
from ..core.settle import ENDED_FROM_OUTSIDE
from . import calls, children, history, incarnations, owed, payloads, stopping, watching
from .children import Child
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .ports import ConditionFailedError

_TRIES = 25


def request_cancel(
    engine: Engine,
    key: Key,
    reason: str | None,
    *,
    nonce: str | None = None,
    deadline: float | None = None,
) -> bool:
    """Ask a run to end; one that never ran ends at once. False if it is closed or unknown.
    `nonce`: only this incarnation of the id. `deadline`: after so many seconds it is ended."""
    request = stopping.cancel_request(reason, engine.now(), nonce=nonce, deadline=deadline)
    for _ in range(_TRIES):
        try:
            head = append(engine, key, request)
        except NotAppendedError as refused:
            image = refused.image
            if image is None or not image.is_open or nonce not in (None, image.nonce):
                return False
            if _close(engine, stopping.cancelled(image, reason, engine.now())) is not None:
                return True
            continue
        cancel_pending(engine, head, reason)
        return True
    raise BusyError("the run is changing too fast")


def terminate(engine: Engine, key: Key, reason: str | None, *, nonce: str | None = None) -> bool:
    """End a run at once. False if it is closed or unknown, or not the incarnation named."""
    for _ in range(_TRIES):
        head = engine.store.get(Head, key)
        if head is None or not head.is_open or nonce not in (None, head.nonce):
            return False
        if _close(engine, stopping.terminated(head, reason, engine.now())) is not None:
            return True
    raise BusyError("the run is changing too fast")


def replace_open(engine: Engine, head: Head, new: Head) -> None:
    """Terminate a run and put another in its place: both or neither, so that whoever is cut
    short has not ended a run for nothing. Raises ConditionFailedError."""
    why = "terminated: another run was started with this id"
    draft = stopping.terminated(head, why, engine.now())
    when = (Exists(("open",)), Equals(("version",), head.version))
    change = Change(when=when, do=draft.finish())
    after_close(engine, incarnations.supersede(engine, head, change, new))


def _close(engine: Engine, draft: Draft) -> Head | None:
    head = draft.head
    payloads.put(engine, head.key, head.nonce, draft.parcels)
    when = (Exists(("open",)), Equals(("version",), head.version))
    try:
        closed = engine.store.update(Head, head.key, Change(when=when, do=draft.finish()))
    except ConditionFailedError:
        return None
    after_close(engine, closed)
    return closed


def after_close(engine: Engine, head: Head) -> None:
    """The parent is told at once, as far as that works (the stream tells it again), and what
    the run still owes is paid."""
    with suppress(BusyError):
        children.notify_parent(engine, head)
    if head.due is not None:
        finish(engine, head)


def pay(engine: Engine, head: Head) -> owed.Paid:
    """Put what a run owes and make its calls. A run that it has stopped stops what that one has
    started, before the call is noted: otherwise nobody would, should this be cut short."""
    paid = owed.pay(engine, head)
    left = set(paid.left)
    for made in paid.calls:
        try:
            if made.stopped is not None:
                _stop(engine, made.stopped)
            calls.note(engine, head, made)
        except BusyError:
            left.add(made.called.seq)
    return replace(paid, left=frozenset(left))


def _stop(engine: Engine, stopped: Head) -> None:
    if not stopped.is_open:
        after_close(engine, stopped)
    elif stopped.cancel_after is not None:
        cancel_pending(engine, stopped, reason=None)


def finish(engine: Engine, head: Head) -> None:
    """Pay the debts of a closed run, then take it out of the index."""
    if head.is_open:
        return
    left = pay(engine, head).left
    told = watching.tell_all(engine, head)
    if head.cleanup == ENDED_FROM_OUTSIDE:
        _cancel_queued(engine, head, up_to=head.length)
    if head.cleanup:
        _end_children(engine, head)
    gone: tuple[Action, ...] = tuple(
        Drop((name,)) for name in ("owed", "queued", "cleanup", "watched", "due")
    )
    if left or not told:
        # Somebody it calls, or has to tell, is too busy: it stays in the index for that.
        gone = (Put(("owed",), left), Put(("due",), engine.now() + limits.OWED_SECS))
    change = Change(
        when=(Missing(("open",)), Equals(("version",), head.version)),
        do=(*gone, Plus(("version",), 1)),
    )
    with suppress(ConditionFailedError):  # somebody else is at it
        engine.store.update(Head, head.key, change)


def cancel_pending(engine: Engine, head: Head, reason: str | None) -> None:
    """What an open run had started before its cancel was requested, and nobody runs yet."""
    if head.queued:
        cancelled = _cancel_queued(engine, head, up_to=head.cancel_after or head.length)
        _tell_cancelled(engine, head, cancelled)
    if head.children:
        _cancel_children(engine, head, reason)


def _cancel_queued(engine: Engine, head: Head, *, up_to: int) -> dict[int, int]:
    """Cancel activities still waiting: activity seq -> seq of its event."""
    waiting = head.queued or frozenset()
    cancelled = {}
    for numbered in history.load(engine, head) if waiting else []:
        event = numbered.event
        if event.type is not EventType.ACTIVITY_SCHEDULED or numbered.seq > up_to:
            continue
        seq = int(event.data["q"])
        activity_id = ids.activity_id(head.nonce, numbered.seq)
        key = keys.activity(activity_id, head.nonce, numbered.seq)
        if seq in waiting and _cancel_item(engine, key):
            cancelled[seq] = numbered.seq
    return cancelled


def _cancel_item(engine: Engine, key: Key) -> bool:
    change = Change(
        when=(Equals(("status_letter",), states.READY),),
        do=(
            Put(("status_letter",), states.CANCELLED),
            Put(("completed_at",), engine.now()),
            Drop(("due",)),
            Drop(("lease_until",)),
            Plus(("version",), 1),
        ),
    )
    try:
        engine.store.update(Activity, key, change)
    except ConditionFailedError as failed:
        image = failed.image
        return isinstance(image, Activity) and image.status_letter == states.CANCELLED
    return True


def _tell_cancelled(engine: Engine, head: Head, cancelled: dict[int, int]) -> None:
    """Its code may still wait for activities that nobody will run: they failed."""
    for seq, scheduled in cancelled.items():
        failed = Inbound(
            type=EventType.ACTIVITY_FAILED,
            data={"q": seq, "e": CANCELLED_BEFORE, "f": 0},
            guard=(Equals(("nonce",), head.nonce), Contains(("queued",), seq)),
            also=(
                Exclude(("queued",), frozenset({seq})),
                Exclude(("owed",), frozenset({scheduled})),
            ),
        )
        with suppress(NotAppendedError):  # told before, or closed meanwhile
            append(engine, head.key, failed)


def _cancel_children(engine: Engine, head: Head, reason: str | None) -> None:
    """A run is asked to end, and so are its children: all but those it would leave behind."""
    for child in children.started(engine, head):
        if child.policy is not ParentClosePolicy.ABANDON:
            _end_child(engine, child, ParentClosePolicy.REQUEST_CANCEL, reason)


def _end_children(engine: Engine, head: Head) -> None:
    """What becomes of the children of a closed run, and of those that earlier runs of its
    chain have left to it."""
    for run in children.chain_before(engine, head):
        for child in children.started(engine, run):
            policy = child.policy
            if policy is None and run is head and head.cleanup == ENDED_FROM_OUTSIDE:
                policy = ParentClosePolicy.REQUEST_CANCEL
            elif head.retried_as is not None:
                policy = None  # they stay until the last attempt ends
            if policy is not None:
                _end_child(engine, child, policy, "the parent run ended")


def _end_child(engine: Engine, child: Child, policy: ParentClosePolicy, reason: str | None) -> None:
    """Ask a child to end, or end it, at whatever run its chain has come to."""
    if policy is ParentClosePolicy.ABANDON:
        return
    for _ in range(_TRIES):
        run = incarnations.child(engine, engine.store.get(Head, child.key), child.nonce)
        if run is None or not run.is_open:
            return
        if policy is ParentClosePolicy.TERMINATE:
            ended = terminate(engine, run.key, reason, nonce=run.nonce)
        else:
            ended = run.cancel_after is not None or request_cancel(
                engine, run.key, reason, nonce=run.nonce
            )
        if ended:
            return
        # It closed just now: perhaps to go on as another run.
