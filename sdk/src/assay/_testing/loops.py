"""A loop in a thread of its own for async activities: a test may have a loop itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import Any

_Running = tuple[asyncio.AbstractEventLoop, asyncio.Event]


class BackgroundLoop:
    """Started when it is first needed."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._running: Future[_Running] = Future()

    def run(self, work: Awaitable[Any]) -> Any:
        """Wait for something on the loop, with the context variables of the caller."""

        async def awaited() -> Any:
            return await work

        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="assay-testing", daemon=True)
            self._thread.start()
        loop, _ = self._running.result()
        return asyncio.run_coroutine_threadsafe(awaited(), loop).result()

    def close(self) -> None:
        """End the thread; what still runs on the loop is cancelled."""
        if self._thread is not None:
            loop, stop = self._running.result()
            loop.call_soon_threadsafe(stop.set)
            self._thread.join()
            self._thread, self._running = None, Future()

    def _run(self) -> None:
        asyncio.run(self._until_closed())

    async def _until_closed(self) -> None:
        stop = asyncio.Event()
        self._running.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()
