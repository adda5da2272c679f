"""What the specification says about each route: one entry a route, in the order of the docs.
Read at build time only; a test fails when a served route has no entry, or the other way round.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay_engine.core.run import Status
from assay_engine.web import bodies, records
from assay_engine.web.exchange_schema import ExchangeAnswer, ExchangeRequest

Schema = Mapping[str, Any]
INTEGER: Schema = {"type": "integer", "format": "int64"}


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    about: str
    schema: Schema | None = None
    """Text, if not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    tag: str
    summary: str
    about: str = ""
    query: tuple[Query, ...] = ()
    body: Any = None
    body_needed: bool = True
    example: Any = None
    status: int = 200
    also: tuple[int, ...] = ()
    """Other successes, with the same answer."""
    answer: Any = records.Empty
    """A type, or a tuple of alternatives."""
    media: str = "application/json"
    refusals: tuple[int, ...] = ()


OF_RUN = (
    Query("namespace", "Whose run; without it `main` is looked at first, then the only other"),
    Query("id", "The id, where it cannot stand in the path; it wins over the one there"),
)
OF_INCARNATION = (
    *OF_RUN,
    Query("run_id", "Which of the runs that had the id one after the other; else the newest"),
)
OF_NAME = (Query("id", "The name, where it cannot stand in the path; it wins over the one there"),)
OF_LIST = (Query("namespace", "Which namespace", {"type": "string", "default": "main"}),)
FILTER = (
    *OF_LIST,
    Query("status", "Only runs of this status", {"type": "string", "enum": list(Status)}),
    Query("type", "Only runs of exactly this type"),
    Query("search_attrs", "A JSON object: only runs whose search attributes have all its keys"),
    Query("limit", "At most so many; -1 for all", {**INTEGER, "default": 50}),
    Query("offset", "How many to pass over", {**INTEGER, "default": 0}),
)
PAGE = (
    *OF_INCARNATION,
    Query("limit", "Page size, 1 to 1000", {**INTEGER, "minimum": 0, "maximum": 65535}),
    Query("cursor", "Only events behind this seq, in the direction of `order`", INTEGER),
    Query("order", "Direction of a page", {"type": "string", "enum": ["asc", "desc"]}),
)
ACTIVITY = {"name": "charge", "seq": 1, "task_queue": "default", "input": {"amount": 5}}
COMPLETED = {"type": "CompleteWorkflow", "result": "done"}

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("POST", "/workflows"): Operation(
        id="startWorkflow",
        tag="Workflows",
        summary="Start a run",
        about="200 with `started: false` where `use_existing` was content with an open run.",
        body=bodies.StartWorkflow,
        example={
            "workflow_type": "Order",
            "workflow_id": "order-17",
            "task_queue": "default",
            "input": {"amount": 5},
        },
        status=201,
        also=(200,),
        answer=records.Started,
        refusals=(409,),
    ),
    ("GET", "/workflows"): Operation(
        id="listWorkflows",
        tag="Workflows",
        summary="List runs, newest first",
        about="Values above 16 KB are null here and named in `truncated`.",
        query=FILTER,
        answer=list[records.Workflow],
        refusals=(413,),
    ),
    ("GET", "/workflows/<workflow_id>"): Operation(
        id="describeWorkflow",
        tag="Workflows",
        summary="A run's record",
        query=OF_INCARNATION,
        answer=records.Workflow,
        refusals=(404, 409),
    ),
    ("GET", "/workflows/<workflow_id>/events"): Operation(
        id="listEvents",
        tag="Workflows",
        summary="A run's history",
        about="Without `limit`, `cursor` and `order` the whole of it, oldest first. An unknown "
        "run has none.",
        query=PAGE,
        answer=list[records.Event],
        refusals=(409, 413),
    ),
    ("POST", "/workflows/<workflow_id>/signal/<name>"): Operation(
        id="signalWorkflow",
        tag="Workflows",
        summary="Send a run a signal",
        about="A run that has ended takes none: the answer says `delivered: false`.",
        query=OF_RUN,
        body=bodies.Signal,
        body_needed=False,
        example={"payload": {"approved": True}},
        answer=records.Delivery,
        refusals=(404, 409),
    ),
    ("GET", "/workflows/<workflow_id>/replies/<request_id>"): Operation(
        id="getReply",
        tag="Workflows",
        summary="What the run replied to a request",
        about="The request was a signal with that `request_id`. A run that continues it may "
        "reply as well.",
        query=(
            *OF_RUN,
            Query("wait_secs", "How long the answer may wait", {"type": "number", "maximum": 20}),
        ),
        answer=(records.Reply, records.NoReply),
        refusals=(404, 409, 413),
    ),
    ("POST", "/workflows/<workflow_id>/cancel"): Operation(
        id="cancelWorkflow",
        tag="Workflows",
        summary="Ask a run to end",
        about="The workflow may clean up first. The call is never refused for its body.",
        query=OF_RUN,
        body=bodies.Cancel,
        body_needed=False,
        example={"reason": "ordered twice"},
        refusals=(404, 409),
    ),
    ("POST", "/workflows/<workflow_id>/terminate"): Operation(
        id="terminateWorkflow",
        tag="Workflows",
        summary="End a run at once",
        about="Its status becomes FAILED, with the reason as its error.",
        query=OF_RUN,
        body=bodies.Terminate,
        body_needed=False,
        example={"reason": "stuck"},
        refusals=(404, 409),
    ),
    ("POST", "/workflows/<workflow_id>/continue-as-new"): Operation(
        id="continueWorkflowAsNew",
        tag="Workflows",
        summary="Close a run and start its successor",
        query=OF_RUN,
        body=bodies.ContinueAsNew,
        body_needed=False,
        example={"input": {"page": 2}},
        status=201,
        answer=records.Started,
        refusals=(404, 409),
    ),
    ("POST", "/workflows/<workflow_id>/retry"): Operation(
        id="retryWorkflow",
        tag="Workflows",
        summary="Run the failed activity of a failed run again",
        query=OF_RUN,
        body=bodies.Retry,
        example={"requested_by": "ops", "reason": "provider was down"},
        answer=records.Retried,
        refusals=(404, 409),
    ),
    ("GET", "/workflows/<workflow_id>/children"): Operation(
        id="listChildren",
        tag="Workflows",
        summary="A run's children, oldest first",
        query=OF_INCARNATION,
        answer=list[records.Workflow],
        refusals=(409, 413),
    ),
    ("GET", "/workflows/<workflow_id>/state"): Operation(
        id="getState",
        tag="Workflows",
        summary="What the run's queries answered last",
        query=OF_INCARNATION,
        answer=records.State,
        refusals=(404, 409, 413),
    ),
    ("GET", "/workflows/<workflow_id>/state/<name>"): Operation(
        id="getStateValue",
        tag="Workflows",
        summary="What one query answered last",
        query=OF_INCARNATION,
        answer=records.StateValue,
        refusals=(404, 409, 413),
    ),
    ("GET", "/workflows/<workflow_id>/activities"): Operation(
        id="listActivities",
        tag="Activities",
        summary="A run's activities, those run eagerly too",
        query=OF_INCARNATION,
        answer=list[records.Activity],
        refusals=(404, 409, 413),
    ),
    ("POST", "/workflows/<workflow_id>/activities"): Operation(
        id="scheduleActivity",
        tag="Activities",
        summary="Schedule an activity of a run",
        about="If that `seq` exists already, its record is the answer.",
        query=OF_RUN,
        body=bodies.ScheduleActivity,
        example=ACTIVITY,
        status=201,
        answer=records.Activity,
        refusals=(404, 409),
    ),
    ("GET", "/activities/<activity_id>"): Operation(
        id="getActivity",
        tag="Activities",
        summary="An activity's record",
        answer=records.Activity,
        refusals=(404,),
    ),
    ("POST", "/workers/exchange"): Operation(
        id="exchange",
        tag="Worker protocol",
        summary="A worker's whole conversation: report outcomes, take tasks",
        about="docs/worker-protocol.md describes it for whoever writes a worker.",
        body=ExchangeRequest,
        example={
            "protocol": 1,
            "worker_id": "host-7f3a",
            "queue": "default",
            "room": {"workflows": 5, "activities": 10},
        },
        answer=ExchangeAnswer,
    ),
    ("POST", "/workers/register"): Operation(
        id="registerWorker",
        tag="Worker protocol",
        summary="Register a worker",
        about="Each call makes a new id. A worker that names no namespace sees all of them.",
        body=bodies.RegisterWorker,
        example={"identity": "host-1", "queue": "default", "workflows": ["Order"]},
        answer=records.Registered,
    ),
    ("POST", "/workers/heartbeat"): Operation(
        id="heartbeatWorker",
        tag="Worker protocol",
        summary="A worker is alive",
        body=bodies.WorkerHeartbeat,
        example={"worker_id": "w-1"},
    ),
    ("POST", "/workflow-tasks/poll"): Operation(
        id="pollWorkflowTask",
        tag="Worker protocol",
        summary="Take a workflow task; null when there is none",
        body=bodies.Poll,
        example={"queue": "default", "worker_id": "w-1"},
        answer=records.WorkflowTask | None,
    ),
    ("POST", "/workflow-tasks/<workflow_id>/commands"): Operation(
        id="submitCommands",
        tag="Worker protocol",
        summary="End a workflow task with commands",
        about="Applied whole, or not at all: 409 `stale` without the lease.",
        query=OF_RUN,
        body=bodies.SubmitCommands,
        example={"worker_id": "w-1", "commands": [COMPLETED]},
        refusals=(404, 409),
    ),
    ("POST", "/tasks/poll"): Operation(
        id="pollTask",
        tag="Worker protocol",
        summary="Take an activity",
        body=bodies.Poll,
        example={"queue": "default", "worker_id": "w-1"},
        answer=(records.Activity, records.IdleTask),
    ),
    ("POST", "/tasks/<activity_id>/complete"): Operation(
        id="completeTask",
        tag="Worker protocol",
        summary="An activity has a result",
        about="The first outcome wins; an unknown id is ignored.",
        body=bodies.CompleteTask,
        body_needed=False,
        example={"result": {"charged": 5}},
    ),
    ("POST", "/tasks/<activity_id>/fail"): Operation(
        id="failTask",
        tag="Worker protocol",
        summary="An attempt at an activity failed",
        about="With attempts left it is retried after its backoff.",
        body=bodies.FailTask,
        example={"error": "card declined", "retryable": False},
    ),
    ("POST", "/tasks/<activity_id>/heartbeat"): Operation(
        id="heartbeatTask",
        tag="Worker protocol",
        summary="An activity is still running",
        body=bodies.TaskHeartbeat,
        body_needed=False,
        example={"details": {"done": 40}},
    ),
    ("GET", "/workers"): Operation(
        id="listWorkers",
        tag="Workers and queues",
        summary="A namespace's workers, oldest first",
        query=OF_LIST,
        answer=list[records.Worker],
    ),
    ("GET", "/queues"): Operation(
        id="listQueues",
        tag="Workers and queues",
        summary="What waits on a namespace's queues",
        query=OF_LIST,
        answer=list[records.QueueStats],
    ),
    ("POST", "/namespaces"): Operation(
        id="createNamespace",
        tag="Namespaces",
        summary="Make a namespace",
        body=bodies.CreateNamespace,
        example={"name": "team-a"},
        status=201,
        refusals=(409,),
    ),
    ("GET", "/namespaces"): Operation(
        id="listNamespaces",
        tag="Namespaces",
        summary="All namespaces by name",
        answer=list[records.Namespace],
    ),
    ("GET", "/namespaces/<name>"): Operation(
        id="getNamespace",
        tag="Namespaces",
        summary="How many runs and workers a namespace has",
        query=OF_NAME,
        answer=records.NamespaceStats,
    ),
    ("DELETE", "/namespaces/<name>"): Operation(
        id="deleteNamespace",
        tag="Namespaces",
        summary="Delete a namespace's name; its runs stay",
        query=OF_NAME,
        refusals=(404,),
    ),
    ("GET", "/health"): Operation(
        id="health", tag="Engine", summary="Whether the engine answers", answer=records.Health
    ),
    ("GET", "/version"): Operation(
        id="version", tag="Engine", summary="The engine's version", answer=records.Version
    ),
    ("GET", "/openapi.json"): Operation(
        id="specification", tag="Engine", summary="This specification", answer=dict[str, Any]
    ),
    ("GET", "/docs"): Operation(
        id="documentation",
        tag="Engine",
        summary="This specification as a page to try it on",
        answer=str,
        media="text/html",
    ),
}
ROOT_OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/healthz"): Operation(
        id="redirectToHealth", tag="Engine", summary="Where health is", status=308
    ),
    ("GET", "/api/v1/engine/core/health"): Operation(
        id="coreHealth", tag="Engine", summary="Health of the whole", answer=records.CoreHealth
    ),
    ("GET", "/api/v1/engine/core/info"): Operation(
        id="coreInfo", tag="Engine", summary="What runs here", answer=records.CoreInfo
    ),
    ("GET", "/api/v1/engine/core/active-modules"): Operation(
        id="activeModules", tag="Engine", summary="Which modules run", answer=records.Modules
    ),
}
