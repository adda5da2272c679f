"""Replaying a recorded history with the code as it is now, and telling where they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from assay import _json
from assay._functions import Registry
from assay._history import OWN, Event
from assay._info import RunInfo
from assay._issued import Issue
from assay._testing.noted import NotedMachine
from assay.errors import NonDeterminismError
from assay.workflow import body

# The commands that the event which closes a history may stand for. A run that was asked to end
# is cancelled even where it wants to continue.
CLOSED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "WorkflowCompleted": ("CompleteWorkflow", "ContinueAsNew"),
    "WorkflowFailed": ("FailWorkflow",),
    "WorkflowCancelled": ("CancelWorkflow", "ContinueAsNew"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A run as it was: who it is, what happened to it, and how much of that its code has seen."""

    name: str
    info: RunInfo
    events: Sequence[Event]
    seen: int
    ended_from_outside: bool = False

    @property
    def closing(self) -> Event | None:
        """The event that ended the run, if it has ended."""
        last = self.events[-1]
        return last if last.event_type in CLOSED_BY else None


def copied(events: Sequence[Event]) -> list[Event]:
    """Return events of which the code may change what it is given."""
    return [structs.replace(event, payload=_json.plain(event.payload)) for event in events]


def last_own(events: Sequence[Event]) -> int:
    """Return the seq of the last event that records a command: so much was seen at least."""
    return max((event.seq for event in events if event.event_type in OWN), default=0)


def replay(recorded: Recorded, registry: Registry) -> NotedMachine:
    """Do again what is recorded; raise `NonDeterminismError` where the code does something else."""
    machine = NotedMachine(body(registry, recorded.info))
    closing, events = recorded.closing, copied(recorded.events)
    try:
        if closing is None:
            machine.feed(events, recorded.seen)
        elif recorded.ended_from_outside or _never_began(recorded):
            machine.feed(events[:-1], last_own(events))
        else:
            machine.feed(events[:-1], closing.seq - 1)
            _check_end(machine, closing)
    finally:
        machine.drop()
    return machine


def _never_began(recorded: Recorded) -> bool:
    """Say whether the run was cancelled so early that nothing tells if its code had begun."""
    cancelled = recorded.events[-1].event_type == "WorkflowCancelled"
    return cancelled and last_own(recorded.events) == 0


def _check_end(machine: NotedMachine, closing: Event) -> None:
    expected = f"{closing.event_type}, by {' or '.join(CLOSED_BY[closing.event_type])}"
    first = machine.noted[-machine.outstanding] if machine.outstanding else None
    if first is None or first.command["type"] not in CLOSED_BY[closing.event_type]:
        hint = "a history that was ended from outside says so: put `terminated: true` beside it"
        raise NonDeterminismError(
            _told(f"at event {closing.seq}, the end", expected, first) + f"\n{hint}"
        )


def compare(live: Sequence[Issue], again: Sequence[Issue]) -> None:
    """Raise if a replay has issued anything else than was issued live, to the last field."""
    for place in range(max(len(live), len(again))):
        first = live[place] if place < len(live) else None
        second = again[place] if place < len(again) else None
        if first is None or second is None or _differ(first, second):
            after = (first or second).after  # type: ignore[union-attr]
            expected = "nothing more" if first is None else _whole(first)
            raise NonDeterminismError(_told(f"after event {after}", expected, second))


def _differ(first: Issue, second: Issue) -> bool:
    return (first.command, first.after) != (second.command, second.after)


def _whole(issue: Issue) -> str:
    fields = (f"{name}={value!r}" for name, value in issue.command.items() if name != "type")
    return f"{issue.command['type']}({', '.join(fields)})"


def _told(place: str, expected: str, got: Issue | None) -> str:
    """Return a difference as people can read it."""
    lines = [f"the code does not repeat its history {place}", f"  expected: {expected}"]
    if got is None:
        lines.append("  got:      nothing, the code waits")
    else:
        lines.append(f"  got:      {_whole(got)}, on event {got.after}")
        lines.append(f"  where:    {got.where}")
    return "\n".join(lines)
