"""Letting things happen, until something holds or nothing more can happen. Time is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay._testing.state import RunState
from assay._testing.world import World
from assay.errors import AssayError, UsageError

_MOST_STEPS = 100_000
_MOST_SHOWN = 10


class NeverEndsError(AssayError):
    """A run was waited for that cannot end: what it waits for will not happen by itself."""


def settle(world: World) -> None:
    """Do what can be done at this moment."""
    if not world.driving:
        drive(world, lambda: False, until=world.now)


def drive(world: World, done: Callable[[], bool], until: float | None = None) -> bool:
    """Go on until something holds; False if nothing more can happen, not before `until` at least.

    A workflow that goes on for ever is stopped after very many steps.
    """
    with _driving(world):
        for _ in range(_MOST_STEPS):
            if done():
                return True
            if not world.agenda.step(until):
                return False
    raise NeverEndsError(f"{_MOST_STEPS} steps later there is no end in sight\n{waiting(world)}")


def advance(world: World, secs: float) -> None:
    """Let time pass."""
    until = world.now + secs
    drive(world, lambda: False, until)
    world.agenda.now = until


@contextmanager
def _driving(world: World) -> Iterator[None]:
    if world.driving:
        raise UsageError("an activity cannot wait for a run or for time: return, and let the test")
    world.driving = True
    try:
        yield
    finally:
        world.driving = False


def waiting(world: World) -> str:
    """Return what every open run waits for."""
    lines = [line for run in world.runs if run.open for line in _waits(run)]
    if len(lines) > _MOST_SHOWN:
        lines[_MOST_SHOWN:] = [f"  and {len(lines) - _MOST_SHOWN} more"]
    return "\n".join(lines)


def _waits(run: RunState) -> list[str]:
    places = run.machine.waits_at() if run.machine is not None else []
    who = f"  {run.workflow_id} ({run.workflow_type}) waits"
    return [f"{who} at {place}" for place in places] or [f"{who} to begin"]
