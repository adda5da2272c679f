"""What the management calls return: frozen records with their JSON already read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from assay import _json
from assay.failure import Failure

T = TypeVar("T")

# Marks fields that stand in the answer as JSON text, and in the record as the value it spells.
_TEXT: Final = {"json_text": True}


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
    """The answer to a start: `started` is False where an existing run was found instead."""

    workflow_id: str
    run_id: str
    status: Status
    started: bool = True
    workflow_task: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a run does not go on, and since when."""

    code: str
    text: str
    since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """One run as the engine describes it; `input`, `result` and attributes are plain values.

    `truncated` names the values that were too long for the answer; they are None here.
    """

    id: str
    namespace: str
    run_id: str
    workflow_type: str
    task_queue: str
    status: Status
    input: Any = field(metadata=_TEXT)
    result: Any = field(metadata=_TEXT)
    error: str | None
    parent_id: str | None
    claimed_by: str | None
    search_attributes: Any = field(metadata=_TEXT)
    archived_at: float | None
    archive_uri: str | None
    created_at: float
    updated_at: float
    completed_at: float | None
    continued_to: str | None = None
    problem: Problem | str | None = None
    memo: Any = field(default=None, metadata=_TEXT)
    incarnation: str = ""
    attempt: int = 1
    retried_as: str | None = None
    failure: Failure | None = None
    truncated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One line of a run's history."""

    id: int
    workflow_id: str
    seq: int
    event_type: str
    payload: Any = field(metadata=_TEXT)
    timestamp: float
    truncated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the queries of a run said last; `value` is one of them, or all by name."""

    value: Any
    event_seq: int
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of a request so far; `status` is the run's, where there is no reply yet."""

    replied: bool
    payload: Any = None
    error: Any = None
    status: Status | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When runs of a type are started by the clock, and what they are given."""

    name: str
    namespace: str
    workflow_type: str
    cron_expr: str
    timezone: str
    input: Any = field(metadata=_TEXT)
    task_queue: str
    overlap_policy: str
    paused: bool
    last_run_at: float | None
    next_run_at: float | None
    last_workflow_id: str | None
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker as the engine knows it."""

    id: str
    namespace: str
    identity: str
    task_queue: str
    workflows: tuple[str, ...] | None = field(metadata=_TEXT)
    activities: tuple[str, ...] | None = field(metadata=_TEXT)
    max_concurrent_workflows: int
    max_concurrent_activities: int
    active_tasks: int
    last_heartbeat: float
    registered_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """What waits and runs on one queue."""

    queue: str
    pending_activities: int
    running_activities: int
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace that was made."""

    name: str
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceStats:
    """How much there is in a namespace."""

    namespace: str
    total_workflows: int
    running: int
    pending: int
    completed: int
    failed: int
    schedules: int
    workers: int


def one(kind: type[T]) -> Callable[[Any], T]:
    """Return what reads an answer as a record of `kind`; fields it does not know are ignored."""
    texts = _text_fields(kind)
    return lambda body: _read(kind, texts, body)


def many(kind: type[T]) -> Callable[[Any], list[T]]:
    """Return what reads an answer as a list of such records."""
    texts = _text_fields(kind)
    return lambda body: [_read(kind, texts, item) for item in msgspec.convert(body, list[Any])]


def read_state(body: Any) -> State:
    """Read the state of all queries as that of a single one, whose value is all of them."""
    if isinstance(body, dict) and "state" in body:
        body = {**body, "value": body["state"]}
    return msgspec.convert(body, State)


def _text_fields(kind: type[Any]) -> frozenset[str]:
    return frozenset(item.name for item in fields(kind) if item.metadata.get("json_text"))


def _read(kind: type[T], texts: frozenset[str], body: Any) -> T:
    if isinstance(body, dict):
        body = {name: _spelled(value) if name in texts else value for name, value in body.items()}
    return msgspec.convert(body, kind)


def _spelled(text: Any) -> Any:
    return _json.decode(text) if isinstance(text, str) else text
