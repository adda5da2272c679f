"""What workers call: the legacy calls, and exchange, which is all of them in one."""

from typing import Any

from msgspec import UnsetType

from assay_engine.app import tasks, workers
from assay_engine.app.exchange import exchange as exchange_use_case
from assay_engine.core import ids
from assay_engine.core.errors import NotFoundError
from assay_engine.web import answers, bodies, records, wire
from assay_engine.web.answers import Answer
from assay_engine.web.api import new_router
from assay_engine.web.request import Request, integer

router = new_router()


@router.post("/workers/exchange")
def exchange(request: Request) -> Answer:
    return answers.ok(exchange_use_case(request.engine, request.body_object(), request.caller_gone))


@router.post("/workers/register")
def register(request: Request) -> Answer:
    body = request.body(bodies.RegisterWorker)
    worker_id = workers.register(
        request.engine,
        workers.Registration(
            identity=body.identity,
            queue=body.queue,
            # Without one it is an old client, which could not say it.
            namespace=None if isinstance(body.namespace, UnsetType) else body.namespace,
            workflows=_names(body.workflows, "workflows"),
            activities=_names(body.activities, "activities"),
            max_concurrent_workflows=body.max_concurrent_workflows,
            max_concurrent_activities=body.max_concurrent_activities,
        ),
    )
    return answers.ok(records.Registered(worker_id=worker_id))


@router.post("/workers/heartbeat")
def worker_heartbeat(request: Request) -> Answer:
    body = request.body(bodies.WorkerHeartbeat)
    workers.heartbeat(request.engine, _worker_id(body.worker_id))
    return answers.empty()


@router.post("/workflow-tasks/poll")
def poll_workflow_task(request: Request) -> Answer:
    queue, worker_id = _poll(request)
    task = tasks.poll_workflow(request.engine, queue, worker_id)
    return answers.ok(None if task is None else wire.workflow_task(task))


@router.post("/workflow-tasks/<workflow_id>/commands")
def submit_commands(request: Request, workflow_id: str) -> Answer:
    body = request.body(bodies.SubmitCommands)
    commands = body.objects()
    try:
        tasks.submit_commands(
            request.engine, request.run(workflow_id), _worker_id(body.worker_id), commands
        )
    except NotFoundError:
        # A worker that has nothing to say about a run that is gone did nothing wrong.
        if body.commands:
            raise
    return answers.empty()


@router.post("/tasks/poll")
def poll_task(request: Request) -> Answer:
    queue, worker_id = _poll(request)
    activity = tasks.poll_activity(request.engine, queue, worker_id)
    return answers.ok(records.IdleTask(task=None) if activity is None else wire.activity(activity))


@router.post("/tasks/<activity_id>/complete")
def complete(request: Request, activity_id: str) -> Answer:
    number = integer(activity_id, "activity id")
    body = request.optional_body(bodies.CompleteTask)
    tasks.complete_activity(request.engine, number, body.result)
    return answers.empty()


@router.post("/tasks/<activity_id>/fail")
def fail(request: Request, activity_id: str) -> Answer:
    number = integer(activity_id, "activity id")
    body = request.body(bodies.FailTask)
    tasks.fail_activity(request.engine, number, body.error, body.retryable)
    return answers.empty()


@router.post("/tasks/<activity_id>/heartbeat")
def heartbeat(request: Request, activity_id: str) -> Answer:
    number = integer(activity_id, "activity id")
    body = request.optional_body(bodies.TaskHeartbeat)
    tasks.heartbeat_activity(request.engine, number, body.details)
    return answers.empty()


def _poll(request: Request) -> tuple[str, str]:
    body = request.body(bodies.Poll)
    return ids.check_name(body.queue, "queue"), _worker_id(body.worker_id)


def _worker_id(text: str) -> str:
    """Any name will do; one of our own making carries a namespace, a name itself."""
    for part in text.split("@", 1):
        ids.check_name(part, "worker_id")
    return text


def _names(given: list[str] | dict[str, Any] | None, what: str) -> tuple[str, ...] | None:
    return None if given is None else tuple(ids.check_name(name, what) for name in given)
