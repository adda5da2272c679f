"""What the engine in memory keeps of a run, and which event records which command."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

LEASE_SECS = 30.0
CLOSING = {
    "CompleteWorkflow": ("COMPLETED", "WorkflowCompleted"),
    "FailWorkflow": ("FAILED", "WorkflowFailed"),
    "CancelWorkflow": ("CANCELLED", "WorkflowCancelled"),
    "ContinueAsNew": ("COMPLETED", "WorkflowCompleted"),
}

# The event that records a command, and under which name it repeats the command's fields.
RECORDED: dict[str, tuple[str, dict[str, str]]] = {
    "ScheduleActivity": ("ActivityScheduled", {"seq": "activity_seq", "name": "name"}),
    "ScheduleTimer": ("TimerScheduled", {"seq": "timer_seq", "duration_secs": "duration_secs"}),
    "WaitForSignal": ("WorkflowAwaitingSignal", {"name": "signal"}),
    "UpsertSearchAttributes": (
        "SearchAttributesUpserted",
        {"seq": "upsert_seq", "patch": "patch"},
    ),
    "RecordSideEffect": (
        "SideEffectRecorded",
        {"seq": "side_effect_seq", "name": "name", "value": "value"},
    ),
    "CancelTimer": ("TimerCancelled", {"seq": "timer_seq"}),
    "StartChildWorkflow": (
        "ChildWorkflowStarted",
        {"workflow_id": "child_workflow_id", "workflow_type": "workflow_type"},
    ),
}

Json = dict[str, Any]


@dataclass
class Pending:
    """An activity without an outcome."""

    command: Json
    eager: bool = False
    worker: str | None = None
    report: str | None = None
    attempt: int = 0
    due: float = 0.0
    expires: float = 0.0
    details: Any = None


@dataclass
class Run:
    ref: Json
    workflow_type: str
    queue: str
    events: list[Json] = field(default_factory=list)
    status: str = "RUNNING"
    seen: int = 0
    lease: str | None = None
    lease_seen: int = 0
    lease_expires: float = 0.0
    refusals: int = 0
    activities: dict[int, Pending] = field(default_factory=dict)
    timers: dict[int, float] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    snapshot: Any = None
    attributes: Json = field(default_factory=dict)
    cancel_requested: bool = False
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def open(self) -> bool:
        return self.status == "RUNNING"

    def append(self, event_type: str, payload: Any, now: float) -> None:
        seq = len(self.events) + 1
        event = {"seq": seq, "event_type": event_type, "payload": payload, "timestamp": now}
        self.events.append(event)

    def types(self) -> list[str]:
        return [event["event_type"] for event in self.events]
