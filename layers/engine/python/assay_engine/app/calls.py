"""Paying a CallWorkflow: doing to the other run what was asked, once, and saying how it went.

The call is in history and owed. Anybody may pay it, any number of times: a marker beside the
other run tells that it was done, and the outcome lands only while the call is owed.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..core import keys, values
from ..core.calls import CLOSED, NOT_FOUND, Call
from ..core.change import Change, Contains, Equals, Exclude, Exists
from ..core.draft import Draft
from ..core.history import EventType, Numbered
from ..core.run import Head, Status, Watcher
from . import delivery, history, payloads, signals, stopping, watching
from .delivery import Deed, Delivered
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .ports import ConditionFailedError
from .signals import Signal

_VERDICTS = {Delivered.CLOSED: CLOSED, Delivered.NOT_FOUND: NOT_FOUND}
_STOPS = (Call.CANCEL, Call.TERMINATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A call that was made, now or before, and is still to be noted."""

    called: Numbered
    verdict: str | None = None
    """The kind of its error, if it failed."""
    stopped: Head | None = None
    """A run that was asked to end, or ended: first what it has started is to be stopped."""


def make(engine: Engine, head: Head, called: Numbered) -> Made:
    """`head` is an image of the run that calls. Raises BusyError: the call stays owed."""
    data = called.event.data
    verdict = _perform(engine, head, called)
    stopped = None
    if verdict is None and data["c"] in _STOPS:
        # Also if it was done before: who did it may not have come further than that.
        stopped = engine.store.get(Head, _target(head, data))
    return Made(called=called, verdict=verdict, stopped=stopped)


def _target(head: Head, data: Mapping[str, Any]) -> keys.Key:
    return keys.head(head.namespace, str(data["i"]))


def _perform(engine: Engine, head: Head, called: Numbered) -> str | None:
    """What became of the call: None, or the kind of its error."""
    match called.event.data["c"]:
        case Call.MONITOR | Call.LINK:
            return _watch(engine, head, called)
        case Call.UNMONITOR:
            return None
        case Call.UNLINK:
            own = _dropped(engine, head, called)
            watching.unlink(engine, head, str(called.event.data["i"]), own)
            return None
        case _:
            return _deliver(engine, head, called)


def _watch(engine: Engine, head: Head, called: Numbered) -> str | None:
    data = called.event.data
    target = watching.end_of_chain(engine, _target(head, data))
    mark = keys.call_mark(_target(head, data), head.nonce, called.seq)
    verdict = delivery.first_verdict(engine, mark, NOT_FOUND if target is None else None)
    if verdict is not None:
        return verdict
    linked = 1 if data["c"] == Call.LINK else None
    caller = Watcher(
        key=head.key,
        run_id=head.id,
        nonce=head.nonce,
        seq=called.seq,
        origin=head.nonce,
        call_seq=data["q"],
        name=str(data["i"]),
        link=linked,
    )
    if linked and target is not None and target.is_open:
        _watch_back(engine, head, target, caller)
    watching.watch(engine, caller, _target(head, data))
    return None


def _watch_back(engine: Engine, head: Head, target: Head, caller: Watcher) -> None:
    """The other side of a link. The caller's own commit has set its flag, and it pays this
    before it tells anybody of its end. Row `watcher`."""
    other = replace(caller, run_id=target.id, nonce=target.nonce, call_seq=None, name=head.id)
    with suppress(ConditionFailedError):  # put before
        engine.store.put(replace(other, key=keys.watcher(head.key, head.nonce, other)))


def _dropped(engine: Engine, head: Head, called: Numbered) -> frozenset[int]:
    """Seqs of the earlier calls that an unmonitor or unlink takes back."""
    undone = {Call.UNMONITOR: Call.MONITOR, Call.UNLINK: Call.LINK}.get(called.event.data["c"])
    if undone is None or not head.watching:
        return frozenset()
    return frozenset(
        n.seq
        for n in history.load(engine, head, after=min(head.watching) - 1)
        if n.seq in head.watching
        and n.seq < called.seq
        and (n.event.data.get("c"), n.event.data.get("i")) == (undone, called.event.data["i"])
    )


def _deliver(engine: Engine, head: Head, called: Numbered) -> str | None:
    data = called.event.data
    target = _target(head, data)
    mark = keys.call_mark(target, head.nonce, called.seq)
    deed = Deed(
        write=lambda image: _change(engine, head, data, image),
        mark=mark,
        request_id=data.get("u") if data["c"] == Call.SIGNAL else None,
    )
    delivered = delivery.deliver(engine, target, deed)
    if delivered is Delivered.NOW:
        return None
    return delivery.first_verdict(engine, mark, _VERDICTS.get(delivered))


def _change(engine: Engine, head: Head, data: Mapping[str, Any], target: Head) -> Change:
    reason, now = data.get("e"), engine.now()
    if data["c"] == Call.SIGNAL:
        return signals.append_to(engine, target, _signal(engine, head, data))
    if data["c"] == Call.TERMINATE:
        return _closing(engine, stopping.terminated(target, reason, now))
    if target.status is Status.PENDING:
        return _closing(engine, stopping.cancelled(target, reason, now))
    request = stopping.cancel_request(reason, now, deadline=data.get("d"))
    return delivery.append_change(engine, target, request)


def _signal(engine: Engine, head: Head, data: Mapping[str, Any]) -> Signal:
    text = payloads.text(engine, head.key, head.nonce, values.from_field(data))
    return Signal(
        name=str(data["n"]),
        payload=None if text is None else values.parse(text),
        request_id=data.get("u"),
        reply_to=data.get("y"),
        sender=(head.id, head.incarnation_id),
    )


def _closing(engine: Engine, draft: Draft) -> Change:
    payloads.put(engine, draft.head.key, draft.head.nonce, draft.parcels)
    when = (Exists(("open",)), Equals(("version",), draft.head.version))
    return Change(when=when, do=draft.finish())


def note(engine: Engine, head: Head, made: Made) -> None:
    """Tell the run that called, once: only while it owes the call. Row `call noted`."""
    called, verdict = made.called, made.verdict
    error = {} if verdict is None else {"e": verdict}
    dropped = _dropped(engine, head, called) if verdict is None else frozenset({called.seq})
    ended = Inbound(
        type=EventType.WORKFLOW_CALL_ENDED,
        data={"q": called.event.data["q"], **error},
        guard=(Equals(("nonce",), head.nonce), Contains(("owed",), called.seq)),
        also=(
            Exclude(("owed",), frozenset({called.seq})),
            Exclude(("watching",), dropped),
        ),
    )
    with suppress(NotAppendedError):  # noted before, or closed: then nobody wants to know
        append(engine, head.key, ended)
