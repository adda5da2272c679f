"""Threads for activities that block.

Unlike those of the standard pool they do not keep the process alive: an activity that does not
end in time was handed back to the engine, and must not hold up the end of its worker.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

_Job = tuple[Future[Any], Callable[[], Any]]


class Threads:
    """At most `limit` threads, started when they are needed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._started = 0
        self._busy = 0

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a blocking function, with the context variables of the caller."""
        job: Future[Any] = Future()
        context = contextvars.copy_context()
        self._busy += 1
        try:
            self._jobs.put((job, lambda: context.run(function, *arguments)))
            if self._started < min(self._busy, self._limit):
                self._started += 1
                name = f"assay-activity-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            return await asyncio.wrap_future(job)
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Let the threads end, each after the job it has."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, function = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - whoever awaits it is told, not the thread
                future.set_exception(error)
