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
    Drop,
    Equals,
    Exclude,
    Exists,
    Missing,
    Plus,
    Put,
)
from ..core.draft import Draft
from ..core.errors import BusyError
from ..core.history import EventType
from ..core.keys import Key
from ..core.run import Head
from . import calls, children, history, owed, payloads, stopping, watching
from .engine import Engine
from .inbound import NotAppendedError, append
from .ports import ConditionFailedError

_TRIES = 25


def request_cancel(engine: Engine, key: Key, reason: str | None) -> bool:
    """Ask a run to end; one that never ran ends at once. False if it is closed or unknown."""
    request = stopping.cancel_request(reason, engine.now())
    for _ in range(_TRIES):
        try:
            head = append(engine, key, request)
        except NotAppendedError as refused:
            image = refused.image
            if image is None or not image.is_open:
                return False
            if _close(engine, stopping.cancelled(image, reason, engine.now())) is not None:
                return True
            continue
        cancel_pending(engine, head, reason)
        return True
    raise BusyError("the run is changing too fast")


def terminate(engine: Engine, key: Key, reason: str | None) -> bool:
    """End a run at once. False if it is closed or unknown."""
    for _ in range(_TRIES):
        head = engine.store.get(Head, key)
        if head is None or not head.is_open:
            return False
        if _close(engine, stopping.terminated(head, reason, engine.now())) is not None:
            return True
    raise BusyError("the run is changing too fast")


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
    if head.cleanup:
        _cancel_queued(engine, head, up_to=head.length)
        _cancel_children(engine, head, reason="the parent run ended")
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
        _drop(engine, head, cancelled)
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


def _drop(engine: Engine, head: Head, cancelled: dict[int, int]) -> None:
    """Take cancelled activities out of the head's books."""
    if not cancelled:
        return
    change = Change(
        when=(Exists(("open",)), Equals(("nonce",), head.nonce)),
        do=(
            Exclude(("queued",), frozenset(cancelled)),
            Exclude(("owed",), frozenset(cancelled.values())),
            Plus(("version",), 1),
        ),
    )
    with suppress(ConditionFailedError):  # closed meanwhile
        engine.store.update(Head, head.key, change)


def _cancel_children(engine: Engine, head: Head, reason: str | None) -> None:
    for numbered in history.load(engine, head) if head.children else []:
        event = numbered.event
        if event.type is not EventType.CHILD_STARTED or str(numbered.seq) not in head.children:
            continue
        child_id, nonce = str(event.data["i"]), ids.child_nonce(head.nonce, numbered.seq)
        _cancel_child(engine, keys.head(head.namespace, child_id), nonce, reason)


def _cancel_child(engine: Engine, key: Key, nonce: str, reason: str | None) -> None:
    """Ask a child to end, at whatever run its chain has come to."""
    for _ in range(_TRIES):
        child = _end_of_chain(engine, key)
        if child is None or (child.parent or {}).get("n") != nonce:
            return
        if not child.is_open or child.cancel_after is not None:
            return
        if request_cancel(engine, child.key, reason):
            return
        # It closed just now: perhaps to continue as another run.


def _end_of_chain(engine: Engine, key: Key) -> Head | None:
    """The last run of a chain of continuations."""
    head = engine.store.get(Head, key)
    while head is not None and head.continued_to is not None:
        head = engine.store.get(Head, keys.head(head.namespace, head.continued_to))
    return head
