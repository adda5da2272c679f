"""How a run hears of the end of another that it monitors or is linked to.

A watcher is an item beside the watched run, put before the flag in its head; whoever closes
the run sees the flag, which is a debt of the closed run until everybody was told. A run that
is continued hands its watchers on. Each end lands once: while the call that asked for it is in
the watcher's `watching`, and on the other side of a link, for which nobody there has called,
by a marker.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core import failures, keys, values
from ..core import history as log
from ..core.change import Change, Contains, Equals, Exclude, Exists, Plus, Put
from ..core.errors import BusyError
from ..core.history import EventType
from ..core.keys import Key
from ..core.run import Head, Status, Watcher
from ..core.values import Parcels
from . import delivery, payloads
from .delivery import Deed
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .ports import ConditionFailedError

_TRIES = 25


def watch(engine: Engine, watcher: Watcher, key: Key) -> None:
    """Have a run told how the run at `key` ends, or the last of those that continue it; at
    once, if it has ended. Rows `watcher` and `watched`."""
    tries = _TRIES
    while tries:
        target = end_of_chain(engine, key)
        if target is None:
            return
        if not target.is_open:
            _tell(engine, target, watcher)
            return
        with suppress(ConditionFailedError):  # put before
            engine.store.put(replace(watcher, key=keys.watcher(target.key, target.nonce, watcher)))
        if _flagged(engine, target):
            return
        tries -= 1
    raise BusyError("the run is changing too fast")


def _flagged(engine: Engine, target: Head) -> bool:
    """Who closes the run from now on sees that somebody wants to know."""
    change = Change(
        when=(Exists(("open",)), Equals(("nonce",), target.nonce)),
        do=(Put(("watched",), 1), Plus(("version",), 1)),
    )
    try:
        engine.store.update(Head, target.key, change)
    except ConditionFailedError:
        return False
    return True


def end_of_chain(engine: Engine, key: Key) -> Head | None:
    """The run at `key`, or the last one that continues it."""
    head = engine.store.get(Head, key)
    while head is not None and (following := _successor(head)) is not None:
        head = engine.store.get(Head, following)
    return head


def _successor(head: Head) -> Key | None:
    if head.retried_as is not None:
        return keys.head(head.namespace, head.id)
    return None if head.continued_to is None else keys.head(head.namespace, head.continued_to)


def tell_all(engine: Engine, head: Head) -> bool:
    """Tell everybody who watches a closed run. At least once; False if somebody was busy."""
    if head.is_open or not head.watched:
        return True
    told = True
    for watcher in engine.store.query(Watcher, keys.watchers(head.key, head.nonce)):
        following = _successor(head)
        try:
            if following is None:
                _tell(engine, head, watcher)
            else:
                watch(engine, watcher, following)
        except BusyError:
            told = False
    return told


def _tell(engine: Engine, ended: Head, watcher: Watcher) -> None:
    key = keys.head(ended.namespace, watcher.run_id)
    parcels = Parcels()
    data = {"i": watcher.name, **_outcome(engine, ended, parcels)}
    if watcher.link:
        data["l"] = 1
    payloads.put(engine, key, watcher.nonce, parcels)
    if watcher.call_seq is None:
        exited = Inbound(type=EventType.WORKFLOW_EXITED, data=data)
        deed = Deed(
            write=lambda image: delivery.append_change(engine, image, exited),
            mark=keys.exit_mark(key, watcher.origin, watcher.seq),
            nonce=watcher.nonce,
        )
        delivery.deliver(engine, key, deed)
        return
    exited = Inbound(
        type=EventType.WORKFLOW_EXITED,
        data={"q": watcher.call_seq, **data},
        guard=(Equals(("nonce",), watcher.nonce), Contains(("watching",), watcher.seq)),
        also=(Exclude(("watching",), frozenset({watcher.seq})),),
    )
    with suppress(NotAppendedError):  # closed, told before, or it no longer wants to know
        append(engine, key, exited)


def _outcome(engine: Engine, ended: Head, parcels: Parcels) -> dict[str, Any]:
    """How a run ended; what is long about it becomes the watcher's."""
    closing = log.unpack(ended.tail[-1])
    text = payloads.text(engine, ended.key, ended.nonce, values.from_field(closing.data))
    data: dict[str, Any] = {"s": ended.status}
    if ended.status is not Status.COMPLETED and "e" in closing.data:
        data["e"] = closing.data["e"]
    elif text is not None:
        data |= parcels.field(values.parse(text), "result")
    failure = payloads.second(engine, ended.key, ended.nonce, closing.data, failures.FIELD)
    return data | failures.field(parcels, failure)


def unlink(engine: Engine, head: Head, target_id: str, own: frozenset[int]) -> None:
    """Drop every link between a run and another, whoever made it; `own` are the seqs of its own
    links. What the run itself watches goes when the call is noted. Safe to repeat."""
    for watcher in engine.store.query(Watcher, keys.watchers(head.key, head.nonce)):
        mine = watcher.origin == head.nonce and watcher.seq in own
        if not watcher.link or not (mine or watcher.run_id == target_id):
            continue
        other = keys.head(head.namespace, watcher.run_id)
        if watcher.call_seq is None:
            _settle_exit(engine, other, watcher)
        else:
            _forget(engine, other, watcher)
            _settle_exit(engine, head.key, watcher)


def _settle_exit(engine: Engine, key: Key, watcher: Watcher) -> None:
    """The other side of a link shall not hear of its end. Row `marker of an exit`."""
    delivery.first_verdict(engine, keys.exit_mark(key, watcher.origin, watcher.seq), "UNLINKED")


def _forget(engine: Engine, key: Key, watcher: Watcher) -> None:
    change = Change(
        when=(Exists(("open",)), Equals(("nonce",), watcher.nonce)),
        do=(Exclude(("watching",), frozenset({watcher.seq})), Plus(("version",), 1)),
    )
    with suppress(ConditionFailedError):  # closed: nothing lands there any more
        engine.store.update(Head, key, change)
