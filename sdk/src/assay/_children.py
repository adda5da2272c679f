"""A child as its parent holds it, and the options with which it starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Generic, TypedDict, TypeVar

from assay._durations import Duration, seconds
from assay._functions import WORKFLOW_NAME, convert, name_of, result_type
from assay._replay import Machine
from assay._start import RetryPolicy

R = TypeVar("R")

_TIMES = ("execution_timeout", "run_timeout", "task_timeout", "start_delay")


class ChildOptions(TypedDict, total=False):
    """How a child starts, and what becomes of it when its parent ends.

    `parent_close_policy` is terminate, abandon or request_cancel. With `wait_for_cancellation` a
    cancelled parent that waits for the child goes on only when the child has ended.
    """

    task_queue: str
    parent_close_policy: str
    wait_for_cancellation: bool
    memo: Mapping[str, Any]
    search_attributes: Mapping[str, Any]
    context: Mapping[str, Any]
    execution_timeout: Duration
    run_timeout: Duration
    task_timeout: Duration
    start_delay: Duration
    retry_policy: RetryPolicy


class ChildHandle(Generic[R]):
    """A child that was started; the parent goes on meanwhile."""

    def __init__(
        self, machine: Machine, workflow_id: str, future: asyncio.Future[Any], *, patient: bool
    ) -> None:
        self.workflow_id = workflow_id
        self._machine = machine
        self._future = future
        self._patient = patient
        self._type: Any = Any

    @classmethod
    def start(
        cls,
        machine: Machine,
        workflow: str | Callable[..., Coroutine[Any, Any, R]],
        workflow_id: str,
        input: Any,
        options: Mapping[str, Any],
    ) -> ChildHandle[R]:
        """Issue the command that starts a child."""
        patient = bool(options.get("wait_for_cancellation"))
        wire = {"input": input, **_on_the_wire(options)}
        future = machine.start_child(name_of(workflow, WORKFLOW_NAME), workflow_id, wire)
        child = cls(machine, workflow_id, future, patient=patient)
        child._type = result_type(workflow)
        return child

    @property
    def done(self) -> bool:
        """Whether the child has ended."""
        return self._future.done()

    async def result(self) -> R:
        """Wait for the child; raise `ChildWorkflowError` if it did not complete."""
        try:
            result = await asyncio.shield(self._future)
        except asyncio.CancelledError:
            if self._patient and self._machine.cancel_requested and not self._future.done():
                await asyncio.wait([self._future])
            raise
        typed: R = convert(result, self._type, f"the result of {self.workflow_id}")
        return typed

    async def signal(self, name: str, payload: Any = None) -> None:
        """Send the child a signal."""
        await self._machine.call(self.workflow_id, "signal", {"name": name, "payload": payload})

    async def cancel(self, reason: str | None = None, deadline: Duration | None = None) -> None:
        """Ask the child to stop."""
        secs = None if deadline is None else seconds(deadline)
        call = {"reason": reason, "deadline": secs}
        await self._machine.call(self.workflow_id, "cancel", call)

    async def terminate(self, reason: str | None = None) -> None:
        """End the child at once."""
        await self._machine.call(self.workflow_id, "terminate", {"reason": reason})


def _on_the_wire(options: Mapping[str, Any]) -> dict[str, Any]:
    wire = {name: value for name, value in options.items() if name != "wait_for_cancellation"}
    for name in _TIMES:
        if wire.get(name) is not None:
            wire[name] = seconds(wire[name])
    if isinstance(wire.get("retry_policy"), RetryPolicy):
        wire["retry_policy"] = wire["retry_policy"].wire()
    return wire
