"""What a workflow waits for besides time and signals: activities, children, calls to other runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from assay._history import Event
from assay.errors import ActivityError, CallError, ChildWorkflowError
from assay.failure import Failure

Future = asyncio.Future[Any]


class Waits:
    """Futures by the name under which history tells how the thing has ended."""

    def __init__(self, new_future: Callable[[], Future]) -> None:
        self._new_future = new_future
        self._activities: dict[int, tuple[str, Future]] = {}
        self._children: dict[str, Future] = {}
        self._calls: dict[int, tuple[str, Future]] = {}

    def activity(self, seq: int, name: str) -> Future:
        future = self._new_future()
        self._activities[seq] = (name, future)
        return future

    def open_child(self, workflow_id: str) -> Future | None:
        """Return what stands for a child of that id which has not ended."""
        return self._children.get(workflow_id)

    def child(self, workflow_id: str) -> Future:
        future = self._new_future()
        self._children[workflow_id] = future
        return future

    def call(self, seq: int, workflow_id: str) -> Future:
        future = self._new_future()
        self._calls[seq] = (workflow_id, future)
        return future

    def settle(self, event: Event) -> None:
        """Take in how one of them has ended."""
        payload = event.payload
        match event.event_type:
            case "ActivityCompleted":
                _, future = self._activities.pop(payload["activity_seq"], ("", None))
                _succeed(future, payload.get("result"))
            case "ActivityFailed":
                name, future = self._activities.pop(payload["activity_seq"], ("", None))
                error = ActivityError(name, failure_in(payload), payload.get("final_attempt"))
                _fail(future, error)
            case "ChildWorkflowCompleted":
                future = self._children.pop(payload["child_workflow_id"], None)
                _succeed(future, payload.get("result"))
            case "ChildWorkflowFailed":
                child_id = payload["child_workflow_id"]
                future = self._children.pop(child_id, None)
                _fail(future, ChildWorkflowError(child_id, failure_in(payload)))
            case "WorkflowCallEnded":
                self._call_ended(payload)

    def _call_ended(self, payload: Mapping[str, Any]) -> None:
        workflow_id, future = self._calls.pop(payload["call_seq"], ("", None))
        error = payload.get("error")
        if error is None:
            _succeed(future, None)
        else:
            _fail(future, CallError(workflow_id, Failure.read(error)))


def failure_in(payload: Mapping[str, Any]) -> Failure:
    """Return the failure that an event tells of."""
    return Failure.read(payload.get("failure"), str(payload.get("error") or "no error text"))


def _succeed(future: Future | None, value: Any) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _fail(future: Future | None, error: Exception) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
        future.exception()  # a task may have stopped waiting for it, which is nothing to log
