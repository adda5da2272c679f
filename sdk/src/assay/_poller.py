"""Asks for tasks, in its own rhythm, for as long as the worker has room.

The engine's hint spaces the polls, and what the worker itself expects brings one forward.
"""

from __future__ import annotations

import logging

from assay._attempts import Attempts
from assay._clock import Backoff
from assay._exchange import ActivityTask, Answer, Poll, Room, WorkflowTask
from assay._kit import Kit
from assay._rhythm import Rhythm
from assay._runs import Runs
from assay._steps import Steps
from assay.errors import ApiError, ConnectionFailedError

logger = logging.getLogger("assay.worker")

_HALF_FULL_WAIT_SECS = 1.0  # a poll for one kind only returns soon: the other may get room
_LONGEST_PAUSE_SECS = 60.0
_SHORTEST_PAUSE_SECS = 0.02  # between two polls that brought nothing
_STUCK_SECS = 0.2
_THINKING_SECS = 0.1  # a poll that says what is cached waits so long for what is being cached


class Poller:
    """Hands workflow tasks to `steps` and activities to `attempts`, as many as there is room."""

    def __init__(
        self, kit: Kit, rhythm: Rhythm, *, runs: Runs, attempts: Attempts, steps: Steps
    ) -> None:
        self._kit = kit
        self._rhythm = rhythm
        self._runs = runs
        self._attempts = attempts
        self._steps = steps

    async def run(self, wait_secs: float) -> None:
        """Poll until the worker stops; an answer that is under way is still taken."""
        backoff = Backoff()
        while not self._kit.stopping.is_set():
            room = self._room()
            if self._kit.outbox.stuck:
                await self._kit.clock.wait(self._kit.stopping, _STUCK_SECS)
                continue
            if not (room.workflows or room.activities):
                await self._nap(_LONGEST_PAUSE_SECS)
                continue
            self._rhythm.polled()
            try:
                answer = await self._kit.channel.poll(self._poll(room, wait_secs))
            except (ConnectionFailedError, ApiError) as error:
                level = logging.DEBUG if backoff.tried else logging.WARNING
                logger.log(level, "no tasks, trying again: %s", error)
                await self._kit.clock.wait(self._kit.stopping, backoff.next())
            else:
                backoff.reset()
                await self._taken(answer)

    def _room(self) -> Room:
        registry = self._kit.registry
        return Room(
            workflows=self._steps.free if registry.workflows else 0,
            activities=self._attempts.free if registry.activities else 0,
        )

    def _poll(self, room: Room, wait_secs: float) -> Poll:
        if not (self._steps.free and self._attempts.free):
            wait_secs = min(wait_secs, _HALF_FULL_WAIT_SECS)
        return Poll(room=room, wait_secs=wait_secs, cached=self._runs.cached())

    async def _taken(self, answer: Answer) -> None:
        pause = answer.next_poll_secs
        if not (answer.workflow_tasks or answer.activity_tasks):
            pause = max(pause, _SHORTEST_PAUSE_SECS)
        until = self._kit.clock.monotonic() + pause
        for workflow_task in answer.workflow_tasks:
            self._hand(workflow_task)
        for activity_task in answer.activity_tasks:
            self._hand(activity_task)
        await self._kit.clock.wait(self._steps.thinking.idle, _THINKING_SECS)
        while not self._kit.stopping.is_set():
            left = self._rhythm.left(until)
            if left <= 0:
                return
            await self._nap(min(left, _LONGEST_PAUSE_SECS))

    def _hand(self, task: WorkflowTask | ActivityTask) -> None:
        if self._kit.stopping.is_set():
            self._steps.waiting.spawn(self._kit.release(task))
        elif isinstance(task, WorkflowTask):
            self._steps.start(task)
        else:
            self._attempts.start(task)

    async def _nap(self, secs: float) -> None:
        self._kit.changed.clear()
        await self._kit.clock.wait(self._kit.changed, secs)
