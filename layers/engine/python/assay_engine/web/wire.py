"""From what the use cases answer to the records of the wire, and what a list leaves out."""

from typing import TypeVar

import msgspec
from msgspec import UNSET

from assay_engine.app import views
from assay_engine.core import limits, problem, values
from assay_engine.core.activity import ActivityStatus
from assay_engine.core.run import Head, Status
from assay_engine.core.worker import Namespace, Worker
from assay_engine.web import records

R = TypeVar("R", records.Workflow, records.Event, records.Activity)

_LONG_FIELDS = {
    records.Workflow: ("input", "result", "error", "search_attributes", "memo", "failure"),
    records.Event: ("payload",),
    records.Activity: ("input", "result", "error"),
}


def shortened(record: R) -> R:
    """`record` without the values that are too long for a list, which it names instead."""
    long = [name for name in _LONG_FIELDS[type(record)] if _is_long(getattr(record, name))]
    if not long:
        return record
    return msgspec.structs.replace(record, **dict.fromkeys(long), truncated=long)


def _is_long(value: str | msgspec.Struct | None) -> bool:
    data = value.encode() if isinstance(value, str) else values.encode(value)
    return len(data) > limits.LIST_VALUE_BYTES


def started(view: views.Started, *, extended: bool = False) -> records.Started:
    """`extended`: the caller knows the fields that the original does not have."""
    return records.Started(
        workflow_id=view.workflow_id,
        run_id=view.run_id,
        status=Status(view.status),
        started=view.started if extended else UNSET,
        workflow_task=UNSET if view.workflow_task is None else dict(view.workflow_task),
    )


def workflow(view: views.RunView, now: float) -> records.Workflow:
    head = view.head
    return records.Workflow(
        id=head.id,
        namespace=head.namespace,
        run_id=head.incarnation_id,
        workflow_type=head.type,
        task_queue=head.queue,
        status=head.status,
        input=view.input,
        result=view.result,
        error=view.error,
        parent_id=None if head.parent is None else head.parent["i"],
        claimed_by=head.lease_worker if head.leased(now) else None,
        search_attributes=view.search_attributes,
        archived_at=None,
        archive_uri=None,
        created_at=head.created_at,
        updated_at=head.updated_at,
        completed_at=head.completed_at,
        continued_to=head.continued_to,
        problem=_problem(head),
        memo=view.memo,
        attempt=head.attempt or 1,
        retried_as=view.retried_as,
        failure=None if view.failure is None else msgspec.convert(view.failure, records.Failure),
        incarnation=head.nonce,
    )


def _problem(head: Head) -> records.Problem | None:
    found = problem.unpack(head.problem)
    if found is None:
        return None
    return records.Problem(code=found.code, text=found.text, since=found.since)


def event(view: views.EventView, workflow_id: str) -> records.Event:
    return records.Event(
        id=view.seq,
        workflow_id=workflow_id,
        seq=view.seq,
        event_type=view.type,
        payload=_payload(view),
        timestamp=view.at,
    )


def _payload(view: views.EventView) -> str | None:
    nothing = view.payload is None and not view.explicit_null
    return None if nothing else values.text(view.payload)


def activity(view: views.ActivityView) -> records.Activity:
    policy = view.policy
    return records.Activity(
        id=view.id,
        workflow_id=view.workflow_id,
        seq=view.seq,
        name=view.name,
        task_queue=view.task_queue,
        input=view.input,
        status=ActivityStatus(view.status),
        result=view.result,
        error=view.error,
        attempt=view.attempt,
        max_attempts=policy.max_attempts,
        initial_interval_secs=float(policy.initial_interval_secs),
        backoff_coefficient=float(policy.backoff_coefficient),
        start_to_close_secs=float(policy.start_to_close_secs),
        heartbeat_timeout_secs=_seconds(policy.heartbeat_timeout_secs),
        claimed_by=view.claimed_by,
        scheduled_at=view.scheduled_at,
        started_at=view.started_at,
        completed_at=view.completed_at,
        last_heartbeat=view.last_heartbeat,
        namespace=view.namespace,
        details=view.details,
    )


def _seconds(number: float | None) -> float | None:
    """A command may bring a whole number; the wire has floats."""
    return None if number is None else float(number)


def workflow_task(task: views.LegacyTask) -> records.WorkflowTask:
    return records.WorkflowTask(
        workflow_id=task.workflow_id,
        namespace=task.namespace,
        workflow_type=task.workflow_type,
        task_queue=task.task_queue,
        input=task.input,
        history=[
            records.TaskEvent(
                seq=view.seq, event_type=view.type, payload=view.payload, timestamp=view.at
            )
            for view in task.history
        ],
    )


def retried(view: views.Retried) -> records.Retried:
    return records.Retried(
        workflow_id=view.workflow_id,
        status=Status.WAITING,
        activity=activity(view.activity),
        invalidated_activities=view.invalidated_activities,
    )


def worker(stored: Worker) -> records.Worker:
    return records.Worker(
        id=stored.id,
        namespace=stored.namespace,
        identity=stored.identity,
        task_queue=stored.queue,
        workflows=_names(stored.workflows),
        activities=_names(stored.activities),
        max_concurrent_workflows=stored.max_concurrent_workflows,
        max_concurrent_activities=stored.max_concurrent_activities,
        active_tasks=0,
        last_heartbeat=stored.last_heartbeat,
        registered_at=stored.registered_at,
    )


def _names(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else values.text(list(names))


def namespace(stored: Namespace) -> records.Namespace:
    return records.Namespace(name=stored.name, created_at=stored.created_at)
