"""Taking a run: the rows `claim`, `settle` and `push`.

The index is a hint. Whoever finds an entry claims the run, settles what is overdue, and
either has a task or has pushed the entry to where it belongs.
"""

from contextlib import suppress
from dataclasses import dataclass

from ..core import limits
from ..core.change import (
    AnyOf,
    AtMost,
    Below,
    Change,
    Copy,
    Drop,
    Equals,
    Exists,
    Missing,
    Plus,
    Put,
    PutIfMissing,
)
from ..core.draft import LEASE
from ..core.keys import Key
from ..core.need import need
from ..core.run import STATUS_LETTERS, Head, Status
from ..core.settle import expired
from . import ending, settle
from .engine import Engine
from .ports import ConditionFailedError, DueEntry

TOKEN_CHARS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    head: Head | None = None
    """The run, leased, with something to think about."""
    lost: bool = False
    """Somebody else was faster: look elsewhere."""


def claim(engine: Engine, entry: DueEntry, worker: str) -> Claim:
    """Take the run behind an index entry, if it is really due and has anything to think about."""
    now = engine.now()
    head = _take(engine, entry, worker, now)
    if head is None:
        return Claim(lost=True)
    # Its entry stays in the index for a while, and leads nowhere.
    engine.memory.hold(entry.key, entry.due, now + limits.PUSH_AFTER_SECS)
    return Claim(head=settle.settle_leased(engine, head))


def _take(engine: Engine, entry: DueEntry, worker: str, now: float) -> Head | None:
    """The leased run, or None. Nothing is read first: that a run has a lease of its own length
    shows when it is tried with the usual one."""
    task_secs: float | None = None
    for _ in range(2):
        change = _lease(engine, worker, now, task_secs)
        try:
            return engine.store.update(Head, entry.key, change)
        except ConditionFailedError as failed:
            image = failed.image
            if not isinstance(image, Head):
                return None
            if image.task_secs == task_secs:
                _look_after(engine, image, entry, now)
                return None
            task_secs = image.task_secs
    return None


def _lease(engine: Engine, worker: str, now: float, task_secs: float | None) -> Change:
    return Change(
        when=(
            Exists(("open",)),
            AtMost(("due",), now),
            AnyOf((Missing(("lease_token",)), Below(("lease_until",), now))),
            AnyOf((Missing(("start_at",)), AtMost(("start_at",), now))),
            Equals(("task_secs",), task_secs),
        ),
        do=(
            Put(("lease_token",), engine.entropy.token(TOKEN_CHARS)),
            Put(("lease_worker",), worker),
            Put(("lease_until",), now + lease_secs(engine, task_secs)),
            Put(("lease_taken",), now),
            Copy(("lease_length",), "length"),
            PutIfMissing(("status_letter",), STATUS_LETTERS[Status.RUNNING]),
            PutIfMissing(("running_at",), now),
            Plus(("version",), 1),
        ),
    )


def _look_after(engine: Engine, head: Head, entry: DueEntry, now: float) -> None:
    """The entry could not be claimed: a closed run that owes, or a leased one in the way."""
    if not head.is_open:
        if head.due is not None and head.due <= now:
            ending.finish(engine, head)
        return
    if expired(head, now):
        settle.settle_idle(engine, head)
        return
    if head.start_at is not None and head.start_at > now:
        push(engine, head, now)  # a signal woke it before its time
        return
    if not head.leased(now):
        return
    engine.memory.hold(entry.key, entry.due, now + limits.PUSH_AFTER_SECS)
    if entry.due < now - limits.PUSH_AFTER_SECS:
        push(engine, head, now)


def lease_secs(engine: Engine, task_secs: float | None) -> float:
    """How long the holder of a run's lease may be silent."""
    return engine.options.lease_secs if task_secs is None else task_secs


def push(engine: Engine, head: Head, now: float) -> None:
    """Move an entry found early to the moment when the run needs somebody."""
    moment = need(head, now)
    if moment == head.due:
        return
    move = Drop(("due",)) if moment is None else Put(("due",), moment)
    change = Change(when=(Equals(("version",), head.version),), do=(move, Plus(("version",), 1)))
    with suppress(ConditionFailedError):  # it moved by itself
        engine.store.update(Head, head.key, change)


def renew(engine: Engine, key: Key, nonce: str, token: str) -> Head | None:
    """Prolong a lease; None if it is no longer this one. Row `renewal`."""
    now, task_secs = engine.now(), None
    mine = (Exists(("open",)), Equals(("nonce",), nonce), Equals(("lease_token",), token))
    for _ in range(2):
        until = Put(("lease_until",), now + lease_secs(engine, task_secs))
        usual = Equals(("task_secs",), task_secs)
        try:
            return engine.store.update(
                Head, key, Change(when=(*mine, usual), do=(until, Plus(("version",), 1)))
            )
        except ConditionFailedError as failed:
            if not isinstance(failed.image, Head) or failed.image.task_secs == task_secs:
                return None
            task_secs = failed.image.task_secs
    return None


def release(engine: Engine, key: Key, nonce: str, token: str) -> bool:
    """Hand a task back unthought: it is due again at once. Row `release`."""
    now = engine.now()
    gone = tuple(Drop((name,)) for name in LEASE)
    change = Change(
        when=(Exists(("open",)), Equals(("nonce",), nonce), Equals(("lease_token",), token)),
        do=(*gone, Put(("due",), now), Plus(("version",), 1)),
    )
    try:
        head = engine.store.update(Head, key, change)
    except ConditionFailedError:
        return False
    engine.memory.let_go(key)
    engine.wakeups.notify(head.slot)
    return True
