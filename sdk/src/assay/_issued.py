"""The commands of one run that history has not recorded yet, and how they compare with it.

A timer that is cancelled in the very activation that started it never existed: seqs are given
when the activation ends.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from assay import _json
from assay._history import OUTCOMES, Command, Event, records, shown
from assay.errors import NonDeterminismError


@dataclass(slots=True)
class Issue:
    """One command, the event on which it was issued, and the line of code that did."""

    command: Command
    after: int
    where: str
    timer: asyncio.TimerHandle | None = None


_WAIT, _WAITS = "WaitForSignal", "WorkflowAwaitingSignal"


class Issued:
    """What the code has issued: `fresh` in this activation, sealed before."""

    def __init__(self) -> None:
        self._fresh: list[Issue] = []
        self._sealed: deque[Issue] = deque()

    def __len__(self) -> int:
        return len(self._sealed)

    @property
    def commands(self) -> list[Command]:
        return [issue.command for issue in self._sealed]

    def add(self, command: Command, after: int, timer: asyncio.TimerHandle | None = None) -> None:
        self._fresh.append(Issue(command, after, _caller(), timer))

    def end(self, command: Command, after: int) -> None:
        """Add the command that ends the run."""
        self._fresh.append(Issue(command, after, "the end of the workflow"))

    def seal(self, number: Callable[[asyncio.TimerHandle], int]) -> None:
        """End an activation: what it issued stays, but for timers it has itself cancelled."""
        for issue in self._fresh:
            if issue.timer is not None:
                if issue.timer.cancelled():
                    continue
                issue.command["seq"] = number(issue.timer)
            self._sealed.append(issue)
        self._fresh.clear()

    def match(self, event: Event) -> Command | None:
        """Take the command that `event` records; raise `NonDeterminismError` if it is another.

        Of waits for signals a legacy client, which may have had the run before, records fewer or
        more: they start nothing, so neither matters.
        """
        for waits, issue in enumerate(self._sealed):
            if records(event, issue.command):
                for _ in range(waits):
                    self._sealed.popleft()
                return self._sealed.popleft().command
            if issue.command["type"] != _WAIT:
                break
        if event.event_type == _WAITS:
            return None
        raise NonDeterminismError(self._difference(event))

    def forget(self) -> list[Command]:
        """Take all of them as recorded."""
        commands = self.commands
        self._sealed.clear()
        return commands

    def expect_none_before(self, seen: int) -> None:
        """Raise if the code issues what a worker that had seen as much has not issued."""
        while self._sealed and self._sealed[0].command["type"] == _WAIT:
            if self._sealed[0].after > seen:
                return
            self._sealed.popleft()
        if self._sealed and self._sealed[0].after <= seen:
            raise NonDeterminismError(_told("nothing more", self._sealed[0], f"after event {seen}"))

    def _difference(self, event: Event) -> str:
        expected = shown(event.event_type, event.payload)
        issue = self._sealed[0] if self._sealed else None
        return _told(expected, issue, f"at event {event.seq}")


def _told(expected: str, issue: Issue | None, place: str) -> str:
    lines = [f"the code does not repeat its history {place}", f"  expected: {expected}"]
    if issue is None:
        lines.append("  got:      nothing, the code waits")
    else:
        command = issue.command
        lines.append(f"  got:      {shown(command['type'], command)}, on event {issue.after}")
        lines.append(f"  where:    {issue.where}")
    lines.append(
        "the workflow's code has changed since (keep the old way behind ctx.version(...)), "
        "or depends on something besides its events"
    )
    return "\n".join(lines)


def _caller() -> str:
    """Return the line of workflow code that is being run."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        known = frame.f_globals  # no calls here: the guard looks at each of them
        module = known["__name__"] if "__name__" in known else ""  # noqa: SIM401
        if module[:6] != "assay." and module[:8] != "asyncio." and module != "contextlib":
            break
        frame = frame.f_back
    code = frame.f_code
    return f"{code.co_filename}:{frame.f_lineno}, in {code.co_name}"


def size(command: Command) -> int:
    """Return about how many bytes of history a command takes."""
    return len(_json.encode(command))


def size_of(event: Event) -> int:
    """Return about how many bytes an inbound event takes.

    Of an activity's end only what the workflow sees counts: a worker that goes on alone does not
    know what else the engine will write, and a replay must come to the same number.
    """
    payload = event.payload
    if event.event_type in OUTCOMES:
        payload = [payload.get("result"), payload.get("error")]
    return len(_json.encode(payload))
