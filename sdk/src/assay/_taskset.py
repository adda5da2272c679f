"""Asyncio tasks that somebody must not lose sight of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger("assay.worker")


class TaskSet:
    """Holds its tasks until they end; tells when there are none, and `ended` after each."""

    def __init__(self, ended: asyncio.Event | None = None) -> None:
        self._ended_one = ended
        self._tasks: set[asyncio.Task[Any]] = set()
        self.idle = asyncio.Event()
        self.idle.set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` beside the caller; what it raises is logged."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        self.idle.clear()
        task.add_done_callback(self._ended)

    async def cancel(self) -> None:
        """Cancel all of them and wait until they have ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self.idle.set()
        if self._ended_one is not None:
            self._ended_one.set()
        if not task.cancelled() and task.exception() is not None:
            logger.error("a part of the worker failed", exc_info=task.exception())
