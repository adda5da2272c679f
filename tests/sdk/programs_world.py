"""The engine's side of a program: its history, what may still land, and how a batch is taken.

As the engine does it: a commit that had not seen everything is taken all the same, unless it
closes the run; what a batch starts without having seen a cancel request is not started.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from assay._exchange import ActivityTask, Outcome, RunRef
from assay._history import Command, Event
from assay.failure import Failure

from .fake_runs import CLOSING, RECORDED

MOST_REFUSALS = 3
CANCEL = 11
"""The choice by which a run is asked to stop."""
Inbound = tuple[str, Any]

EVENTS = RECORDED | {
    "CallWorkflow": (
        "WorkflowCalled",
        {"seq": "call_seq", "call": "call", "workflow_id": "workflow_id"},
    ),
    "Reply": ("ReplySent", {"seq": "reply_seq", "request_id": "request_id"}),
}


@dataclass
class World:
    history: list[Event] = field(default_factory=list)
    seen: int = 0
    closed: bool = False
    _activities: dict[int, Command] = field(default_factory=dict)
    _timers: dict[int, float] = field(default_factory=dict)
    _children: set[str] = field(default_factory=set)
    _calls: dict[int, str] = field(default_factory=dict)
    _clock: float = 1_000.0
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _cancelled_at: int = 0
    _refusals: int = 0

    def append(self, kind: str, payload: Any, at: float | None = None) -> Event:
        self._clock += 0.3
        seq = len(self.history) + 1
        event = Event(seq, kind, payload, round(self._clock if at is None else at, 6))
        self.history.append(event)
        return event

    # -- inbound ---------------------------------------------------------------------------------

    def land(self, choice: int) -> None:
        """Let one thing happen that may happen now."""
        if choice == CANCEL:
            self.take(("WorkflowCancelRequested", {"reason": "enough"}))
            return
        possible = self.possible()
        self.take(possible[choice % len(possible)])

    def land_end(self) -> bool:
        """Let the first thing end that is open, or else ask the run to; False: all was done."""
        if not self.ends() and self._cancelled_at:
            return False
        self.take([*self.ends(), ("WorkflowCancelRequested", None)][0])
        return True

    def possible(self) -> list[Inbound]:
        """What may land: the ends of what is open first, then what comes from outside."""
        number = next(self._numbers)
        said = {"payload": number}
        asked = {**said, "request_id": f"r-{number}", "from": None}
        sent = {**said, "request_id": f"r-{number}", "from": {"workflow_id": "sender"}}
        return [
            *self.ends(),
            *(("SignalReceived", {"signal": name, **said}) for name in "ab"),
            ("SignalReceived", {"signal": "ask", **(asked if number % 2 else sent)}),
            ("WorkflowExited", {"call_seq": 1, "workflow_id": "other", "status": "COMPLETED"}),
        ]

    def ends(self) -> list[Inbound]:
        """How that which is open may end."""
        ends = [self.activity_end(seq, well=seq % 3 > 0) for seq in self._activities]
        ends += [("TimerFired", {"timer_seq": seq}) for seq in self._timers]
        for child in sorted(self._children):
            ended = {"child_workflow_id": child}
            ends.append(("ChildWorkflowCompleted", {**ended, "result": len(self.history)}))
            ends.append(("ChildWorkflowFailed", {**ended, "error": "no"}))
        for seq in self._calls:
            error = {"kind": "NOT_FOUND", "message": "no such run"} if seq % 2 else None
            ends.append(("WorkflowCallEnded", {"call_seq": seq, "error": error}))
        return ends

    def activity_end(self, seq: int, *, well: bool) -> Inbound:
        """The event as the engine tells it; a worker that goes on alone makes its own."""
        named = {"activity_id": 7000 + seq, **self._named(seq)}
        if well:
            return "ActivityCompleted", {**named, "result": {"of": seq}, "error": None}
        return "ActivityFailed", {**named, "error": f"no {seq}", "final_attempt": 1}

    def fused(self, choice: int) -> tuple[Inbound, Event] | None:
        """An activity's end as the engine will tell it, and as the worker tells it to itself."""
        if not self._activities:
            return None
        seq = sorted(self._activities)[choice % len(self._activities)]
        well, named = seq % 3 > 0, self._named(seq)
        task = ActivityTask(
            run=RunRef("main", "w", "i"), seq=seq, attempt=1, name=named["name"], lease_secs=30.0
        )
        ended = (
            Outcome(result={"of": seq}) if well else Outcome(failure=Failure(message=f"no {seq}"))
        )
        at = round(self._clock - 2 + choice, 6)  # the worker's clock may be off
        event = ended.event(len(self.history) + 1, task, at)
        return self.activity_end(seq, well=well), event

    def take(self, inbound: Inbound, at: float | None = None) -> Event:
        """Write an inbound event, and forget what has ended by it."""
        kind, payload = inbound
        match kind:
            case "ActivityCompleted" | "ActivityFailed":
                del self._activities[payload["activity_seq"]]
            case "TimerFired":
                self._clock = max(self._clock, self._timers.pop(payload["timer_seq"]))
            case "ChildWorkflowCompleted" | "ChildWorkflowFailed":
                self._children.remove(payload["child_workflow_id"])
            case "WorkflowCallEnded":
                del self._calls[payload["call_seq"]]
            case "WorkflowCancelRequested":
                self._timers.clear()
                self._cancelled_at = len(self.history) + 1
        return self.append(kind, payload, at)

    def _named(self, seq: int) -> dict[str, Any]:
        return {"activity_seq": seq, "name": self._activities[seq]["name"]}

    # -- commits ---------------------------------------------------------------------------------

    def commit(self, lease: int, commands: list[Command]) -> bool:
        """Take a batch of a worker that has seen `lease` events; False: refused."""
        sighted = lease == len(self.history)
        closes = bool(commands) and commands[-1]["type"] in CLOSING
        if closes and not sighted and self._refusals + 1 < MOST_REFUSALS:
            self._refusals += 1
            return False
        self._refusals = 0
        self.record(lease, commands)
        self.seen = len(self.history) if sighted else min(lease, len(self.history) - 1)
        return True

    def record(self, lease: int, commands: list[Command]) -> None:
        """Write the events of a batch, or of a part of one."""
        too_late = self._cancelled_at > lease
        for command in commands:
            if command["type"] in CLOSING:
                self.closed = True
                return
            kind, names = EVENTS[command["type"]]
            self.append(kind, {theirs: command[ours] for ours, theirs in names.items()})
            self._take_effect(command)
            if too_late:
                self._undo(command)

    def _undo(self, command: Command) -> None:
        """What a batch starts that has not seen the cancel request ends before it begins."""
        match command:
            case {"type": "ScheduleActivity", "seq": seq}:
                self.take(self.activity_end(seq, well=False))
            case {"type": "ScheduleTimer", "seq": seq}:
                del self._timers[seq]
            case {"type": "StartChildWorkflow", "workflow_id": child}:
                ended = {"child_workflow_id": child, "error": "cancelled before it was started"}
                self.take(("ChildWorkflowFailed", ended))

    def _take_effect(self, command: Command) -> None:
        match command:
            case {"type": "ScheduleActivity", "seq": seq}:
                assert seq not in self._activities
                self._activities[seq] = command
            case {"type": "ScheduleTimer", "seq": seq, "duration_secs": secs}:
                self._timers[seq] = self._clock + secs
            case {"type": "CancelTimer", "seq": seq}:
                self._timers.pop(seq, None)
            case {"type": "StartChildWorkflow", "workflow_id": child}:
                assert child not in self._children  # it would leave no event
                self._children.add(child)
            case {"type": "CallWorkflow", "seq": seq, "workflow_id": called}:
                self._calls[seq] = called
