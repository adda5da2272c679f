"""Doing what is overdue in a run: the second call of a claim, and of the tick.

Items first (a retried activity, an owed child), then one write on the head that names the
image it was decided from.
"""

from contextlib import suppress
from dataclasses import dataclass

from ..core import failures, keys, limits, retry
from ..core import history as log
from ..core.change import Change, Condition, Equals
from ..core.decide import error_field
from ..core.draft import Draft
from ..core.failures import Failure
from ..core.history import EventType
from ..core.run import Head
from ..core.settle import (
    Ending,
    Overdue,
    expired,
    finalise_cancel,
    fire_timers,
    overdue,
    time_out,
)
from . import children, ending, history, owed, payloads, queues, successors
from .engine import Engine
from .ports import ConditionFailedError

_TRIES = 5


def settle_leased(engine: Engine, head: Head) -> Head | None:
    """Settle a run whose lease we have just taken. The leased run, or None if there is
    nothing to think about and it was let go."""
    now = engine.now()
    for _ in range(_TRIES):
        found = overdue(head, now)
        # What landed after the claim is not in its lease yet: the write below takes it in.
        if not found and head.seen < head.length == head.lease_length:
            return head
        draft = _drafted(engine, head, found, now)
        thinks = head.is_open and ("open",) not in draft.sets and head.seen < draft.length
        if thinks:
            draft.put("lease_length", value=draft.length)
        elif ("open",) not in draft.sets:
            draft.drop_lease()
        try:
            # With something to think about the key stays, as it does in a claim: moving it costs.
            lease = (Equals(("lease_token",), head.lease_token),)
            settled = _write(engine, draft, lease, keep_due=thinks)
        except ConditionFailedError as failed:
            image = failed.image
            if not isinstance(image, Head) or image.lease_token != head.lease_token:
                return None
            head = image
            continue
        return settled if thinks else None
    return None


def settle_idle(engine: Engine, head: Head) -> None:
    """Settle a run that nobody polls for: no lease is taken, the condition is the image."""
    now = engine.now()
    if head.leased(now) and not expired(head, now):
        return
    found = overdue(head, now)
    if not found:
        return
    draft = _drafted(engine, head, found, now)
    if head.lease_token is not None and ("open",) not in draft.sets:
        # A dead worker's lease: the run is anybody's, and must be found.
        draft.drop_lease()
    try:
        settled = _write(engine, draft, ())
    except ConditionFailedError:
        return  # it is being looked after
    engine.wakeups.notify(settled.slot)


def _drafted(engine: Engine, head: Head, found: Overdue, now: float) -> Draft:
    draft = Draft(head=head, now=now)
    if found.ending is not None:
        _end(engine, draft, found.ending)
        return draft
    fire_timers(draft, found)
    for seq in found.lines:
        _expire(engine, draft, seq)
    if found.owes:
        draft.paid |= ending.pay(engine, head).seqs
    if head.cancel_after is not None and (head.queued or head.children):
        ending.cancel_pending(engine, head, reason=None)
    if found.children:
        children.check(engine, head)
        draft.put("check_children_at", value=now + limits.CHILD_CHECK_SECS)
    return draft


def _end(engine: Engine, draft: Draft, ending: Ending) -> None:
    if ending is Ending.CANCEL:
        finalise_cancel(draft)
        return
    given = successors.inheritance(engine, draft.head).options
    if ending is Ending.EXECUTION:
        time_out(draft, ending, given.execution_timeout or 0.0, None)
        return
    draft.successor = successors.next_attempt(engine, draft.head, None)
    time_out(draft, ending, given.run_timeout or 0.0, draft.successor)


def _write(
    engine: Engine, draft: Draft, also: tuple[Condition, ...], *, keep_due: bool = False
) -> Head:
    when = (*also, Equals(("version",), draft.head.version))
    payloads.put(engine, draft.head.key, draft.head.nonce, draft.parcels)
    do = draft.actions() if keep_due else draft.finish()
    change = Change(when=when, do=do)
    if draft.successor is not None:
        settled = successors.try_again(engine, draft.head, change, draft.successor)
    else:
        settled = engine.store.update(Head, draft.head.key, change)
    if settled.lease_token is None:
        engine.memory.let_go(settled.key)
    if not settled.is_open:
        ending.after_close(engine, settled)
    return settled


def _expire(engine: Engine, draft: Draft, seq: int) -> None:
    """An eager activity's worker is silent, or the attempt took too long."""
    line = draft.head.eager[str(seq)]
    late = line.get("c", line["x"]) <= line["x"]
    error = "start-to-close time-out" if late else "the worker stopped sending heartbeats"
    fail_line(engine, draft, seq, Failed(error=error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    error: str
    failure: Failure | None = None
    retryable: bool = True
    delayed: bool = False
    """Whether the next attempt waits for its backoff: not after a silent worker."""


def fail_line(engine: Engine, draft: Draft, seq: int, failed: Failed) -> None:
    """End an attempt of an eager activity: the next one waits in an item of its own, or the
    failure is final. Row `retry of an eager activity`."""
    head = draft.head
    line = head.eager[str(seq)]
    scheduled = history.find_schedule(engine, head, seq)
    assert scheduled is not None, "an eager line without its ActivityScheduled"
    policy = log.policy_of(scheduled.event.data)
    attempt = int(line["a"])
    draft.put("eager", str(seq), value=None)
    if not failed.retryable or not retry.attempts_left(policy, attempt):
        data = {"q": seq, **error_field(draft, failed.error), "f": attempt}
        data |= failures.field(draft.parcels, failed.failure)
        draft.append(EventType.ACTIVITY_FAILED, data)
        return
    due = draft.now + (retry.delay(policy, attempt) if failed.delayed else 0.0)
    queue_line(engine, draft, seq, attempt=attempt + 1, due=due)


def queue_line(engine: Engine, draft: Draft, seq: int, *, attempt: int, due: float) -> None:
    """Turn an eager line into an item that waits for a worker: the item first."""
    head = draft.head
    scheduled = history.find_schedule(engine, head, seq)
    assert scheduled is not None, "an eager line without its ActivityScheduled"
    details = head.eager[str(seq)].get("d")
    item = owed.activity_item(head, scheduled, due=due, attempt=attempt, details=details)
    queues.announce(engine, head.namespace, item.queue, keys.ACTIVITIES)
    with suppress(ConditionFailedError):  # put by somebody who did not get to the head
        engine.store.put(item)
    engine.wakeups.notify(item.slot)
    draft.put("eager", str(seq), value=None)
    draft.queued.add(seq)
