"""What each call's body may hold. The order of fields is the order in which an array of them
is read, so a new field goes to the end and POSITIONS keeps the old ones."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from assay_engine.core import limits
from assay_engine.web import option_fields as of

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
EmptyObject = Annotated[
    dict[str, Any], Meta(max_length=0, description="An empty list, as newer Lua runtimes write it")
]
Commands = Annotated[list[Any], Meta(extra_json_schema={"items": {"type": "object"}})]
Json = Annotated[Any, Meta(description="Any JSON value; null is the same as none")]


class Body(msgspec.Struct):
    """Unknown fields are ignored everywhere."""


class StartWorkflow(Body, kw_only=True):
    """A new run. Unknown namespaces and queues need not be made first."""

    POSITIONS: ClassVar = (
        *("namespace", "workflow_type", "workflow_id"),
        *("input", "task_queue", "search_attributes"),
    )

    namespace: str | None = None
    workflow_type: str
    workflow_id: Annotated[
        str | UnsetType, Meta(description="Unique in the namespace; needed, unless `id` is given")
    ] = UNSET
    input: Json = None
    task_queue: str = limits.DEFAULT_REST_QUEUE
    search_attributes: Json = None
    id: Annotated[str | UnsetType, Meta(description="Another name of workflow_id")] = UNSET
    id_conflict_policy: Annotated[Any, of.ID_CONFLICT] = None
    id_reuse_policy: Annotated[Any, of.ID_REUSE] = None
    execution_error_when_already_started: Annotated[Any, of.EXECUTION_ERROR] = None
    messages: Annotated[Any, of.MESSAGES] = None
    memo: Annotated[Any, of.MEMO] = None
    context: Annotated[Any, of.CONTEXT] = None
    execution_timeout: Annotated[Any, of.duration("Of the whole chain of runs")] = None
    run_timeout: Annotated[Any, of.duration("Of this run")] = None
    task_timeout: Annotated[Any, of.duration("For how long a worker may be silent")] = None
    retry_policy: Annotated[Any, of.RETRY_POLICY] = None
    start_delay: Annotated[Any, of.duration("Not handed to a worker before")] = None
    parent_close_policy: Annotated[Any, of.PARENT_CLOSE] = None
    wait_for_cancellation: Annotated[Any, of.WAIT_FOR_CANCELLATION] = None
    enable_eager_start: Annotated[Any, of.EAGER_START] = None
    worker_id: Annotated[Any, of.WORKER] = None
    lease: Annotated[Any, of.LEASE] = None
    cron_schedule: Annotated[Any, of.CRON] = None


class Signal(Body, kw_only=True):
    """With a `request_id` it may be repeated: it lands once. Its reply is looked up by it."""

    POSITIONS: ClassVar = ("payload",)

    payload: Json = None
    request_id: str | None = None


class Cancel(Body, kw_only=True):
    POSITIONS: ClassVar = ("reason",)

    reason: str | None = None
    deadline: Annotated[Any, of.duration("After it the run is closed, whatever it does")] = None


class Terminate(Body, kw_only=True):
    reason: str | None = None


class ContinueAsNew(Body, kw_only=True):
    """The next run of a chain. A blank `workflow_id` is the same as none."""

    input: Json = None
    workflow_id: str | None = None


class Retry(Body, kw_only=True):
    requested_by: str
    reason: str


class ScheduleActivity(Body, kw_only=True):
    name: str
    seq: Int32
    task_queue: str
    input: Json = None
    max_attempts: Int32 | None = None
    initial_interval_secs: float | None = None
    backoff_coefficient: float | None = None
    start_to_close_secs: float | None = None
    heartbeat_timeout_secs: float | None = None

    def command(self) -> dict[str, Any]:
        """The fields that were given, as a ScheduleActivity command has them."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in fields.items() if value is not None}


class CreateNamespace(Body, kw_only=True):
    name: str


class RegisterWorker(Body, kw_only=True):
    """Without `namespace` a worker is an old client: it is given tasks of every namespace."""

    namespace: str | UnsetType = UNSET
    identity: str
    queue: str
    workflows: list[str] | EmptyObject | None = None
    activities: list[str] | EmptyObject | None = None
    max_concurrent_workflows: Int32 = 10
    max_concurrent_activities: Int32 = 10


class WorkerHeartbeat(Body, kw_only=True):
    worker_id: str


class Poll(Body, kw_only=True):
    queue: str
    worker_id: str


class SubmitCommands(Body, kw_only=True):
    """Commands in order. Items that are no objects are skipped."""

    worker_id: str
    commands: Commands | EmptyObject

    def objects(self) -> list[dict[str, Any]]:
        return [item for item in self.commands if isinstance(item, dict)]


class CompleteTask(Body, kw_only=True):
    result: Json = None


class FailTask(Body, kw_only=True):
    """`retryable: false` fails the activity whatever attempts it has left."""

    POSITIONS: ClassVar = ("error",)

    error: str
    retryable: bool = True


class TaskHeartbeat(Body, kw_only=True):
    """`details` are handed to the next attempt."""

    details: Json = None
