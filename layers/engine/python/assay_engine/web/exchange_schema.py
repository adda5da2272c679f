"""Describes exchange for the specification, docs/worker-protocol.md in types. Nothing at run
time reads it: `app.exchange` checks reports one by one, so that one bad report fails alone."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from assay_engine.web.records import Failure, TaskEvent, Time


class Part(msgspec.Struct):
    """Unknown fields are ignored, in both directions."""


class RunName(Part, kw_only=True):
    """Names a run. Copy the one you were given."""

    namespace: str
    id: str
    incarnation: str


class Room(Part, kw_only=True):
    """How many more tasks the worker can take now."""

    workflows: int = 0
    activities: int = 0


class Then(Part, kw_only=True):
    """The rest of a fused step: the commands that follow from the outcome."""

    version: int
    commands: list[dict[str, Any]]
    mark: str | None = None
    eager: int = 0


class HandedBack(Part, kw_only=True):
    """Why this worker cannot do a workflow task now. The first 500 characters of `text` count."""

    code: Annotated[str, Meta(min_length=1, max_length=64)]
    text: str = ""


class Report(Part, kw_only=True):
    """Something that happened at the worker. Which further fields count depends on `kind`."""

    id: Annotated[str, Meta(description="Any text, unique in the worker; repeat it to repeat")]
    kind: Literal["commands", "completed", "failed", "heartbeat", "renew", "release"]
    run: RunName
    lease: str | UnsetType = UNSET
    commands: list[dict[str, Any]] | UnsetType = UNSET
    eager: int | UnsetType = UNSET
    seq: int | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    activity_id: Annotated[
        int | UnsetType, Meta(description="Of an activity that did not come eagerly")
    ] = UNSET
    result: Any = UNSET
    error: str | UnsetType = UNSET
    retryable: bool | UnsetType = UNSET
    failure: Failure | UnsetType | None = UNSET
    problem: Annotated[
        HandedBack | UnsetType | None, Meta(description="Why a workflow task is released")
    ] = UNSET
    details: Any = UNSET
    at: Time | UnsetType = UNSET
    then: Then | UnsetType | None = UNSET


class CachedRun(Part, kw_only=True):
    run: RunName
    seq: int


class PageRequest(Part, kw_only=True):
    run: RunName
    cursor: Any


class ExchangeRequest(Part, kw_only=True):
    """Reports outcomes and takes tasks, any number of each."""

    protocol: Literal[1]
    worker_id: str
    namespace: str = "main"
    queue: str | None = None
    workflows: list[str] | None = None
    activities: list[str] | None = None
    room: Room | None = None
    wait_secs: Annotated[float, Meta(ge=0, le=20)] = 0
    reports: list[Report] = []
    cached: list[CachedRun] = []
    pages: list[PageRequest] = []


class ExchangeActivityTask(Part, kw_only=True):
    run: RunName
    workflow_type: Annotated[
        str | None, Meta(description="Null if the activity did not come eagerly")
    ]
    activity_id: int
    seq: int
    attempt: int
    max_attempts: int
    name: str
    task_queue: str
    input: Any
    eager: bool
    lease_secs: float
    start_to_close_secs: float
    heartbeat_timeout_secs: float | None
    scheduled_at: Time
    details: Any
    context: Annotated[
        Any, Meta(description="The run's; not with eager ones, whose worker has it already")
    ] = UNSET


class ExchangeWorkflowTask(Part, kw_only=True):
    run: RunName
    run_id: str
    workflow_type: str
    task_queue: str
    parent_id: str | None
    attempt: int
    started_at: Time
    context: Annotated[
        Any, Meta(description="What the run was started with; null if `after` is not 0")
    ]
    lease: str
    lease_secs: float
    version: int
    seen: Annotated[int, Meta(description="What the last commit had seen; 0 at first")]
    legacy: Annotated[bool, Meta(description="That commit was a legacy worker's")]
    after: int
    history: list[TaskEvent]
    history_next: Any


class ReportAnswer(Part, kw_only=True):
    id: str
    status: Literal["accepted", "refused", "stale", "invalid"]
    code: str | None
    error: str | None
    version: int | None
    mark: str | None
    activities: list[ExchangeActivityTask]
    cancel_requested: bool | UnsetType = UNSET


class HistoryPage(Part, kw_only=True):
    run: RunName
    history: list[TaskEvent]
    history_next: Any


class ExchangeAnswer(Part, kw_only=True):
    """Answers each report by its id, and hands out tasks."""

    protocol: Literal[1]
    reports: list[ReportAnswer]
    workflow_tasks: list[ExchangeWorkflowTask]
    activity_tasks: list[ExchangeActivityTask]
    pages: list[HistoryPage]
    next_poll_secs: float
