"""Committing a batch of commands under its lease, and what follows from it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ..core import ids, keys, limits, values
from ..core.change import Change, Equals, Exclude, Exists, Plus, apply
from ..core.commands import (
    Command,
    ContinueAsNew,
    FailWorkflow,
    RecordSnapshot,
    StartChildWorkflow,
)
from ..core.commit import Plan, applied, plan_commit
from ..core.decide import Batch
from ..core.errors import BusyError, ConflictError, StaleError
from ..core.history import EventType, Numbered
from ..core.run import Head, Payload
from . import ending, history, payloads
from .engine import Engine
from .ports import ConditionFailedError, PutIf, TransactionRefusedError, Update
from .successors import continuation, next_attempt, try_again

_TRIES = 25
# With more debts than this they are struck off at once; fewer are struck off by outcomes.
_STRIKE_OFF_ABOVE = 3
_CHILD_ENDS = (EventType.CHILD_COMPLETED, EventType.CHILD_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    head: Head
    refused: bool = False
    eager: tuple[Numbered, ...] = ()
    """ActivityScheduled events of activities the worker may run at once."""
    again: bool = False
    """An earlier sending had applied the batch, or parts of it."""


def commit(engine: Engine, head: Head, commands: Sequence[Command], batch: Batch) -> Committed:
    """Apply a batch; `head` is an image that carries the lease. Raises StaleError."""
    token, eager, mine = head.lease_token, list[Numbered](), 0
    image: object = head
    for _ in range(_TRIES):
        if isinstance(image, Head) and image.report == batch.report:
            return Committed(head=image, again=True)
        head = _still_ours(image, token)
        done = applied(head, batch.report)
        left = list(commands[done:])
        batch = named(engine, head, left, replace(batch, applied=done))
        plan = plan_commit(head, left, batch, engine.now())
        try:
            after = write(engine, plan, batch)
        except ConditionFailedError as failed:
            image = failed.image
            continue
        eager += eager_events(plan)
        mine += len(left) - len(plan.rest)
        if not plan.rest:
            return Committed(
                head=follow_up(engine, head, after),
                refused=plan.refused,
                eager=tuple(eager),
                again=mine < len(commands),
            )
        image = history.flush_above(engine, after, limits.TAIL_AFTER_COMMIT)
    raise BusyError("the run is changing too fast")


def _still_ours(image: object, token: str | None) -> Head:
    if not isinstance(image, Head) or not image.is_open or image.lease_token != token:
        raise StaleError("the lease of this task is somebody else's by now")
    return image


def eager_events(plan: Plan) -> list[Numbered]:
    wanted = set(plan.outcome.eager)
    return [n for n in plan.draft.events if "k" in n.event.data and n.event.data.get("q") in wanted]


def named(engine: Engine, head: Head, commands: list[Command], batch: Batch) -> Batch:
    """Give the batch the names it may need: of a snapshot item, of the run that goes on."""
    if any(isinstance(command, RecordSnapshot) for command in commands):
        batch = replace(batch, snapshot=engine.entropy.token(10))
    continued = next((c for c in commands if isinstance(c, ContinueAsNew)), None)
    if continued is not None:
        target = continued.workflow_id or free_id(engine, head)
        batch = replace(batch, target=target)
    failed = next((c for c in commands if isinstance(c, FailWorkflow)), None)
    if failed is not None:
        batch = replace(batch, successor=next_attempt(engine, head, failed))
    if batch.legacy and any(isinstance(command, StartChildWorkflow) for command in commands):
        batch = replace(batch, ended=_ended_unseen(engine, head))
    return batch


def _ended_unseen(engine: Engine, head: Head) -> frozenset[str]:
    """Children whose outcome the holder of the lease has not seen. The legacy client sends
    StartChildWorkflow at every wake until it has, and the head no longer knows them."""
    seen = head.lease_length or 0
    if seen == head.length:
        return frozenset()
    unseen = history.load(engine, head, after=seen)
    return frozenset(str(n.event.data["i"]) for n in unseen if n.event.type in _CHILD_ENDS)


def free_id(engine: Engine, head: Head) -> str:
    """An id for the run that continues this one, which nobody has yet."""
    now = engine.now()
    for attempt in range(1000):
        target = ids.continued_id(head.id, now, attempt)
        if engine.store.get(Head, keys.head(head.namespace, target)) is None:
            return target
    raise BusyError("no free id to continue as")


def write(engine: Engine, plan: Plan, batch: Batch) -> Head:
    """Payloads and snapshot first, then the one write. Raises ConditionFailedError."""
    head = plan.draft.head
    payloads.put(engine, head.key, head.nonce, plan.draft.parcels)
    if plan.outcome.snapshot is not None and not plan.refused:
        _put_snapshot(engine, plan, batch)
    closing = plan.outcome.closing
    if isinstance(closing, ContinueAsNew) and not plan.refused and not plan.rest:
        return _continue(engine, plan, batch, closing)
    if batch.successor and isinstance(closing, FailWorkflow) and not plan.refused and not plan.rest:
        return try_again(engine, head, plan.change, batch.successor)
    return engine.store.update(Head, head.key, plan.change)


def _put_snapshot(engine: Engine, plan: Plan, batch: Batch) -> None:
    """Named by this commit alone: a refused one leaves garbage, never a wrong state."""
    assert plan.outcome.snapshot is not None
    length, state = plan.outcome.snapshot
    head = plan.draft.head
    parcels = values.Parcels()
    stored = parcels.store(state, "state")
    payloads.put(engine, head.key, head.nonce, parcels)
    item = Payload(
        key=keys.snapshot(head.key, head.nonce, batch.snapshot),
        text=stored,
        created_at=plan.draft.now,
        length=length,
    )
    with suppress(ConditionFailedError):  # this very commit, tried again
        engine.store.put(item)


def _continue(engine: Engine, plan: Plan, batch: Batch, closing: ContinueAsNew) -> Head:
    assert batch.target is not None
    value = closing.input.value if closing.input else None
    target = continuation(engine, plan.draft.head, batch.target, value, plan.change)
    source = Update(Head, plan.draft.head.key, plan.change)
    try:
        engine.store.transact([source, PutIf(target)])
    except TransactionRefusedError as refused:
        if 0 in refused.failed:
            raise ConditionFailedError(engine.store.get(Head, source.key)) from None
        if closing.workflow_id is not None:
            text = f"cannot continue as {batch.target}: that id exists"
            raise ConflictError(text, code="already_exists") from None
        raise BusyError("the id to continue as was taken; try again") from None
    engine.wakeups.notify(target.slot)
    return apply(plan.draft.head, plan.change.do)


def follow_up(engine: Engine, before: Head, after: Head) -> Head:
    """What comes after a commit: debts, the old snapshot, a wake-up, the flush."""
    after = settle_debts(engine, before, after)
    if not after.is_open:
        return after
    return history.flush_above(engine, after, limits.TAIL_AFTER_COMMIT)


def settle_debts(engine: Engine, before: Head, after: Head) -> Head:
    engine.memory.let_go(after.key)
    if before.snapshot is not None and before.snapshot != after.snapshot:
        _delete_snapshot(engine, before)
    if not after.is_open:
        ending.after_close(engine, after)
        return after
    if after.owed:
        after = _pay(engine, after)
    if after.due is not None and after.due < engine.now() + limits.MAX_WAIT_SECS:
        # Also for what falls due soon: a waiting call knows the next moment only as it looked.
        engine.wakeups.notify(after.slot)
    return after


def _delete_snapshot(engine: Engine, head: Head) -> None:
    key = keys.snapshot(head.key, head.nonce, str(head.snapshot))
    with suppress(ConditionFailedError):  # deleted before
        engine.store.delete(Payload, key)


def _pay(engine: Engine, head: Head) -> Head:
    paid = ending.pay(engine, head).seqs
    if len(paid) <= _STRIKE_OFF_ABOVE:
        return head
    # The key stays where it is: whoever finds it in ten seconds pushes it on.
    change = Change(
        when=(Exists(("open",)), Equals(("nonce",), head.nonce)),
        do=(Exclude(("owed",), paid), Plus(("version",), 1)),
    )
    try:
        return engine.store.update(Head, head.key, change)
    except ConditionFailedError as failed:
        return failed.image if isinstance(failed.image, Head) else head
