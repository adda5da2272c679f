"""Events of a run, which of them record its own commands, and what a retry has undone.

Inbound events make a workflow go on. Own events only record what it has issued; they are
compared with it, and a difference means that the code is not the code that wrote the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True):
    """One line of history, with its payload nested."""

    seq: int
    event_type: str
    payload: Any = None
    timestamp: float = 0.0


Command = dict[str, Any]

# The command that an own event records, and which of its fields must say the same.
OWN: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "ActivityScheduled": ("ScheduleActivity", (("seq", "activity_seq"), ("name", "name"))),
    "TimerScheduled": ("ScheduleTimer", (("seq", "timer_seq"),)),
    "SideEffectRecorded": ("RecordSideEffect", (("seq", "side_effect_seq"), ("name", "name"))),
    "SearchAttributesUpserted": ("UpsertSearchAttributes", (("seq", "upsert_seq"),)),
    "TimerCancelled": ("CancelTimer", (("seq", "timer_seq"),)),
    "WorkflowCalled": (
        "CallWorkflow",
        (("seq", "call_seq"), ("call", "call"), ("workflow_id", "workflow_id")),
    ),
    "ReplySent": ("Reply", (("seq", "reply_seq"), ("request_id", "request_id"))),
    "WorkflowAwaitingSignal": ("WaitForSignal", (("name", "signal"),)),
    "ChildWorkflowStarted": (
        "StartChildWorkflow",
        (("workflow_id", "child_workflow_id"), ("workflow_type", "workflow_type")),
    ),
}

_TELLING = (
    "seq",
    "activity_seq",
    "timer_seq",
    "side_effect_seq",
    "upsert_seq",
    "call_seq",
    "reply_seq",
    "call",
    "request_id",
    "name",
    "signal",
    "workflow_id",
    "child_workflow_id",
    "workflow_type",
)
OUTCOMES = ("ActivityCompleted", "ActivityFailed")
_RETRIED = "ActivityRetryRequested"


def records(event: Event, command: Command) -> bool:
    """Say whether `event` is what the engine writes for `command`."""
    kind, fields = OWN[event.event_type]
    if command["type"] != kind:
        return False
    return all(command[ours] == event.payload.get(theirs) for ours, theirs in fields)


def shown(kind: str, fields: Mapping[str, Any] | None) -> str:
    """Return a command or an event as a person can compare it."""
    told = [f"{name}={fields[name]!r}" for name in _TELLING if fields and name in fields]
    return f"{kind}({', '.join(told)})"


def surviving(events: Sequence[Event]) -> list[Event]:
    """Return `events` without those that a retry of a failed activity has undone.

    The retried activity and those after it get new outcomes, and what the code issued after the
    failure belongs to a branch that is not taken any more.
    """
    retries = [event for event in events if event.event_type == _RETRIED]
    return [event for event in events if not any(_undone(event, retry) for retry in retries)]


def still_seen(seen: int, events: Iterable[Event]) -> int:
    """Return how much of what the last commit had seen still counts.

    A retry takes back what was issued after the failure, until the next commit.
    """
    retries = [event for event in events if event.event_type == _RETRIED and event.seq >= seen]
    return (
        min((retry.payload.get("failed_event_seq") or 1) - 1 for retry in retries)
        if retries
        else seen
    )


def side_effects(events: Iterable[Event]) -> dict[int, Event]:
    """Return the recorded side effects by number; the first of each counts."""
    found: dict[int, Event] = {}
    for event in events:
        if event.event_type == "SideEffectRecorded":
            found.setdefault(event.payload["side_effect_seq"], event)
    return found


def _undone(event: Event, retry: Event) -> bool:
    if event.seq >= retry.seq:
        return False
    retried = retry.payload["activity_seq"]
    if event.event_type in OUTCOMES:
        return bool(event.payload["activity_seq"] >= retried)
    if event.event_type == "ActivityScheduled":
        return bool(event.payload["activity_seq"] > retried)
    failed_at = retry.payload.get("failed_event_seq") or retry.seq
    return event.event_type in OWN and event.seq > failed_at
