"""What a batch of commands does to a run. Pure: commands in, a draft of one write out."""

from dataclasses import dataclass, field
from typing import Any, assert_never

from . import failures, ids, limits, options
from .calls import CallWorkflow, record_call
from .commands import (
    CancelTimer,
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    ContinueAsNew,
    FailWorkflow,
    Given,
    RecordSideEffect,
    RecordSnapshot,
    ScheduleActivity,
    ScheduleTimer,
    StartChildWorkflow,
    UpsertSearchAttributes,
    WaitForSignal,
)
from .draft import Draft
from .history import EventType, policy_fields
from .options import NextAttempt
from .replies import Reply, record_reply
from .run import Status
from .settle import leave_children
from .values import second_field, text

Noted = (
    RecordSideEffect | UpsertSearchAttributes | RecordSnapshot | CancelTimer | CallWorkflow | Reply
)
CANCELLED_BEFORE = "cancelled: cancel was requested before this was started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Who sends the commands, and what it can take back at once."""

    worker: str
    report: str
    legacy: bool
    """A client that yields after a side effect or upsert, and must be woken to go on."""
    starts_nothing: bool = False
    """Cancel was requested and the batch had not seen it."""
    queue: str | None = None
    eager_room: int = 0
    eager_types: frozenset[str] | None = None
    lease_secs: float = 30.0
    snapshot: str = ""
    """Name of the item that holds the batch's snapshot; unique to this commit."""
    target: str | None = None
    """Id of the run that continues this one."""
    applied: int = 0
    """How many commands of the batch are in already: it goes in parts if it is too big."""
    successor: NextAttempt | None = None
    """If a failure of this run is followed by another attempt."""
    ended: frozenset[str] = frozenset()
    """Children whose outcome landed unseen by a legacy client, which then starts them again."""


@dataclass(kw_only=True)
class Outcome:
    """What the batch came to, beyond the draft itself."""

    closing: CompleteWorkflow | FailWorkflow | CancelWorkflow | ContinueAsNew | None = None
    snapshot: tuple[int, Any] | None = None
    """History length and state."""
    wake: bool = False
    """The client has yielded and needs its own event back."""
    eager: list[int] = field(default_factory=list)
    """Seqs the worker may run at once."""


def decide(draft: Draft, commands: list[Command], batch: Batch) -> Outcome:
    """Apply commands in order; nothing after a closing one counts."""
    outcome = Outcome()
    for command in commands:
        _apply(draft, command, batch, outcome)
        if outcome.closing is not None:
            break
    return outcome


def _apply(draft: Draft, command: Command, batch: Batch, outcome: Outcome) -> None:
    match command:
        case ScheduleActivity():
            _activity(draft, command, batch, outcome)
        case ScheduleTimer():
            _timer(draft, command, batch)
        case WaitForSignal():
            _wait(draft, command, batch)
        case StartChildWorkflow():
            _child(draft, command, batch)
        case ContinueAsNew() if draft.head.cancel_after is not None:
            # Who asked was told yes: the chain ends here, whatever the run makes of it.
            outcome.closing = CancelWorkflow(reason=None)
        case CompleteWorkflow() | FailWorkflow() | CancelWorkflow() | ContinueAsNew():
            outcome.closing = command
        case _:
            _record(draft, command, batch, outcome)


def _record(draft: Draft, command: Noted, batch: Batch, outcome: Outcome) -> None:
    """What is merely noted: nothing of the run's own is started by it."""
    match command:
        case RecordSideEffect():
            _side_effect(draft, command)
            outcome.wake = outcome.wake or batch.legacy
        case CancelTimer():
            _cancel_timer(draft, command)
        case CallWorkflow():
            record_call(draft, command)
        case Reply():
            record_reply(draft, command)
        case UpsertSearchAttributes():
            outcome.wake = _upsert(draft, command) or outcome.wake
        case RecordSnapshot(state=state):
            outcome.snapshot = (draft.length, state)
            draft.put("snapshot", value=batch.snapshot)
        case _:
            assert_never(command)


def given(draft: Draft, value: Given | None, what: str) -> dict[str, Any]:
    return {} if value is None else draft.parcels.field(value.value, what)


def _activity(draft: Draft, command: ScheduleActivity, batch: Batch, outcome: Outcome) -> None:
    if not draft.use("used_activities", command.seq):
        return
    seq = draft.append(
        EventType.ACTIVITY_SCHEDULED,
        {
            "q": command.seq,
            "n": command.name,
            "k": command.task_queue,
            **given(draft, command.input, "input"),
            **policy_fields(command.policy),
        },
    )
    if batch.starts_nothing:
        data = {"q": command.seq, "e": CANCELLED_BEFORE, "f": 0}
        draft.append(EventType.ACTIVITY_FAILED, data)
    elif _runs_eagerly(draft, command, batch, outcome):
        outcome.eager.append(command.seq)
        hold = min(batch.lease_secs, command.policy.heartbeat_timeout_secs or batch.lease_secs)
        line = {
            "a": 1,
            "w": batch.worker,
            "x": draft.now + hold,
            "c": draft.now + command.policy.start_to_close_secs,
            "r": batch.report,
        }
        if hold < batch.lease_secs:
            line["h"] = hold
        draft.put("eager", str(command.seq), value=line)
    else:
        draft.queued.add(command.seq)
        draft.owed.add(seq)


def _runs_eagerly(draft: Draft, command: ScheduleActivity, batch: Batch, outcome: Outcome) -> bool:
    return (
        len(outcome.eager) < batch.eager_room
        and len(draft.head.eager) + len(outcome.eager) < limits.MAX_EAGER
        and command.task_queue == batch.queue
        and (batch.eager_types is None or command.name in batch.eager_types)
    )


def _timer(draft: Draft, command: ScheduleTimer, batch: Batch) -> None:
    if not draft.use("used_timers", command.seq):
        return
    fire_at = draft.now + command.duration_secs
    data = {"q": command.seq, "d": command.duration_secs, "f": fire_at}
    draft.append(EventType.TIMER_SCHEDULED, data)
    if not batch.starts_nothing:
        draft.put("timers", str(command.seq), value=fire_at)


def _cancel_timer(draft: Draft, command: CancelTimer) -> None:
    """One event whatever became of the timer: its worker counts on it. Whether it is still in
    the head need not be known to take it out."""
    draft.append(EventType.TIMER_CANCELLED, {"q": command.seq})
    draft.put("timers", str(command.seq), value=None)


def _wait(draft: Draft, command: WaitForSignal, batch: Batch) -> None:
    """The legacy client sends its wait again at every wake. Others send each once, and count
    one event for each: only so can they tell that something else has landed."""
    mark = ids.short_hash(command.name)
    if batch.legacy and draft.get("awaited", mark):
        return
    draft.put("awaited", mark, value=1)
    timer = {} if command.timer_seq is None else {"q": command.timer_seq}
    draft.append(EventType.AWAITING_SIGNAL, {"n": command.name, **timer})


def _side_effect(draft: Draft, command: RecordSideEffect) -> None:
    if not draft.use("used_side_effects", command.seq):
        return
    value = command.value.value if command.value else None
    field = draft.parcels.field(value, "value")
    draft.append(EventType.SIDE_EFFECT, {"q": command.seq, "n": command.name, **field})


def _child(draft: Draft, command: StartChildWorkflow, batch: Batch) -> None:
    started = [*draft.head.children.values()]
    started += [value for path, value in draft.sets.items() if path[0] == "children"]
    if any(ids.same_child(mark, command.workflow_id) for mark in started):
        return
    if command.workflow_id in batch.ended:
        return
    data = {
        "i": command.workflow_id,
        "n": command.workflow_type,
        "k": command.task_queue,
        **given(draft, command.input, "input"),
        **_child_options(draft, command),
    }
    seq = draft.append(EventType.CHILD_STARTED, data)
    if batch.starts_nothing:
        data = {"i": command.workflow_id, "e": CANCELLED_BEFORE}
        draft.append(EventType.CHILD_FAILED, data)
        return
    nonce = ids.child_nonce(draft.head.nonce, seq)
    draft.put("children", str(seq), value=ids.child_mark(nonce, command.workflow_id))
    draft.owed.add(seq)
    if draft.get("check_children_at") is None:
        draft.put("check_children_at", value=draft.now + limits.CHILD_CHECK_SECS)
    if command.options.parent_close_policy is not None:
        draft.put("close_policies", value=1)


def _child_options(draft: Draft, command: StartChildWorkflow) -> dict[str, Any]:
    """`o`: what the child is to be started with; `p`: its parent close policy, which is needed
    when the parent ends."""
    given_options = options.as_fields(command.options)
    if command.search_attributes is not None:
        given_options["search_attributes"] = command.search_attributes
    policy = given_options.pop("parent_close_policy", None)
    stored = {"o": draft.parcels.store(given_options, "options")} if given_options else {}
    return stored | ({"p": str(policy)} if policy else {})


def _upsert(draft: Draft, command: UpsertSearchAttributes) -> bool:
    """Whether the client has to be woken to go on."""
    if command.seq is not None:
        if draft.use("used_upserts", command.seq):
            _append_upsert(draft, command, command.seq)
        return False
    return _legacy_upsert(draft, command)


def _append_upsert(draft: Draft, command: UpsertSearchAttributes, seq: int) -> None:
    data = {"q": seq, **draft.parcels.field(dict(command.patch), "patch")}
    if command.memo is not None:
        data |= second_field(draft.parcels.store(dict(command.memo), "memo"), "m")
    draft.owed.add(draft.append(EventType.ATTRIBUTES_UPSERTED, data))


def _legacy_upsert(draft: Draft, command: UpsertSearchAttributes) -> bool:
    """The old client yields at every upsert and never looks for it in history, so code
    behind one is out of its reach. It is woken once; if it comes back with the same patch
    and has seen nothing new, the stall is made visible and the run parks."""
    told = dict(command.patch) if command.memo is None else [command.patch, command.memo]
    patch = ids.short_hash(text(told))
    last, _, at = (draft.head.upsert or "").partition("@")
    if last == patch and at.rstrip("!") == str(draft.head.length):
        if not at.endswith("!"):
            draft.append(EventType.STALLED, {"e": _STALL})
        draft.put("upsert", value=f"{patch}@{draft.length}!")
        return False
    if last != patch:
        seq = _next_upsert(draft.get("used_upserts"))
        draft.use("used_upserts", seq)
        _append_upsert(draft, command, seq)
    draft.put("upsert", value=f"{patch}@{draft.length}")
    return True


_STALL = (
    "the worker cannot get past upsert_search_attributes: this client yields there at every "
    "replay; the attributes are stored, the code behind the call is never reached"
)


def _next_upsert(used: str | None) -> int:
    return int((used or "0").removeprefix("z").partition("!")[0]) + 1


def close(draft: Draft, outcome: Outcome, batch: Batch) -> None:
    """Append the closing event and freeze the run."""
    match outcome.closing:
        case CompleteWorkflow(result=result):
            draft.append(EventType.COMPLETED, given(draft, result, "result"))
            draft.close(Status.COMPLETED)
        case FailWorkflow(error=error, failure=failure):
            data = error_field(draft, error) | failures.field(draft.parcels, failure)
            draft.append(EventType.FAILED, data)
            draft.close(Status.FAILED)
            if batch.successor is not None:
                draft.put("retried_as", value=batch.successor.nonce)
                return
        case CancelWorkflow(reason=reason):
            draft.append(EventType.CANCELLED, {"e": reason} if reason else {})
            draft.close(Status.CANCELLED)
        case ContinueAsNew():
            draft.append(EventType.COMPLETED, {})
            draft.close(Status.COMPLETED)
            draft.put("continued_to", value=batch.target)
            return
        case None:
            raise AssertionError("nothing closes this run")
        case _:
            assert_never(outcome.closing)
    leave_children(draft)


def error_field(draft: Draft, error: str) -> dict[str, Any]:
    """An error text stands in `e`; one too long for the head in a payload."""
    stored = draft.parcels.store(error, "error")
    return {"e": error} if stored.startswith("=") else {"r": stored}
