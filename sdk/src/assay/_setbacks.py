"""Hands back workflow tasks that this worker could not do, without spinning on them.

Another worker may be able to (the one that still has the old code), so the first try is soon;
after some in a row the lease is left to run out by itself.
"""

from __future__ import annotations

from assay._exchange import Problem, RunRef, WorkflowTask
from assay._kit import Kit

_FIRST_SECS = 1.0
_REMEMBERED = 1000


class Setbacks:
    """Counts how often a run could not be done, one time after the other."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._counts: dict[RunRef, int] = {}

    def over(self, run: RunRef) -> None:
        """Forget about a run that goes on."""
        self._counts.pop(run, None)

    async def hand_back(self, task: WorkflowTask, problem: Problem | None) -> None:
        """Release the task and say why, later each time."""
        count = self._counts.pop(task.run, 0)
        if len(self._counts) >= _REMEMBERED:
            self._counts.pop(next(iter(self._counts)))
        self._counts[task.run] = count + 1
        pause = _FIRST_SECS * 2**count
        if pause > task.lease_secs / 2 and not self._kit.stopping.is_set():
            return
        await self._kit.clock.wait(self._kit.stopping, pause)
        await self._kit.release(task, problem)
