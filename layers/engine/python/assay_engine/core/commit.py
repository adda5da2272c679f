"""How a batch of commands becomes one conditional write: the rows `commit` and `fused step`.

The condition names exactly the image the decision was made from, so whatever landed in
between is never overwritten; the store then hands back the newer image to decide again.
"""

from dataclasses import dataclass, replace
from typing import Any

from . import limits
from .calls import CallWorkflow
from .change import AtMost, Change, Condition, Equals, Exists, Missing
from .commands import (
    Command,
    RecordSideEffect,
    ScheduleActivity,
    ScheduleTimer,
    UpsertSearchAttributes,
)
from .decide import Batch, Outcome, close, decide
from .draft import Draft
from .history import EventType
from .keys import Key
from .replies import Reply
from .run import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    draft: Draft
    change: Change
    outcome: Outcome
    refused: bool = False
    """A closing batch that had not seen everything: nothing of it is applied."""
    rest: tuple[Command, ...] = ()
    """Commands of a batch too big for one write; the lease is kept for them."""


def plan_commit(head: Head, commands: list[Command], batch: Batch, now: float) -> Plan:
    """`head` is an image that carries the sender's lease."""
    sighted = head.length == head.lease_length
    unseen_cancel = head.cancel_after is not None and head.cancel_after >= (head.lease_length or 0)
    batch = replace(batch, starts_nothing=unseen_cancel)
    fitting, rest = _fitting(head, commands, batch, now)
    draft = Draft(head=head, now=now)
    outcome = decide(draft, fitting, batch)
    when = (Exists(("open",)), Equals(("lease_token",), head.lease_token), _version(head))
    if rest:
        # A part: its events are in, the lease stays for the next one.
        draft.put("lease_length", value=draft.length if sighted else head.lease_length)
        draft.put("report", value=f"{batch.report}{_PART}{batch.applied + len(fitting)}")
        return Plan(
            draft=draft, change=Change(when=when, do=draft.finish()), outcome=outcome, rest=rest
        )
    if outcome.closing and not sighted and (head.refusals or 0) + 1 < limits.MAX_REFUSALS:
        return _refusal(head, now, when)
    if outcome.closing:
        draft.put("report", value=batch.report)
        draft.put("seen", value=draft.length + 1)
        close(draft, outcome, batch)
        return Plan(draft=draft, change=Change(when=when, do=draft.finish()), outcome=outcome)
    _settle_sight(draft, batch, sighted and not outcome.wake)
    change = Change(when=when, do=draft.finish(at_once=not sighted or outcome.wake))
    return Plan(draft=draft, change=change, outcome=outcome)


_PART = "\x1f"
LEGACY_REPORT = "~"
"""How the report of a legacy batch begins: it ends where the client had to yield."""


def applied(head: Head, report: str) -> int:
    """How many commands of a report are in, of one that goes in parts: a repeat goes on there."""
    name, _, count = (head.report or "").rpartition(_PART)
    return int(count) if name == report else 0


def _settle_sight(draft: Draft, batch: Batch, sighted: bool) -> None:
    """What every commit that does not close sets."""
    head = draft.head
    # Even where the client repeats what is there already, it has to be woken.
    unseen = min(head.lease_length or 0, draft.length - 1)
    draft.put("seen", value=draft.length if sighted else unseen)
    draft.put("report", value=batch.report)
    draft.drop_lease()
    if head.refusals is not None:
        draft.put("refusals", value=None)
    if head.problem is not None:
        draft.put("problem", value=None)
    if head.cancel_due is not None:
        seen_it = not batch.starts_nothing
        draft.put("cancel_due", value=None if seen_it else draft.now + limits.CANCEL_GRACE_SECS)


def _refusal(head: Head, now: float, when: tuple[Condition, ...]) -> Plan:
    draft = Draft(head=head, now=now)
    draft.drop_lease()
    draft.put("refusals", value=(head.refusals or 0) + 1)
    change = Change(when=when, do=draft.finish(at_once=True))
    return Plan(draft=draft, change=change, outcome=Outcome(), refused=True)


def _fitting(
    head: Head, commands: list[Command], batch: Batch, now: float
) -> tuple[list[Command], tuple[Command, ...]]:
    """The commands that fit into one write, and the rest."""
    if len(commands) < _SURELY_FIT:
        return commands, ()
    trial = Draft(head=head, now=now)
    for place, command in enumerate(commands):
        decide(trial, [command], batch)
        if trial.too_big() and place:
            return commands[:place], tuple(commands[place:])
    return commands, ()


# An event is below 4 KB: names are at most 512 bytes, values above 1 KB stand elsewhere.
_SURELY_FIT = limits.MAX_BATCH_BYTES // 4096


def _version(head: Head) -> Condition:
    return Equals(("version",), head.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A fused step: an eager activity's outcome, and the commands that follow from it."""

    seq: int
    attempt: int
    version: int
    """Length of the history the worker has delivered."""
    kind: EventType
    data: dict[str, object]
    at: float
    commands: list[Command]
    chunk_base: int | None = None
    """Base of a chunk that reaches to `version`: the tail it holds goes with this write."""


def plan_step(head: Head, step: Step, batch: Batch, now: float, *, read: bool) -> Plan:
    """`head` was read, or is assumed to be as a worker that goes on alone must find it.

    Assumed: nothing is read, so each assumption stands in the condition, and `due` may stay
    only if it is not later than what the step itself adds.
    """
    draft = Draft(head=head, now=now)
    draft.cut_to = None if step.chunk_base is None else step.version
    draft.append(step.kind, step.data, at=step.at)
    draft.put("eager", str(step.seq), value=None)
    outcome = decide(draft, step.commands, batch)
    draft.put("report", value=batch.report)
    if head.cancel_due is not None:
        draft.put("cancel_due", value=None)
    line = ("eager", str(step.seq))
    when: tuple[Condition, ...] = (
        Exists(("open",)),
        Equals(("nonce",), head.nonce),
        Missing(("lease_token",)),
        Equals(("length",), step.version),
        # Nothing lies between what was seen and the end: a worker that has miscounted is refused.
        Equals(("seen",), step.version),
        Equals((*line, "a"), step.attempt),
        Equals((*line, "w"), batch.worker),
    )
    if step.chunk_base is not None:
        when += (Equals(("base",), step.chunk_base),)
    if outcome.closing:
        draft.put("seen", value=draft.length + 1)
        close(draft, outcome, batch)
    else:
        draft.put("seen", value=draft.length)
    if read:
        when += (_version(head),)
        return Plan(draft=draft, change=Change(when=when, do=draft.finish()), outcome=outcome)
    when += _assumptions(head, draft)
    actions = draft.actions() if not outcome.closing else draft.finish()
    return Plan(draft=draft, change=Change(when=when, do=actions), outcome=outcome)


def assumed(key: Key, nonce: str, step: Step) -> Head:
    """The head as a worker that goes on alone must find it: seqs used without a gap."""
    used: dict[str, Any] = dict.fromkeys(_COUNTED)
    for command in step.commands:
        name = _COUNTS.get(type(command))
        seq = getattr(command, "seq", None)
        if name is not None and used[name] is None and isinstance(seq, int):
            used[name] = str(seq - 1) if seq > 1 else None
    return Head(key=key, nonce=nonce, type="", slot="", created_at=0.0, length=step.version, **used)


_COUNTS: dict[type, str] = {
    ScheduleActivity: "used_activities",
    ScheduleTimer: "used_timers",
    RecordSideEffect: "used_side_effects",
    UpsertSearchAttributes: "used_upserts",
    CallWorkflow: "used_calls",
    Reply: "used_replies",
}
_COUNTED = tuple(_COUNTS.values())


def _assumptions(head: Head, draft: Draft) -> tuple[Condition, ...]:
    """What `head` claims and nobody has read."""
    wanted: list[Condition] = [Missing(("cancel_due",))]
    for name in _COUNTED:
        if (name,) in draft.sets:
            old = getattr(head, name)
            wanted.append(Missing((name,)) if old is None else Equals((name,), old))
    if ("open",) in draft.sets:
        names = ("owed", "retries", "close_policies", "earlier", "watched")
        wanted += [Missing((name,)) for name in names]
    else:
        moment = draft.need()
        if moment is not None:
            wanted.append(AtMost(("due",), moment))
    return tuple(wanted)
