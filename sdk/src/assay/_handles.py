"""Handles: one run, with what can be asked of it and done to it."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from assay import _outcome, _target
from assay._durations import Duration
from assay._records import Status
from assay._shells import Awaiting, Blocking, awaiting, blocking
from assay._target import Target

R = TypeVar("R")


class _Known:
    """What a handle knows without asking the engine."""

    _core: Target

    @property
    def workflow_id(self) -> str:
        """The id of the run."""
        return self._core.workflow_id

    @property
    def run_id(self) -> str | None:
        """Which of the runs of that id is meant; None means the newest."""
        return self._core.run_id

    @property
    def status(self) -> Status | None:
        """What the start has answered; `describe().status` says how it is now."""
        return self._core.status

    @property
    def started(self) -> bool:
        """Whether the run was begun by the start that returned this handle."""
        return self._core.started

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.workflow_id!r}, run_id={self.run_id!r})"


class WorkflowHandle(_Known, Blocking[Target], Generic[R]):
    """A run whose result is an `R`::

    handle = client.start(order, {"total": 5}, id="order-7")
    handle.signal("approve", {"by": "ada"})
    parcel = handle.result(timeout=60)
    """

    def result(self, timeout: Duration | None = None) -> R:
        """Wait until the run has ended and return its result, or raise how else it ended.

        Continuations and retries are waited for too. It raises `RunFailedError`,
        `RunCancelledError`, or `ResultTimeoutError` when the time is over; with a `timeout`, an
        engine that is away is waited for as long as that lasts::

            client.get_handle("order-7").result(timeout="5m")
        """
        return cast(R, self._driver.run(_outcome.result(self._core, timeout)))

    describe = blocking(_target.describe)
    events = blocking(_target.events)
    query = blocking(_target.query)
    children = blocking(_target.children)
    signal = blocking(_target.signal)
    request = blocking(_outcome.request)
    cancel = blocking(_target.cancel)
    terminate = blocking(_target.terminate)


class AsyncWorkflowHandle(_Known, Awaiting[Target], Generic[R]):
    """A run whose result is an `R`, on a loop::

    handle = await client.start(order, {"total": 5}, id="order-7")
    await handle.signal("approve", {"by": "ada"})
    parcel = await handle.result(timeout=60)
    """

    async def result(self, timeout: Duration | None = None) -> R:
        """Wait until the run has ended and return its result, as `WorkflowHandle.result` does::

        await client.get_handle("order-7").result(timeout="5m")
        """
        return cast(R, await self._driver.run(_outcome.result(self._core, timeout)))

    describe = awaiting(_target.describe)
    events = awaiting(_target.events)
    query = awaiting(_target.query)
    children = awaiting(_target.children)
    signal = awaiting(_target.signal)
    request = awaiting(_outcome.request)
    cancel = awaiting(_target.cancel)
    terminate = awaiting(_target.terminate)
