"""Runs activities: async ones on the loop, others in threads, each kept alive while it runs.

How an attempt ended is handed on; what becomes of it there is not known here.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from assay import _json
from assay._exchange import ActivityTask, Outcome, ReportAnswer, heartbeat
from assay._history import Command
from assay._keeper import Hold, rhythm
from assay._kit import Kit
from assay._taskset import TaskSet
from assay._threads import Threads
from assay.activity import Attempt, AttemptInfo, current_attempt

logger = logging.getLogger("assay.worker")

Report = Callable[[ActivityTask, Outcome], Awaitable[None]]


class Attempts:
    """At most `limit` activities at once; what comes beyond waits here, alive."""

    def __init__(self, kit: Kit, limit: int) -> None:
        self._kit = kit
        self._limit = limit
        self._reserved = 0
        self._busy = 0
        self._turn = asyncio.Semaphore(limit)
        self._threads = Threads(limit)
        self._report: Report | None = None
        self.running = TaskSet()

    @property
    def free(self) -> int:
        """How many more activities the worker can take now."""
        return max(0, self._limit - self._busy - self._reserved)

    def report_to(self, report: Report) -> None:
        """Say who is told how an attempt ended."""
        self._report = report

    def start(self, task: ActivityTask) -> None:
        """Run one attempt beside everything else."""
        self._busy += 1
        self.running.spawn(self._attempt(task))

    @contextmanager
    def reserved(self, commands: Sequence[Command]) -> Iterator[int]:
        """Keep places for the activities in `commands` that may come straight back."""
        wanted = sum(1 for command in commands if self._is_ours(command))
        places = 0 if self._kit.stopping.is_set() else min(wanted, self.free)
        self._reserved += places
        try:
            yield places
        finally:
            self._reserved -= places

    def close(self) -> None:
        """Let the threads go; one that is busy ends with its activity."""
        self._threads.close()

    def _is_ours(self, command: Command) -> bool:
        return (
            command["type"] == "ScheduleActivity"
            and command["name"] in self._kit.registry.activities
            and command["task_queue"] == self._kit.queue
        )

    async def _attempt(self, task: ActivityTask) -> None:
        attempt = Attempt(_info(task), lambda: self._hurry(hold))
        hold = Hold(
            every_secs=rhythm(task.lease_secs, task.heartbeat_timeout_secs),
            report=lambda: heartbeat(self._kit.new_id(), task, attempt.take_details()),
            heard=lambda answer: _heard(attempt, answer),
        )
        self._kit.keeper.add(hold)
        try:
            try:
                async with self._turn:
                    ended = await self._outcome(task, attempt)
            finally:
                self._busy -= 1  # its place is free before the report, for what follows from it
                self._kit.changed.set()
            if attempt.untold and not ended.final(task):
                # The next attempt starts from these, so they have to be there before it does.
                last = heartbeat(self._kit.new_id(), task, attempt.take_details())
                await self._kit.outbox.submit(last)
            assert self._report is not None
            await self._report(task, ended)
        except asyncio.CancelledError:
            await self._kit.release(task)
            raise
        finally:
            self._kit.keeper.drop(hold)

    def _hurry(self, hold: Hold) -> None:
        self._kit.loop.call_soon_threadsafe(self._kit.keeper.hurry, hold)

    async def _outcome(self, task: ActivityTask, attempt: Attempt) -> Outcome:
        try:
            return Outcome(result=_json.plain(await self._call(task, attempt)))
        except (Exception, SystemExit) as error:
            logger.warning("activity %s failed", task.name, exc_info=error)
            return Outcome.of(error)
        except asyncio.CancelledError as error:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            return Outcome.of(error)  # the activity's own doing

    async def _call(self, task: ActivityTask, attempt: Attempt) -> Any:
        bound = self._kit.registry.activities[task.name]
        arguments = bound.arguments(attempt, task.input)
        with current_attempt(attempt):
            if bound.is_async:
                return await bound.function(*arguments)
            result = await self._threads.call(bound.function, *arguments)
            return await result if inspect.isawaitable(result) else result


def _info(task: ActivityTask) -> AttemptInfo:
    return AttemptInfo(
        workflow_id=task.run.id,
        namespace=task.run.namespace,
        name=task.name,
        seq=task.seq,
        attempt=task.attempt,
        max_attempts=task.max_attempts,
        details=task.details,
        context=task.context or {},
    )


def _heard(attempt: Attempt, answer: ReportAnswer) -> None:
    if answer.cancel_requested or answer.status != "accepted":
        attempt.cancel()
