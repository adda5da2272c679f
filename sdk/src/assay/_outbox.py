"""Reports on their way out: batched, and sent again with the same id until they are answered.

It knows nothing of what a report says. While a batch is under way the next one gathers, so the
number of calls follows the load and not the number of reports.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from assay._clock import Backoff, Clock
from assay._exchange import Answer, Report, ReportAnswer
from assay.errors import (
    ApiError,
    ConnectionFailedError,
    UnauthorizedError,
    UnavailableError,
)

logger = logging.getLogger("assay.worker")

_BATCH_BYTES = 3_500_000
_BATCH_REPORTS = 500
_LANES = 2

Send = Callable[[Sequence[Report]], Awaitable[Answer]]


class Outbox:
    """Takes reports from anywhere on the loop; `run` sends them.

    `stuck` says that the last sending failed: a worker that cannot report should take no more.
    """

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._waiting: deque[Report] = deque()
        self._alone: deque[Report] = deque()
        self._answers: dict[str, asyncio.Future[ReportAnswer]] = {}
        self._filled = asyncio.Event()
        self._never = asyncio.Event()
        self._closed = False
        self.stuck = False

    async def submit(self, report: Report) -> ReportAnswer:
        """Send a report, however often it takes, and return the answer to it."""
        if self._closed:
            raise asyncio.CancelledError("the worker has ended")
        answer: asyncio.Future[ReportAnswer] = asyncio.get_running_loop().create_future()
        self._answers[report.id] = answer
        self._waiting.append(report)
        self._filled.set()
        try:
            return await answer
        finally:
            self._answers.pop(report.id, None)

    async def run(self) -> None:
        """Send until cancelled; who still waits for an answer then is cancelled too."""
        try:
            async with asyncio.TaskGroup() as lanes:
                for _ in range(_LANES):
                    lanes.create_task(self._lane())
        finally:
            self._closed = True
            for answer in self._answers.values():
                answer.cancel()

    async def _lane(self) -> None:
        backoff = Backoff()
        while True:
            await self._filled.wait()
            await asyncio.sleep(0)  # let the other reports of this turn of the loop come along
            batch = self._take()
            if not batch:
                continue
            self.stuck = not await self._sent(batch)
            if self.stuck:
                await self._clock.wait(self._never, backoff.next())
            else:
                backoff.reset()

    def _take(self) -> list[Report]:
        if self._alone:
            return [self._alone.popleft()]
        batch: list[Report] = []
        size = 0
        while self._waiting and len(batch) < _BATCH_REPORTS:
            size += len(self._waiting[0].body)
            if batch and size > _BATCH_BYTES:
                break
            batch.append(self._waiting.popleft())
        self._note()
        return [report for report in batch if report.id in self._answers]

    async def _sent(self, batch: list[Report]) -> bool:
        """Send one batch; say whether the engine was there to take it."""
        try:
            answer = await self._send(batch)
        except (ConnectionFailedError, UnavailableError, UnauthorizedError) as error:
            level = logging.DEBUG if self.stuck else logging.WARNING
            logger.log(level, "reports not taken, trying again: %s", error)
            self._again(batch)
            return False
        except ApiError as error:
            self._refused(batch, error)
            return True
        except asyncio.CancelledError:
            self._again(batch)
            raise
        answered = {each.id for each in answer.reports}
        for each in answer.reports:
            self._resolve(each)
        left = [report for report in batch if report.id not in answered]
        self._again(left)
        return not left

    def _refused(self, batch: list[Report], error: ApiError) -> None:
        """Find the one that cannot be sent, when the engine refuses the whole request."""
        if len(batch) > 1:
            self._alone.extend(batch)
            self._filled.set()
            return
        told = ReportAnswer(id=batch[0].id, status="invalid", code=error.code, error=str(error))
        self._resolve(told)

    def _again(self, reports: list[Report]) -> None:
        self._waiting.extendleft(reversed(reports))
        self._note()

    def _note(self) -> None:
        if self._waiting or self._alone:
            self._filled.set()
        else:
            self._filled.clear()

    def _resolve(self, answer: ReportAnswer) -> None:
        future = self._answers.get(answer.id)
        if future is not None and not future.done():
            future.set_result(answer)
