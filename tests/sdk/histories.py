"""Histories and machines for the tests of the deterministic core."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from assay import workflow
from assay._history import Event
from assay._replay import Machine

Code = Callable[[workflow.Context, Any], Coroutine[Any, Any, Any]]
INFO = workflow.RunInfo(
    workflow_id="w-1", workflow_type="T", namespace="main", task_queue="own", parent_id=None
)


def machine(code: Code) -> Machine:
    registry = workflow.Registry()
    registry.define("T")(code)
    return Machine(workflow.body(registry, INFO))


def history(*events: tuple[str, Any]) -> list[Event]:
    return [Event(seq, kind, payload, 100.0 + seq) for seq, (kind, payload) in enumerate(events, 1)]


def scheduled(seq: int, name: str) -> tuple[str, Any]:
    return "ActivityScheduled", {"activity_seq": seq, "name": name}


def completed(seq: int, result: Any = None) -> tuple[str, Any]:
    return "ActivityCompleted", {"activity_seq": seq, "result": result}


def signal(name: str, payload: Any = None) -> tuple[str, Any]:
    return "SignalReceived", {"signal": name, "payload": payload}


STARTED = ("WorkflowStarted", {"n": 1})
