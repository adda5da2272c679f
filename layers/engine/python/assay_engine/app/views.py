"""What the use cases answer: records for reading, payloads resolved. `web.wire` shapes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.activity import Policy
from ..core.failures import Failure
from ..core.run import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    workflow_id: str
    run_id: str
    status: str = "PENDING"
    namespace: str = "main"
    started: bool = True
    """False: it had been started before, and the caller was content with that."""
    workflow_task: Mapping[str, Any] | None = None
    """Its first task, for the worker that has started it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as a reader sees it. `input`, `result`, `search_attributes`, `memo` are JSON text."""

    head: Head
    input: str | None = None
    search_attributes: str | None = None
    memo: str | None = None
    retried_as: str | None = None
    """The `run_id` of the next attempt."""
    result: str | None = None
    error: str | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    seq: int
    type: str
    payload: Any
    """Nested JSON, None for no payload. In lists it is string-encoded by `web.wire`."""
    at: float
    explicit_null: bool = False
    """The payload is a null that somebody sent, not the lack of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityView:
    """An activity as a reader, or a legacy worker, sees it. `input` and `result` are JSON text."""

    id: int
    namespace: str
    workflow_id: str
    seq: int
    name: str
    task_queue: str
    input: str | None
    status: str
    result: str | None = None
    error: str | None = None
    attempt: int = 1
    policy: Policy
    claimed_by: str | None = None
    scheduled_at: float
    started_at: float | None = None
    completed_at: float | None = None
    last_heartbeat: float | None = None
    details: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    state: Mapping[str, Any]
    event_seq: int
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyTask:
    """A workflow task on the legacy wire: the whole history, payloads nested."""

    workflow_id: str
    namespace: str
    workflow_type: str
    task_queue: str
    input: Any
    history: tuple[EventView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    workflow_id: str
    activity: ActivityView
    invalidated_activities: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceStats:
    namespace: str
    total_workflows: int = 0
    running: int = 0
    pending: int = 0
    completed: int = 0
    failed: int = 0
    schedules: int = 0
    workers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    queue: str
    pending_activities: int = 0
    running_activities: int = 0
    workers: int = 0
