"""The worker: polls one queue, runs workflows and activities, and ends in good order.

Here its parts are put together; each of them is in a file of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

import msgspec

from assay._attempts import Attempts
from assay._clock import Clock, SystemClock
from assay._exchange import Channel, Identity, WorkflowTask
from assay._functions import Registry
from assay._keeper import Keeper
from assay._kit import Kit
from assay._outbox import Outbox
from assay._poller import Poller
from assay._rhythm import Rhythm
from assay._runs import Runs
from assay._steps import Steps
from assay.async_client import AsyncClient
from assay.client import Client
from assay.workflow import default_registry

logger = logging.getLogger("assay.worker")

_LAST_WORDS_SECS = 5.0


class WorkerOptions(TypedDict, total=False):
    """How a worker behaves; what is left out has a sensible value.

    `identity` names it in the list of workers; without one it is host and process. `wait_secs` is
    how long the engine may hold a poll that finds nothing, and so how long an idle worker may take
    to stop. `grace_secs` is how long running activities may go on after that.
    """

    identity: str
    max_concurrent_workflows: int
    max_concurrent_activities: int
    max_cached_runs: int
    wait_secs: float
    grace_secs: float
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    identity: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")
    max_concurrent_workflows: int = 50
    max_concurrent_activities: int = 20
    max_cached_runs: int = 500
    wait_secs: float = 5.0
    grace_secs: float = 10.0
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    kit: Kit
    runs: Runs
    attempts: Attempts
    steps: Steps
    poller: Poller


class Worker:
    """Runs what a registry holds, by default everything the decorators have registered::

    Worker(Client("http://127.0.0.1:8080"), queue="default").run()
    """

    def __init__(
        self,
        client: Client | AsyncClient,
        *,
        queue: str = "default",
        registry: Registry | None = None,
        **options: Unpack[WorkerOptions],
    ) -> None:
        self._client = client
        self._registry = registry or default_registry
        for function in (*self._registry.workflows.values(), *self._registry.activities.values()):
            function.check()
        self._settings = _Settings(**options)
        self._identity = Identity(
            worker_id=f"{self._settings.identity}-{uuid.uuid4().hex[:8]}",
            namespace=client.namespace,
            queue=queue,
            workflows=sorted(self._registry.workflows),
            activities=sorted(self._registry.activities),
        )
        self._parts: _Parts | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._changed: asyncio.Event | None = None
        self._stop_asked = threading.Event()

    @property
    def worker_id(self) -> str:
        """The name by which the engine knows it; another one in each process."""
        return self._identity.worker_id

    @property
    def queue(self) -> str:
        """The queue it works on."""
        return self._identity.queue

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then finish or hand back what is held and return.

        A second signal ends it at once; what it held is taken over when its leases run out.
        """
        try:
            asyncio.run(self._run_with_signals())
        except (asyncio.CancelledError, KeyboardInterrupt):
            logger.warning("stopped at once")

    def stop(self) -> None:
        """Ask the worker to end; may be called from any thread."""
        self._stop_asked.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin_stop)

    def offer(self, task: dict[str, Any]) -> None:
        """Take a workflow task that came with the answer to a start; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, msgspec.convert(task, WorkflowTask))

    async def run_async(self) -> None:
        """Work on the running loop until `stop` is called or the task is cancelled."""
        parts = self._parts = self._assemble()
        self._client.attach(self)
        background = [
            asyncio.create_task(parts.kit.outbox.run()),
            asyncio.create_task(parts.kit.keeper.run()),
            asyncio.create_task(parts.poller.run(self._settings.wait_secs)),
        ]
        try:
            # The poller returns when the worker is asked to stop. That another one ends, or any
            # of them raises, is a defect, and must not leave a worker that looks alive.
            await asyncio.wait(background, return_when=asyncio.FIRST_COMPLETED)
            for task in background:
                if task.done():
                    task.result()
            await self._wind_down(parts)
        finally:
            self._client.detach(self)
            await self._tear_down(parts, background)

    def _assemble(self) -> _Parts:
        self._loop = asyncio.get_running_loop()
        self._stopping, self._changed = asyncio.Event(), asyncio.Event()
        if self._stop_asked.is_set():
            self._stopping.set()
        channel = Channel(self._client.worker_transport(), self._identity)
        clock = self._settings.clock
        outbox = Outbox(channel.report, clock)
        kit = Kit(
            loop=self._loop,
            clock=clock,
            channel=channel,
            outbox=outbox,
            keeper=Keeper(outbox, clock),
            registry=self._registry,
            queue=self._identity.queue,
            stopping=self._stopping,
            changed=self._changed,
        )
        return self._put_together(kit)

    def _put_together(self, kit: Kit) -> _Parts:
        rhythm = Rhythm(kit.clock, kit.changed)
        runs = Runs(self._settings.max_cached_runs)
        attempts = Attempts(kit, self._settings.max_concurrent_activities)
        limit = self._settings.max_concurrent_workflows
        steps = Steps(kit, rhythm, runs=runs, attempts=attempts, limit=limit)
        attempts.report_to(steps.report)
        poller = Poller(kit, rhythm, runs=runs, attempts=attempts, steps=steps)
        return _Parts(kit=kit, runs=runs, attempts=attempts, steps=steps, poller=poller)

    async def _wind_down(self, parts: _Parts) -> None:
        clock, grace = parts.kit.clock, self._settings.grace_secs
        if not await clock.wait(parts.attempts.running.idle, grace):
            logger.warning("handing back %d activities", len(parts.attempts.running))
        closing = parts.steps.waiting
        closing.spawn(parts.attempts.running.cancel())
        for tasks in (closing, parts.steps.thinking):
            if not await clock.wait(tasks.idle, _LAST_WORDS_SECS):
                logger.warning("the engine does not answer, leaving %d tasks behind", len(tasks))

    async def _tear_down(self, parts: _Parts, background: list[asyncio.Task[None]]) -> None:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        for tasks in (parts.attempts.running, parts.steps.waiting, parts.steps.thinking):
            await tasks.cancel()
        parts.attempts.close()
        parts.runs.close()
        self._loop = self._parts = None
        await parts.kit.channel.transport.close()

    async def _run_with_signals(self) -> None:
        loop = asyncio.get_running_loop()
        main = asyncio.current_task()
        assert main is not None

        def asked() -> None:
            if self._stop_asked.is_set():
                main.cancel()
            self.stop()

        on_main = threading.current_thread() is threading.main_thread()
        signals = (signal.SIGTERM, signal.SIGINT) if on_main else ()
        for number in signals:
            loop.add_signal_handler(number, asked)
        try:
            await self.run_async()
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def _take(self, task: WorkflowTask) -> None:
        parts = self._parts
        if parts is None:
            return
        if parts.kit.stopping.is_set():
            parts.steps.waiting.spawn(parts.kit.release(task))
        else:
            parts.steps.start(task)

    def _begin_stop(self) -> None:
        for event in (self._stopping, self._changed):
            if event is not None:
                event.set()
