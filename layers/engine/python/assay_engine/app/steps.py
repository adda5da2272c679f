"""The fused step: an eager activity's outcome and the next commands, in one write.

First without reading anything. If that is refused, the image that comes back tells why: a
repeat, a run that moved on (the outcome is kept, the commands are dropped), or merely an
assumption that did not hold (tried again on the image).
"""

from dataclasses import dataclass, replace

from ..core import limits
from ..core.commands import ContinueAsNew, RecordSnapshot, StartChildWorkflow
from ..core.commit import Plan, Step, assumed, plan_step
from ..core.decide import Batch
from ..core.errors import BusyError, StaleError
from ..core.history import Numbered
from ..core.keys import Key
from ..core.run import Head
from . import activities, commits, history, incarnations, marks
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append
from .ports import ConditionFailedError

_TRIES = 10
_BLIND_COMMANDS = 20
_NEEDS_IMAGE = (RecordSnapshot, ContinueAsNew, StartChildWorkflow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    head: Head
    eager: tuple[Numbered, ...] = ()
    repeat: bool = False
    refused: str | None = None
    """Code of the refusal: the outcome is kept, the commands are dropped."""
    mark: str | None = None


def fuse(engine: Engine, key: Key, nonce: str, step: Step, batch: Batch) -> Stepped:
    """Raises StaleError if the activity is no longer this worker's."""
    now = engine.now()
    if abs(step.at - now) > limits.MAX_CLOCK_SKEW_SECS:
        return _skewed(engine, key, nonce, replace(step, at=now), batch)
    head = None
    blind = len(step.commands) <= _BLIND_COMMANDS and not any(
        isinstance(command, _NEEDS_IMAGE) for command in step.commands
    )
    if not blind:
        head = incarnations.find(engine, key, nonce)
        refusal = _judge(head, nonce, step, batch)
        if refusal is not None:
            return _refuse(engine, head, nonce, step, refusal)
    for _ in range(_TRIES):
        plan_batch = batch if head is None else commits.named(engine, head, step.commands, batch)
        image = head if head is not None else assumed(key, nonce, step)
        plan = plan_step(image, step, plan_batch, engine.now(), read=head is not None)
        try:
            after = commits.write(engine, plan, plan_batch)
        except ConditionFailedError as failed:
            # Perhaps this very step has closed the run, and the next attempt has its id.
            head = incarnations.behind(engine, failed.image, nonce)
            refusal = _judge(head, nonce, step, batch)
            if refusal is not None:
                return _refuse(engine, head, nonce, step, refusal)
            if head is not None and head.base != step.chunk_base:
                step = replace(step, chunk_base=None)
            continue
        return _follow_up(engine, plan, after)
    raise BusyError("the run is changing too fast")


def _skewed(engine: Engine, key: Key, nonce: str, step: Step, batch: Batch) -> Stepped:
    """The worker's clock is off, or this is an old report: one that was applied, perhaps."""
    head = incarnations.find(engine, key, nonce)
    refusal = _judge(head, nonce, step, batch) or "clock_skew"
    return _refuse(engine, head, nonce, step, refusal)


def _judge(head: Head | None, nonce: str, step: Step, batch: Batch) -> str | None:
    """Why the step cannot go on from this image; None: it can."""
    if head is None or head.nonce != nonce:
        return "stale"
    if head.report == batch.report:
        return "repeat"
    line = head.eager.get(str(step.seq))
    if not head.is_open or line is None:
        return "stale"
    if line["a"] != step.attempt or line["w"] != batch.worker:
        return "stale"
    if head.lease_token is not None:
        return "lease_held"
    return "history_moved" if (head.length, head.seen) != (step.version, step.version) else None


def _refuse(engine: Engine, head: Head | None, nonce: str, step: Step, refusal: str) -> Stepped:
    if refusal == "repeat" and head is not None:
        return Stepped(head=head, repeat=True)
    if refusal == "stale" or head is None:
        raise StaleError("this activity is no longer this worker's")
    return _keep(engine, head.key, nonce, step, refusal)


def _keep(engine: Engine, key: Key, nonce: str, step: Step, refusal: str) -> Stepped:
    """Keep the outcome by the inbound rule; the run comes back as an ordinary task."""
    outcome = Inbound(
        type=step.kind,
        data=step.data,
        guard=activities.guard_of(step.seq, nonce),
        also=activities.books(step.seq, None),
        at=step.at,
    )
    try:
        head = append(engine, key, outcome)
    except NotAppendedError:
        raise StaleError("another outcome of this activity was first") from None
    return Stepped(head=head, refused=refusal)


def _follow_up(engine: Engine, plan: Plan, after: Head) -> Stepped:
    eager = tuple(commits.eager_events(plan))
    before = plan.draft.head
    after = commits.settle_debts(engine, before, after)
    if not after.is_open or after.tail_bytes <= limits.TAIL_AFTER_COMMIT:
        return Stepped(head=after, eager=eager)
    if after.tail_bytes > limits.TAIL_AFTER_INBOUND or len(after.tail) > limits.MAX_CUT:
        after = history.flush_above(engine, after, limits.TAIL_AFTER_COMMIT)
        return Stepped(head=after, eager=eager)
    chunk = history.put_chunk(engine, after)
    mark = marks.make(engine, after.nonce, after.base, len(chunk.events))
    return Stepped(head=after, eager=eager, mark=mark)
