"""Events: their types, and their compact form in the log.

In the log an event is `[code, time, fields]` as JSON. Fields: q seq of its kind, n name,
k queue, v value or r reference to it, e error, i id, and the policy letters m i c s h.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from . import values
from .activity import Policy


class EventType(StrEnum):
    STARTED = "WorkflowStarted"
    ACTIVITY_SCHEDULED = "ActivityScheduled"
    ACTIVITY_COMPLETED = "ActivityCompleted"
    ACTIVITY_FAILED = "ActivityFailed"
    ACTIVITY_RETRY_REQUESTED = "ActivityRetryRequested"
    TIMER_SCHEDULED = "TimerScheduled"
    TIMER_FIRED = "TimerFired"
    TIMER_CANCELLED = "TimerCancelled"
    SIGNAL_RECEIVED = "SignalReceived"
    AWAITING_SIGNAL = "WorkflowAwaitingSignal"
    SIDE_EFFECT = "SideEffectRecorded"
    CHILD_STARTED = "ChildWorkflowStarted"
    CHILD_COMPLETED = "ChildWorkflowCompleted"
    CHILD_FAILED = "ChildWorkflowFailed"
    CANCEL_REQUESTED = "WorkflowCancelRequested"
    CANCELLED = "WorkflowCancelled"
    COMPLETED = "WorkflowCompleted"
    FAILED = "WorkflowFailed"
    ATTRIBUTES_UPSERTED = "SearchAttributesUpserted"
    STALLED = "WorkflowStalled"
    WORKFLOW_CALLED = "WorkflowCalled"
    WORKFLOW_CALL_ENDED = "WorkflowCallEnded"
    WORKFLOW_EXITED = "WorkflowExited"
    REPLY_SENT = "ReplySent"


CODES: Mapping[EventType, str] = {
    EventType.STARTED: "S",
    EventType.ACTIVITY_SCHEDULED: "A",
    EventType.ACTIVITY_COMPLETED: "AC",
    EventType.ACTIVITY_FAILED: "AF",
    EventType.ACTIVITY_RETRY_REQUESTED: "AR",
    EventType.TIMER_SCHEDULED: "T",
    EventType.TIMER_FIRED: "TF",
    EventType.TIMER_CANCELLED: "TX",
    EventType.SIGNAL_RECEIVED: "G",
    EventType.AWAITING_SIGNAL: "GW",
    EventType.SIDE_EFFECT: "E",
    EventType.CHILD_STARTED: "K",
    EventType.CHILD_COMPLETED: "KC",
    EventType.CHILD_FAILED: "KF",
    EventType.CANCEL_REQUESTED: "XR",
    EventType.CANCELLED: "X",
    EventType.COMPLETED: "C",
    EventType.FAILED: "F",
    EventType.ATTRIBUTES_UPSERTED: "U",
    EventType.STALLED: "Z",
    EventType.WORKFLOW_CALLED: "P",
    EventType.WORKFLOW_CALL_ENDED: "PE",
    EventType.WORKFLOW_EXITED: "PX",
    EventType.REPLY_SENT: "Y",
}
_TYPES = {code: kind for kind, code in CODES.items()}

OUTCOMES = frozenset({EventType.ACTIVITY_COMPLETED, EventType.ACTIVITY_FAILED})


@dataclass(frozen=True, slots=True)
class Event:
    type: EventType
    at: float
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with its place in the history."""

    seq: int
    event: Event


def pack(event: Event) -> str:
    return values.text([CODES[event.type], event.at, event.data])


def unpack(text: str) -> Event:
    code, at, data = values.parse(text)
    return Event(_TYPES[code], at, data)


def size(texts: tuple[str, ...]) -> int:
    return sum(len(text.encode()) for text in texts)


_POLICY = {
    "m": "max_attempts",
    "i": "initial_interval_secs",
    "c": "backoff_coefficient",
    "s": "start_to_close_secs",
    "h": "heartbeat_timeout_secs",
}
_DEFAULTS = Policy()


def policy_fields(policy: Policy) -> dict[str, Any]:
    """Only what differs from the defaults."""
    return {
        letter: getattr(policy, name)
        for letter, name in _POLICY.items()
        if getattr(policy, name) != getattr(_DEFAULTS, name)
    }


def policy_of(data: Mapping[str, Any] | None) -> Policy:
    given = data or {}
    return Policy(**{name: given[letter] for letter, name in _POLICY.items() if letter in given})
