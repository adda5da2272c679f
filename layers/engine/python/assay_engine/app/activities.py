"""Queued activities: taking one, and what its worker reports.

Outcome: the head first, the item second, so that an answered outcome survives any crash.
Retry: the item alone. The first success wins, whatever attempt it came from.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..core import activity as states
from ..core import failures, keys, limits, retry, values
from ..core import history as log
from ..core.activity import Activity, Policy
from ..core.change import (
    Action,
    AnyOf,
    AtMost,
    Change,
    Condition,
    Contains,
    Drop,
    Equals,
    Exclude,
    Exists,
    Plus,
    Put,
)
from ..core.failures import Failure
from ..core.history import Event, EventType
from ..core.values import Parcels
from . import history, payloads
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .owed import hold_secs
from .ports import ConditionFailedError, DueEntry

# The original's words: people look for them in their logs.
HEARTBEAT_TIMEOUT = "heartbeat timeout — max retries exhausted"
_RUNNING = Equals(("status_letter",), states.RUNNING)


def policy_of(item: Activity) -> Policy:
    return log.policy_of(item.policy)


def claim(
    engine: Engine, entry: DueEntry, worker: str, *, lease_secs: float | None
) -> Activity | None:
    """Take the activity behind an index entry. `lease_secs`: how long the worker may be silent;
    None for a legacy worker, which may be until its heartbeat time-out or start-to-close."""
    now = engine.now()
    until: Action = Plus(("lease_until",), now)
    if lease_secs is not None:
        until = Put(("lease_until",), now + lease_secs)
    change = Change(
        when=(Equals(("status_letter",), states.READY), AtMost(("due",), now)),
        do=(*_taken(worker, now, lease_secs), until, Plus(("version",), 1)),
    )
    try:
        item = engine.store.update(Activity, entry.key, change)
    except ConditionFailedError as failed:
        image = failed.image
        if not isinstance(image, Activity):
            return None
        return _look_after(engine, image, entry, worker, lease_secs)
    engine.memory.hold(entry.key, entry.due, now + limits.PUSH_AFTER_SECS)
    if lease_secs is not None and hold_secs(policy_of(item)) < lease_secs:
        return _prolong(engine, item, {}) or item
    return item


def _taken(worker: str, now: float, lease_secs: float | None) -> tuple[Action, ...]:
    by: Action = Drop(("by_exchange",)) if lease_secs is None else Put(("by_exchange",), 1)
    return (
        by,
        Put(("status_letter",), states.RUNNING),
        Put(("worker",), worker),
        Put(("started_at",), now),
        Drop(("last_heartbeat",)),
    )


def _look_after(
    engine: Engine, item: Activity, entry: DueEntry, worker: str, lease_secs: float | None
) -> Activity | None:
    """The entry was not ready: its worker is silent, or it is merely in the way."""
    now = engine.now()
    if item.status_letter != states.RUNNING or item.lease_until is None:
        return None
    engine.memory.hold(entry.key, entry.due, now + limits.PUSH_AFTER_SECS)
    if item.lease_until < now:
        return _take_over(engine, item, worker, lease_secs)
    if entry.due < now - limits.PUSH_AFTER_SECS and item.due != item.lease_until:
        _update(engine, item, (Put(("due",), item.lease_until),))
    return None


def _take_over(
    engine: Engine, item: Activity, worker: str, lease_secs: float | None
) -> Activity | None:
    """Its worker is silent: the next attempt, or the end of it."""
    now, policy = engine.now(), policy_of(item)
    if not retry.attempts_left(policy, item.attempt):
        fail_finally(engine, item, time_out_text(item, policy, now))
        return None
    until = now + min(hold_secs(policy), lease_secs or hold_secs(policy))
    took = (*_taken(worker, now, lease_secs), Plus(("attempt",), 1), Put(("lease_until",), until))
    return _update(engine, item, took)


def time_out_text(item: Activity, policy: Policy, now: float) -> str:
    late = item.started_at is not None and now >= item.started_at + policy.start_to_close_secs
    if late:
        return f"start-to-close time-out after {policy.start_to_close_secs:g} s"
    return HEARTBEAT_TIMEOUT


def expire(engine: Engine, item: Activity) -> None:
    """For the tick: an activity whose worker is silent, on a queue that nobody polls."""
    now = engine.now()
    if item.status_letter != states.RUNNING or (item.lease_until or now) >= now:
        return
    policy = policy_of(item)
    if retry.attempts_left(policy, item.attempt):
        _make_ready(engine, item, now)
    else:
        fail_finally(engine, item, time_out_text(item, policy, now))


def find(engine: Engine, activity_id: int, nonce: str | None = None) -> Activity | None:
    """The item with this number; of several, the one somebody runs."""
    found = list(engine.store.query(Activity, keys.activities(activity_id)))
    found = [
        item
        for item in found
        if nonce in (None, item.nonce) and item.status_letter != states.INVALIDATED
    ]
    found.sort(key=lambda item: item.status_letter != states.RUNNING)
    return found[0] if found else None


def complete(engine: Engine, item: Activity, result: Any, at: float | None = None) -> bool:
    """Record a result. False: another outcome was first, or the run is closed."""
    if item.completed_at is not None:
        return False
    parcels = Parcels()
    stored = None if result is None else parcels.store(result, "result")
    payloads.put(engine, item.head_key, item.nonce, parcels)
    data = {"q": item.seq, **values.as_field(stored)}
    return _tell_run(engine, item, Event(EventType.ACTIVITY_COMPLETED, at or engine.now(), data))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """How an attempt failed. `attempt`: which one, where its worker knows."""

    error: str
    failure: Failure | None = None
    retryable: bool = True
    attempt: int | None = None


def fail(engine: Engine, item: Activity, failed: Failed) -> bool:
    """Record a failed attempt: tried again after its backoff, or final."""
    if item.status_letter != states.RUNNING or failed.attempt not in (None, item.attempt):
        return False
    policy = policy_of(item)
    if failed.retryable and retry.attempts_left(policy, item.attempt):
        due = engine.now() + retry.delay(policy, item.attempt)
        return _make_ready(engine, item, due) is not None
    return fail_finally(engine, item, failed.error, failed.failure)


def _make_ready(engine: Engine, item: Activity, due: float) -> Activity | None:
    """The next attempt waits for a worker."""
    ready = _update(
        engine,
        item,
        (
            Put(("status_letter",), states.READY),
            Plus(("attempt",), 1),
            *_waiting(item, due),
        ),
    )
    if ready is not None:
        engine.memory.let_go(ready.key)
        engine.wakeups.notify(ready.slot)
    return ready


def _waiting(item: Activity, due: float) -> tuple[Action, ...]:
    return (
        Put(("due",), due),
        Put(("scheduled_at",), due),
        Put(("lease_until",), hold_secs(policy_of(item))),
        Drop(("worker",)),
        Drop(("started_at",)),
        Drop(("last_heartbeat",)),
    )


def release(engine: Engine, item: Activity, attempt: int) -> bool:
    """Hand an activity back without an outcome; the attempt does not count."""
    if item.status_letter != states.RUNNING or item.attempt != attempt:
        return False
    ready = _update(
        engine,
        item,
        (
            Put(("status_letter",), states.READY),
            *_waiting(item, engine.now()),
        ),
    )
    if ready is not None:
        engine.memory.let_go(ready.key)
        engine.wakeups.notify(ready.slot)
    return ready is not None


def fail_finally(
    engine: Engine, item: Activity, error: str, failure: Failure | None = None
) -> bool:
    parcels = Parcels()
    stored = parcels.store(error, "error")
    structured = failures.field(parcels, failure)
    payloads.put(engine, item.head_key, item.nonce, parcels)
    field = {"e": error} if stored.startswith("=") else {"r": stored}
    data = {"q": item.seq, **field, "f": item.attempt, **structured}
    return _tell_run(engine, item, Event(EventType.ACTIVITY_FAILED, engine.now(), data))


def heartbeat(
    engine: Engine, item: Activity, details: Any, *, attempt: int | None = None
) -> Activity | None:
    """A sign of life; None if the attempt is no longer this worker's."""
    if item.status_letter != states.RUNNING or attempt not in (None, item.attempt):
        return None
    extra: dict[str, Any] = {"last_heartbeat": engine.now()}
    if details is not None:
        parcels = Parcels()
        extra["details"] = parcels.store(details, "details")
        payloads.put(engine, item.head_key, item.nonce, parcels)
    return _prolong(engine, item, extra)


def _prolong(engine: Engine, item: Activity, extra: dict[str, Any]) -> Activity | None:
    """For another while of silence, but never past start-to-close. Row `heartbeat`."""
    now, policy = engine.now(), policy_of(item)
    silence = hold_secs(policy)
    if item.by_exchange:
        silence = min(silence, engine.options.lease_secs)
    until = min(now + silence, (item.started_at or now) + policy.start_to_close_secs)
    puts = tuple(Put((name,), value) for name, value in extra.items())
    found: Activity | None = item
    while found is not None and found.attempt == item.attempt:
        # Its finder may have pushed the key to the end of a longer silence than is granted now.
        pull: tuple[Action, ...] = ()
        if found.due is not None and found.due > until:
            pull = (Put(("due",), until),)
        key: Condition = Equals(("version",), found.version) if pull else AtMost(("due",), until)
        change = Change(
            when=(_RUNNING, Equals(("attempt",), item.attempt), key),
            do=(Put(("lease_until",), until), *pull, *puts, Plus(("version",), 1)),
        )
        try:
            return engine.store.update(Activity, item.key, change)
        except ConditionFailedError as failed:
            found = failed.image if isinstance(failed.image, Activity) else None
            if found is not None and found.status_letter != states.RUNNING:
                return None
    return None


def guard_of(seq: int, nonce: str) -> tuple[Condition, ...]:
    """The run still waits for an outcome of this activity."""
    pending = AnyOf((Exists(("eager", str(seq))), Contains(("queued",), seq)))
    return (Equals(("nonce",), nonce), pending)


def books(seq: int, event_seq: int | None) -> tuple[Action, ...]:
    """Take an activity out of the head's books: its outcome is there."""
    paid = () if event_seq is None else (Exclude(("owed",), frozenset({event_seq})),)
    return (Drop(("eager", str(seq))), Exclude(("queued",), frozenset({seq})), *paid)


def _tell_run(engine: Engine, item: Activity, outcome: Event) -> bool:
    """The head first, then the item: it says what history says, whoever was first there."""
    told = Inbound(
        type=outcome.type,
        data=outcome.data,
        guard=guard_of(item.seq, item.nonce),
        also=books(item.seq, item.event_seq),
        at=outcome.at,
    )
    won = True
    try:
        append(engine, item.head_key, told)
    except NotAppendedError as refused:
        won = False
        first = None
        if refused.image is not None and refused.image.nonce == item.nonce:
            first = history.find_outcome(engine, refused.image, item.seq)
        # None: the run was closed before. The activity has ended all the same.
        outcome = outcome if first is None else first.event
    _done(engine, item, outcome)
    return won


def _done(engine: Engine, item: Activity, outcome: Event) -> None:
    stored = values.from_field(outcome.data)
    extra: tuple[Action, ...] = ()
    if outcome.type is EventType.ACTIVITY_FAILED:
        text = payloads.text(engine, item.head_key, item.nonce, stored)
        error = outcome.data["e"] if text is None else values.parse(text)
        extra = (Put(("error",), str(error)[:1000]),)
    elif stored is not None:
        extra = (Put(("result",), stored),)
    letter = states.COMPLETED if outcome.type is EventType.ACTIVITY_COMPLETED else states.FAILED
    change = Change(
        when=(AnyOf((_RUNNING, Equals(("status_letter",), states.READY))),),
        do=(
            Put(("status_letter",), letter),
            Put(("completed_at",), engine.now()),
            Drop(("due",)),
            Drop(("lease_until",)),
            Plus(("version",), 1),
            *extra,
        ),
    )
    with suppress(ConditionFailedError):  # done before
        engine.store.update(Activity, item.key, change)


def _update(engine: Engine, item: Activity, do: tuple[Action, ...]) -> Activity | None:
    """Change an item on condition that it is as it was read."""
    change = Change(when=(Equals(("version",), item.version),), do=(*do, Plus(("version",), 1)))
    try:
        return engine.store.update(Activity, item.key, change)
    except ConditionFailedError:
        return None
