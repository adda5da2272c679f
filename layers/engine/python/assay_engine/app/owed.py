"""Putting what a commit owes: items of queued activities, children, merged attributes.

The commit recorded them in the head first; anybody may put them, any number of times. An
item is put only if absent and never deleted, so a late putter cannot start anything twice.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..core import history as log
from ..core import ids, keys, options, values
from ..core.activity import INVALIDATED, Activity, Policy
from ..core.change import (
    AnyOf,
    Below,
    Change,
    Condition,
    Drop,
    Equals,
    Exclude,
    Exists,
    Missing,
    Plus,
    Put,
)
from ..core.errors import BusyError
from ..core.history import EventType, Numbered
from ..core.render import shipped
from ..core.run import Head, Record
from . import calls, history, payloads, queues, replies
from .calls import Made
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .incarnations import put_child
from .ports import ConditionFailedError
from .start import NewRun, prepare_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    seqs: frozenset[int] = frozenset()
    """Of the events whose items are there: to be struck off."""
    calls: tuple[Made, ...] = ()
    """Of other runs: to be noted, which strikes them off."""
    left: frozenset[int] = frozenset()
    """Still owed, because another run is too busy."""


def pay(engine: Engine, head: Head) -> Paid:
    """Put everything `head` owes. `ending.pay` does what follows from its calls."""
    owed = head.owed or frozenset()
    if not owed:
        return Paid()
    first = min(owed)
    events = [n for n in history.load(engine, head, after=first - 1) if n.seq in owed]
    made: dict[int, Made | None] = {}
    for place, numbered in enumerate(events):
        if numbered.event.type is EventType.WORKFLOW_CALLED:
            made[numbered.seq] = _make(engine, head, numbered)
        else:
            # Told apart by microseconds, so that they are handed out in their order.
            _put(engine, head, numbered, (place - len(events)) * 1e-6)
    return Paid(
        seqs=owed.difference(made),
        calls=tuple(call for call in made.values() if call is not None),
        left=frozenset(seq for seq, call in made.items() if call is None),
    )


def _make(engine: Engine, head: Head, called: Numbered) -> Made | None:
    try:
        return calls.make(engine, head, called)
    except BusyError:
        return None


def _put(engine: Engine, head: Head, numbered: Numbered, offset: float) -> None:
    match numbered.event.type:
        case EventType.ACTIVITY_SCHEDULED:
            put_activity(engine, head, numbered, offset)
        case EventType.CHILD_STARTED:
            _put_child(engine, head, numbered)
        case EventType.ATTRIBUTES_UPSERTED:
            merge_attributes(engine, head)
        case EventType.ACTIVITY_RETRY_REQUESTED:
            _retry_activity(engine, head, numbered)
        case EventType.REPLY_SENT:
            replies.put(engine, head, numbered)
        case other:
            raise AssertionError(f"{other} owes nothing")


def hold_secs(policy: Policy) -> float:
    """How long a legacy worker may be silent: its heartbeat time-out, never past start-to-close."""
    silence = policy.heartbeat_timeout_secs or policy.start_to_close_secs
    return min(silence, policy.start_to_close_secs)


def activity_item(
    head: Head, scheduled: Numbered, *, due: float, attempt: int = 1, details: str | None = None
) -> Activity:
    data = scheduled.event.data
    policy = {letter: data[letter] for letter in "micsh" if letter in data}
    queue = str(data["k"])
    activity_id = ids.activity_id(head.nonce, scheduled.seq)
    return Activity(
        key=keys.activity(activity_id, head.nonce, scheduled.seq),
        run_pk=head.key.pk,
        seq=data["q"],
        type=data["n"],
        slot=keys.slot(head.namespace, queue, keys.ACTIVITIES),
        attempt=attempt,
        input=values.from_field(data),
        policy=policy or None,
        due=due,
        lease_until=hold_secs(log.policy_of(policy)),
        scheduled_at=scheduled.event.at,
        details=details,
        has_context=head.has_context,
    )


def put_activity(engine: Engine, head: Head, scheduled: Numbered, offset: float = 0.0) -> None:
    item = activity_item(head, scheduled, due=scheduled.event.at + offset)
    queues.announce(engine, head.namespace, item.queue, keys.ACTIVITIES)
    with suppress(ConditionFailedError):  # put before
        engine.store.put(item)
        engine.wakeups.notify(item.slot)


def _retry_activity(engine: Engine, head: Head, requested: Numbered) -> None:
    """Make the failed activity ready once more, and hide those its failure led to."""
    retried = int(requested.event.data["q"])
    events = [n for n in history.load(engine, head) if n.seq < requested.seq]
    for numbered in shipped(events):
        if numbered.event.type is not EventType.ACTIVITY_SCHEDULED:
            continue
        seq = int(numbered.event.data["q"])
        if seq > retried:
            _invalidate(engine, activity_item(head, numbered, due=engine.now()))
        elif seq == retried:
            _reset(engine, activity_item(head, numbered, due=engine.now()), requested.seq)


def _reset(engine: Engine, fresh: Activity, requested_seq: int) -> None:
    """As if it had just been scheduled. Once for each request."""
    fresh = replace(fresh, retried=requested_seq)
    queues.announce(engine, fresh.run[0], fresh.queue, keys.ACTIVITIES)
    again = AnyOf((Missing(("retried",)), Below(("retried",), requested_seq)))
    with suppress(ConditionFailedError):  # reset before
        engine.store.put(fresh, (again,))
        engine.wakeups.notify(fresh.slot)


def _invalidate(engine: Engine, item: Activity) -> None:
    hidden = (Put(("status_letter",), INVALIDATED), Drop(("due",)), Plus(("version",), 1))
    with suppress(ConditionFailedError):  # it ran eagerly and has no item
        engine.store.update(Activity, item.key, Change(when=(Exists(("type",)),), do=hidden))


def _put_child(engine: Engine, head: Head, started: Numbered) -> None:
    data = started.event.data
    nonce = ids.child_nonce(head.nonce, started.seq)
    stored = values.from_field(data)
    text = payloads.text(engine, head.key, head.nonce, stored)
    given = _child_options(engine, head, started)
    child = NewRun(
        namespace=head.namespace,
        run_id=str(data["i"]),
        type=str(data["n"]),
        queue=str(data["k"]),
        nonce=nonce,
        input=None if text is None else values.parse(text),
        has_input=text is not None,
        search_attributes=given.get("search_attributes"),
        parent={"i": head.id, "s": started.seq, "n": nonce},
        options=options.read(given),
    )
    prepared = prepare_run(engine, child)
    try:
        put_child(engine, head, prepared)
    except ConditionFailedError:
        _refuse_child(engine, head, started, nonce)


def _child_options(engine: Engine, head: Head, started: Numbered) -> dict[str, Any]:
    """What the child is started with; its parent's context, unless it was given its own."""
    text = payloads.text(engine, head.key, head.nonce, started.event.data.get("o"))
    given: dict[str, Any] = {} if text is None else values.parse(text)
    if head.has_context and "context" not in given:
        given["context"] = payloads.context(engine, head.key, head.nonce)
    return given


def _refuse_child(engine: Engine, head: Head, started: Numbered, nonce: str) -> None:
    child_id = str(started.event.data["i"])
    error = f"a run with the id {child_id} exists already and is not this run's child"
    guard = child_guard(started.seq, ids.child_mark(nonce, child_id))
    outcome = child_outcome(
        EventType.CHILD_FAILED, {"i": child_id, "e": error}, started.seq, (guard,)
    )
    with suppress(NotAppendedError):  # the parent is closed, or has heard already
        append(engine, head.key, outcome)


def child_outcome(
    kind: EventType, data: dict[str, Any], seq: int, guard: tuple[Condition, ...]
) -> Inbound:
    """Takes the child out of the parent's books; its item is proven."""
    paid = Exclude(("owed",), frozenset({seq}))
    return Inbound(type=kind, data=data, guard=guard, also=(Drop(("children", str(seq))), paid))


def child_guard(seq: int, mark: str) -> Condition:
    """Only the child that the parent waits for, and once."""
    return Equals(("children", str(seq)), mark)


def merge_attributes(engine: Engine, head: Head) -> None:
    """Merge upserts that are in history into the record, in their order."""
    key = keys.record(head.key, head.nonce)
    for _ in range(10):
        record = engine.store.get(Record, key)
        if record is None:
            return
        news = [
            n
            for n in history.load(engine, head, after=record.attributes_seq)
            if n.event.type is EventType.ATTRIBUTES_UPSERTED
        ]
        if not news:
            return
        if _merge(engine, head, record, payloads.resolve(engine, head.key, head.nonce, news)):
            return
    raise BusyError("search attributes are changing too fast")


def _merge(engine: Engine, head: Head, record: Record, news: list[Numbered]) -> bool:
    patches = [n.event.data.get("v") or {} for n in news]
    memos = [n.event.data["m"] for n in news if "m" in n.event.data]
    parcels = values.Parcels()
    merged = _merged(engine, head, record.search_attributes, patches)
    puts = [Put(("search_attributes",), parcels.store(merged, "search_attributes"))]
    if memos:
        merged = _merged(engine, head, record.memo, memos)
        puts.append(Put(("memo",), parcels.store(merged, "memo")))
    payloads.put(engine, head.key, head.nonce, parcels)
    change = Change(
        when=(Equals(("attributes_seq",), record.attributes_seq),),
        do=(*puts, Put(("attributes_seq",), news[-1].seq)),
    )
    try:
        engine.store.update(Record, record.key, change)
    except ConditionFailedError:
        return False
    return True


def _merged(
    engine: Engine, head: Head, stored: str | None, patches: list[dict[str, Any]]
) -> dict[str, Any]:
    text = payloads.text(engine, head.key, head.nonce, stored)
    found = values.parse(text) if text else {}
    merged: dict[str, Any] = found if isinstance(found, dict) else {}
    for patch in patches:
        merged |= patch
    return merged
