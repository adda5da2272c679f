"""Eager activities from their worker's side: failure, sign of life, handing back. An eager
activity is a line in the head; only its next attempt gets an item of its own."""

from dataclasses import dataclass
from typing import Any

from ..core import failures, ids, retry
from ..core import history as log
from ..core.activity import Activity
from ..core.change import (
    Action,
    Change,
    Condition,
    Equals,
    Exists,
    Missing,
    Plus,
    Put,
    look_up,
)
from ..core.draft import Draft
from ..core.errors import BusyError, InvalidError, StaleError
from ..core.keys import Key
from ..core.run import Head
from ..core.values import Parcels
from . import activities, history, payloads, settle
from .engine import Engine
from .ports import ConditionFailedError

_TRIES = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    seq: int
    attempt: int
    worker: str
    error: str
    retryable: bool
    failure: failures.Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    seq: int
    attempt: int
    worker: str
    details: Any


def item_of(engine: Engine, key: Key, nonce: str, seq: int, activity_id: Any) -> Activity | None:
    """The item of an activity that is queued; None: it is a line in the head.

    With the activity's id, which the worker was given, it is looked up at once.
    """
    if isinstance(activity_id, int):
        return activities.find(engine, activity_id, nonce)
    head = engine.store.get(Head, key)
    if head is None or head.nonce != nonce or str(seq) in head.eager:
        return None
    scheduled = history.find_schedule(engine, head, seq)
    if scheduled is None:
        return None
    return activities.find(engine, ids.activity_id(nonce, scheduled.seq), nonce)


def _line(head: Head | None, nonce: str, seq: int, attempt: int, worker: str) -> Head:
    """The head, if the attempt is this worker's."""
    line = head.eager.get(str(seq)) if head is not None and head.nonce == nonce else None
    if head is None or line is None or line["a"] != attempt or line["w"] != worker:
        raise StaleError("this attempt is no longer this worker's")
    return head


def check_final(engine: Engine, key: Key, nonce: str, seq: int, *, retryable: bool) -> None:
    """A failure that is tried again has nothing to continue with."""
    head = engine.store.get(Head, key)
    if not retryable or head is None or head.nonce != nonce:
        return
    scheduled = history.find_schedule(engine, head, seq)
    line = head.eager.get(str(seq))
    if scheduled is None or line is None:
        return
    if retry.attempts_left(log.policy_of(scheduled.event.data), int(line["a"])):
        raise InvalidError("this failure is not final, so no commands can follow from it")


def fail(engine: Engine, key: Key, nonce: str, failure: Failure) -> Head:
    """A failed attempt: the next one waits in an item of its own, or the failure is final."""
    for _ in range(_TRIES):
        head = engine.store.get(Head, key)
        head = _line(head, nonce, failure.seq, failure.attempt, failure.worker)
        draft = Draft(head=head, now=engine.now())
        failed = settle.Failed(
            error=failure.error, failure=failure.failure, retryable=failure.retryable, delayed=True
        )
        settle.fail_line(engine, draft, failure.seq, failed)
        payloads.put(engine, key, nonce, draft.parcels)
        after = _write(engine, draft)
        if after is not None:
            return after
    raise BusyError("the run is changing too fast")


def release(engine: Engine, key: Key, nonce: str, sign: Sign) -> None:
    """Hand an eager activity back: it waits in an item, the attempt does not count."""
    for _ in range(_TRIES):
        head = _line(engine.store.get(Head, key), nonce, sign.seq, sign.attempt, sign.worker)
        draft = Draft(head=head, now=engine.now())
        settle.queue_line(engine, draft, sign.seq, attempt=sign.attempt, due=draft.now)
        if _write(engine, draft) is not None:
            return
    raise BusyError("the run is changing too fast")


def _write(engine: Engine, draft: Draft) -> Head | None:
    head = draft.head
    when = (Exists(("open",)), Equals(("version",), head.version))
    woken = bool(draft.texts) and head.lease_token is None
    change = Change(when=when, do=draft.finish(at_once=woken))
    try:
        after = engine.store.update(Head, head.key, change)
    except ConditionFailedError:
        return None
    if woken:
        engine.wakeups.notify(after.slot)
    return after


def heartbeat(engine: Engine, key: Key, nonce: str, sign: Sign) -> Head:
    """The worker is alive: the line lives for another lease, or for the shorter heartbeat
    time-out it was given, which is in the line."""
    line = ("eager", str(sign.seq))
    mine: tuple[Condition, ...] = (
        Exists(("open",)),
        Equals(("nonce",), nonce),
        Equals((*line, "a"), sign.attempt),
        Equals((*line, "w"), sign.worker),
    )
    puts: tuple[Action, ...] = ()
    if sign.details is not None:
        parcels = Parcels()
        puts = (Put((*line, "d"), parcels.store(sign.details, "details")),)
        payloads.put(engine, key, nonce, parcels)
    hold = engine.options.lease_secs
    rule: Condition = Missing((*line, "h"))
    for _ in range(2):
        until = Put((*line, "x"), engine.now() + hold)
        change = Change(when=(*mine, rule), do=(until, *puts, Plus(("version",), 1)))
        try:
            return engine.store.update(Head, key, change)
        except ConditionFailedError as failed:
            found = look_up(failed.image, (*line, "h"))
            if found is None:
                break
            hold, rule = found, Equals((*line, "h"), found)
    raise StaleError("this attempt is no longer this worker's")
