"""Starting a run: its options, what of them goes on the wire, and what the answer means."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypedDict

from assay import _calls
from assay._calls import EagerWorker, Scope
from assay._durations import Duration, seconds
from assay._functions import result_type
from assay._options import RetryPolicy
from assay._procedure import Procedure, ask
from assay._records import Started
from assay._target import Target
from assay._workflows import WorkflowRef, name_of, queue_of
from assay.errors import ConflictError, UsageError

__all__ = ["ExecuteOptions", "Message", "RetryPolicy", "StartOptions", "start"]

_DURATIONS: Final = ("execution_timeout", "run_timeout", "task_timeout", "start_delay")
_AS_GIVEN: Final = (
    "id_conflict_policy",
    "id_reuse_policy",
    "memo",
    "search_attributes",
    "context",
    "parent_close_policy",
    "cron_schedule",
)


class Message(NamedTuple):
    """A signal that a run finds when it starts."""

    name: str
    payload: Any = None


class StartOptions(TypedDict, total=False):
    """What a start can be told besides the workflow and its input.

    `id` and `workflow_id` are the same; without one the run gets a random id. `messages` are
    signals that the run finds when it starts; with `id_conflict_policy="use_existing"` an open
    run of the id gets them instead.
    """

    id: str
    workflow_id: str
    task_queue: str
    id_conflict_policy: Literal["fail", "use_existing", "terminate_existing"]
    id_reuse_policy: Literal["allow_duplicate", "allow_duplicate_failed_only", "reject_duplicate"]
    execution_timeout: Duration
    run_timeout: Duration
    task_timeout: Duration
    retry_policy: RetryPolicy
    memo: Mapping[str, Any]
    search_attributes: Mapping[str, Any]
    context: Mapping[str, Any]
    messages: Sequence[Message | tuple[str, Any]]
    start_delay: Duration
    parent_close_policy: Literal["terminate", "abandon", "request_cancel"]
    enable_eager_start: bool
    cron_schedule: str


class ExecuteOptions(StartOptions, total=False):
    """What `execute` can be told: how to start, and how long to wait for the result."""

    timeout: Duration | None


def start(
    scope: Scope, workflow: WorkflowRef, input: Any, options: StartOptions
) -> Procedure[Target]:
    """Start a run; hand its first task to a worker of this process if it was made for one."""
    given_id = _given_id(options)
    body = _body(scope, workflow, input, options)
    random_id = f"{body['workflow_type']}-{uuid.uuid4().hex}"
    body["workflow_id"] = random_id if given_id is None else given_id
    worker = _eager_worker(scope, body["task_queue"]) if options.get("enable_eager_start") else None
    if worker is not None:
        body |= {"enable_eager_start": True, "worker_id": worker.worker_id}
    try:
        answer = yield from ask(_calls.start(body))
    except ConflictError as error:
        if given_id is not None or error.code != "already_exists":
            raise
        # Nobody else has a random id: an earlier try has started the run, its answer was lost.
        run = yield from ask(_calls.describe(scope, body["workflow_id"]))
        answer = Started(workflow_id=run.id, run_id=run.run_id, status=run.status)
    if worker is not None and answer.workflow_task is not None:
        worker.offer(answer.workflow_task)
    return Target.of(scope, answer, result_type(workflow))


def _given_id(options: StartOptions) -> str | None:
    given = {options[name] for name in ("id", "workflow_id") if name in options}
    if len(given) > 1:
        raise UsageError("`id` and `workflow_id` are the same thing: give one of them")
    return given.pop() if given else None


def _body(scope: Scope, workflow: WorkflowRef, input: Any, options: StartOptions) -> dict[str, Any]:
    given: Mapping[str, Any] = options
    body: dict[str, Any] = {
        "workflow_type": name_of(workflow),
        "namespace": scope.namespace,
        "task_queue": given.get("task_queue") or queue_of(workflow),
    }
    if input is not None:
        body["input"] = input
    body |= {name: given[name] for name in _AS_GIVEN if name in given}
    body |= {name: seconds(given[name]) for name in _DURATIONS if name in given}
    if "retry_policy" in given:
        body["retry_policy"] = given["retry_policy"].wire()
    if "messages" in given:
        body["messages"] = [_message(*message) for message in given["messages"]]
    return body


def _message(name: str, payload: Any = None) -> dict[str, Any]:
    return {"name": name} if payload is None else {"name": name, "payload": payload}


def _eager_worker(scope: Scope, queue: str) -> EagerWorker | None:
    return next((worker for worker in scope.workers if worker.queue == queue), None)
