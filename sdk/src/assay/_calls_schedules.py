"""The calls about schedules, as data."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from assay._calls import Call, Scope, nothing, place
from assay._records import Schedule, many, one
from assay._workflows import WorkflowRef, name_of, queue_of


class ScheduleOptions(TypedDict, total=False):
    """What a schedule can be told besides what it starts, and when."""

    input: Any
    task_queue: str
    timezone: str
    overlap_policy: str


class SchedulePatch(ScheduleOptions, total=False):
    """What of a schedule can be changed."""

    cron_expr: str


def create(
    scope: Scope,
    name: str,
    workflow: WorkflowRef,
    cron_expr: str,
    **options: Unpack[ScheduleOptions],
) -> Call[Schedule]:
    """Start runs of a workflow by the clock, every day at half past two for example::

        client.schedules.create("nightly", "Report", "0 30 2 * * *", timezone="Europe/Berlin")

    The fields are second, minute, hour, day of the month, month, day of the week (1 = Sunday).
    """
    body = {
        "name": name,
        "workflow_type": name_of(workflow),
        "cron_expr": cron_expr,
        "namespace": scope.namespace,
        "task_queue": queue_of(workflow),
        **options,
    }
    return Call(method="POST", path="/schedules", body=body, read=one(Schedule))


def listing(scope: Scope) -> Call[list[Schedule]]:
    """Return the schedules of the client's namespace, by name::

    [schedule.name for schedule in client.schedules.list()]
    """
    query = {"namespace": scope.namespace}
    return Call(method="GET", path="/schedules", query=query, read=many(Schedule))


def describe(scope: Scope, name: str) -> Call[Schedule]:
    """Return one schedule::

    client.schedules.describe("nightly").next_run_at
    """
    return _one(scope, "GET", name)


def patch(scope: Scope, name: str, **changes: Unpack[SchedulePatch]) -> Call[Schedule]:
    """Change what is given and keep the rest; return the schedule as it is now::

    client.schedules.patch("nightly", cron_expr="0 0 3 * * *")
    """
    path, query = place("schedules", name)
    query |= {"namespace": scope.namespace}
    body: dict[str, Any] = {**changes}
    return Call(method="PATCH", path=path, query=query, body=body, read=one(Schedule))


def pause(scope: Scope, name: str) -> Call[Schedule]:
    """Start nothing by this schedule until it is resumed::

    client.schedules.pause("nightly")
    """
    return _one(scope, "POST", name, "/pause")


def resume(scope: Scope, name: str) -> Call[Schedule]:
    """Let a paused schedule go on::

    client.schedules.resume("nightly")
    """
    return _one(scope, "POST", name, "/resume")


def delete(scope: Scope, name: str) -> Call[None]:
    """Remove a schedule; runs that it has started go on::

    client.schedules.delete("nightly")
    """
    path, query = place("schedules", name)
    query |= {"namespace": scope.namespace}
    return Call(method="DELETE", path=path, query=query, read=nothing)


def _one(scope: Scope, method: str, name: str, suffix: str = "") -> Call[Schedule]:
    path, query = place("schedules", name, suffix)
    query |= {"namespace": scope.namespace}
    return Call(method=method, path=path, query=query, read=one(Schedule))
