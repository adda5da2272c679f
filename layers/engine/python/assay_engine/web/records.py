"""The records of the wire, field by field. Every key is always there, absent values are null;
the one exception is `truncated`, which stands only where something was left out."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from assay_engine.core.activity import ActivityStatus
from assay_engine.core.run import Status

JsonText = Annotated[str, Meta(description="Compact JSON text of the value, keys sorted")]
Time = Annotated[float, Meta(description="Seconds since 1970, with fractions")]
Truncated = Annotated[
    list[str], Meta(description="Fields left out of a list, or of an answer, for their size")
]


class Record(msgspec.Struct):
    """Shared by all records."""


class Empty(Record, kw_only=True):
    """A success that has nothing to say."""


class Error(Record, kw_only=True):
    """What went wrong, for people; `code` for programs; whether a repeat can help."""

    error: str
    code: str
    retryable: bool


class Started(Record, kw_only=True):
    workflow_id: str
    run_id: str
    status: Status
    started: Annotated[
        bool | UnsetType,
        Meta(description="False: an open run was there; only in answers to extended starts"),
    ] = UNSET
    workflow_task: Annotated[
        dict[str, Any] | UnsetType,
        Meta(description="The first task, as exchange hands it out, for who asked for it"),
    ] = UNSET


class Problem(Record, kw_only=True):
    """Why a worker handed the run's task back. `since` stays while the code stays."""

    code: str
    text: str
    since: Time


class Failure(Record, kw_only=True, omit_defaults=True):
    """What went wrong, for programs: stands beside an error text."""

    kind: str
    message: str
    retryable: bool
    details: Any = UNSET
    cause: "Failure | UnsetType" = UNSET


class Workflow(Record, kw_only=True):
    """A run. `input`, `result`, `search_attributes` and `memo` are JSON text."""

    id: str
    namespace: str
    run_id: str
    workflow_type: str
    task_queue: str
    status: Status
    input: JsonText | None
    result: JsonText | None
    error: str | None
    parent_id: str | None
    claimed_by: str | None
    search_attributes: JsonText | None
    archived_at: Time | None
    archive_uri: str | None
    created_at: Time
    updated_at: Time
    completed_at: Time | None
    continued_to: Annotated[str | None, Meta(description="The run that continues this one")]
    problem: Annotated[
        Problem | None, Meta(description="Why the run does not go on, where the engine knows")
    ]
    memo: JsonText | None
    attempt: Annotated[int, Meta(description="Of a run that is tried again when it fails")]
    retried_as: Annotated[str | None, Meta(description="The `run_id` of the next attempt")]
    failure: Annotated[
        Failure | None, Meta(description="What made it fail, for programs, where the run said it")
    ]
    incarnation: Annotated[str, Meta(description="Tells runs apart that had the id in turn")]
    truncated: Truncated | UnsetType = UNSET


class Event(Record, kw_only=True):
    """One line of a run's history. `payload` is JSON text."""

    id: int
    workflow_id: str
    seq: int
    event_type: str
    payload: JsonText | None
    timestamp: Time
    truncated: Truncated | UnsetType = UNSET


class TaskEvent(Record, kw_only=True):
    """An event inside a task: its payload is nested JSON."""

    seq: int
    event_type: str
    payload: Any
    timestamp: Time


class Activity(Record, kw_only=True):
    """An activity, also as it is handed to a worker. `input` and `result` are JSON text."""

    id: int
    workflow_id: str
    seq: int
    name: str
    task_queue: str
    input: JsonText | None
    status: ActivityStatus
    result: JsonText | None
    error: str | None
    attempt: int
    max_attempts: int
    initial_interval_secs: float
    backoff_coefficient: float
    start_to_close_secs: float
    heartbeat_timeout_secs: float | None
    claimed_by: str | None
    scheduled_at: Time
    started_at: Time | None
    completed_at: Time | None
    last_heartbeat: Time | None
    namespace: str
    details: Annotated[Any, Meta(description="What the last heartbeat said, of any attempt")]
    truncated: Truncated | UnsetType = UNSET


class WorkflowTask(Record, kw_only=True):
    """A workflow task: the whole history, nested."""

    workflow_id: str
    namespace: str
    workflow_type: str
    task_queue: str
    input: Any
    history: list[TaskEvent]


class IdleTask(Record, kw_only=True):
    """There is no activity to run now."""

    task: None


class Delivery(Record, kw_only=True):
    """`delivered` is there, and false, when the run had ended: nothing was recorded."""

    delivered: bool | UnsetType = UNSET


class Reply(Record, kw_only=True):
    """The run's reply to a request."""

    replied: Literal[True]
    payload: Any
    error: Annotated[Any, Meta(description="A text or a failure, if it could not do it")]


class NoReply(Record, kw_only=True):
    """There is none yet, or, if the run has ended, there will be none."""

    replied: Literal[False]
    status: Status


class State(Record, kw_only=True):
    """What the run's queries answered when it last recorded a snapshot: an object by their
    names, unless the worker sent something else."""

    state: Any
    event_seq: int
    created_at: Time


class StateValue(Record, kw_only=True):
    value: Any
    event_seq: int
    created_at: Time


class Retried(Record, kw_only=True):
    workflow_id: str
    status: Status
    activity: Activity
    invalidated_activities: int


class Worker(Record, kw_only=True):
    """A registered worker. `workflows` and `activities` are JSON text of their names."""

    id: str
    namespace: str
    identity: str
    task_queue: str
    workflows: JsonText | None
    activities: JsonText | None
    max_concurrent_workflows: int
    max_concurrent_activities: int
    active_tasks: int
    last_heartbeat: Time
    registered_at: Time


class Registered(Record, kw_only=True):
    worker_id: str


class Namespace(Record, kw_only=True):
    name: str
    created_at: Time


class NamespaceStats(Record, kw_only=True):
    namespace: str
    total_workflows: int
    running: int
    pending: int
    completed: int
    failed: int
    schedules: int
    workers: int


class QueueStats(Record, kw_only=True):
    queue: str
    pending_activities: int
    running_activities: int
    workers: int


class Health(Record, kw_only=True):
    status: str
    service: str


class Version(Record, kw_only=True):
    version: str
    build_profile: str


class CoreHealth(Record, kw_only=True):
    status: str
    engine_version: str
    instance_id: str
    modules: list[str]
    leader: bool


class CoreInfo(Record, kw_only=True):
    version: str
    instance_id: str
    started_at: Time
    leader: bool
    modules: list[str]
    backend_kind: str
    backend_data_dir: str | None
    backend_url_redacted: str | None
    bind_addr: str | None
    public_url: str | None


class Modules(Record, kw_only=True):
    modules: list[str]
