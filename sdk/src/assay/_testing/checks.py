"""Whether a run of the environment repeats itself: what a test shows must hold in a replay too."""

from __future__ import annotations

from assay._testing.replaying import Recorded, compare, replay
from assay._testing.state import RunState
from assay._testing.world import World, info_of
from assay.errors import NonDeterminismError


def repeats_itself(world: World, run: RunState) -> None:
    """Replay a run from its own history; raise if that issues anything else."""
    if run.machine is None:  # a function stands in its place, or its code has not begun
        return
    try:
        again = replay(recorded(run), world.code.workflows(run.workflow_type))
        compare(run.machine.noted, again.noted)
    except NonDeterminismError as error:
        hint = "it depends on something besides its events: a global, the order of a set, ..."
        text = f"run {run.workflow_id} ({run.workflow_type}) cannot be replayed: {error}\n{hint}"
        raise NonDeterminismError(text) from None


def recorded(run: RunState) -> Recorded:
    """Return a run with its history so far."""
    return Recorded(
        name=run.workflow_id,
        info=info_of(run),
        events=list(run.events),
        seen=run.seen,
        ended_from_outside=run.ended_from_outside,
    )
