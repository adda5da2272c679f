"""What the management calls return: frozen records with their JSON already read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay import _json


class Status(StrEnum):
    """Where a run stands."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"

    @property
    def closed(self) -> bool:
        """Whether a run of this status has ended."""
        return self in _CLOSED


_CLOSED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.TIMED_OUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run that a start, or a continue-as-new, has begun."""

    workflow_id: str
    run_id: str
    status: Status

    @classmethod
    def read(cls, body: Any) -> Started:
        return cls(
            workflow_id=body["workflow_id"], run_id=body["run_id"], status=Status(body["status"])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """One run as the engine describes it; `input`, `result` and attributes are plain values."""

    id: str
    namespace: str
    run_id: str
    workflow_type: str
    task_queue: str
    status: Status
    input: Any
    result: Any
    error: str | None
    parent_id: str | None
    search_attributes: Any
    created_at: float
    updated_at: float
    completed_at: float | None

    @classmethod
    def read(cls, body: Any) -> Workflow:
        return cls(
            id=body["id"],
            namespace=body["namespace"],
            run_id=body["run_id"],
            workflow_type=body["workflow_type"],
            task_queue=body["task_queue"],
            status=Status(body["status"]),
            input=_nested(body["input"]),
            result=_nested(body["result"]),
            error=body["error"],
            parent_id=body["parent_id"],
            search_attributes=_nested(body["search_attributes"]),
            created_at=body["created_at"],
            updated_at=body["updated_at"],
            completed_at=body["completed_at"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One line of a run's history."""

    id: int
    workflow_id: str
    seq: int
    event_type: str
    payload: Any
    timestamp: float

    @classmethod
    def read(cls, body: Any) -> HistoryEvent:
        return cls(
            id=body["id"],
            workflow_id=body["workflow_id"],
            seq=body["seq"],
            event_type=body["event_type"],
            payload=_nested(body["payload"]),
            timestamp=body["timestamp"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the queries of a run said last; `value` is one of them, or all by name."""

    value: Any
    event_seq: int
    created_at: float

    @classmethod
    def read(cls, body: Any) -> State:
        value = body["value"] if "value" in body else body["state"]
        return cls(value=value, event_seq=body["event_seq"], created_at=body["created_at"])


def _nested(text: str | None) -> Any:
    return None if text is None else _json.decode(text)
