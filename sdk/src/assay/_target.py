"""Which run a handle means, and what can be asked about it. The docstrings are the handles'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

from assay import _calls
from assay._calls import Call, EventPage, Scope
from assay._durations import Duration
from assay._procedure import Procedure, ask
from assay._records import HistoryEvent, Started, Status, Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One run; without a `run_id` the newest of its id."""

    scope: Scope
    workflow_id: str
    run_id: str | None = None
    result_type: Any = Any
    status: Status | None = None
    started: bool = False

    @classmethod
    def of(cls, scope: Scope, answer: Started, result_type: Any = Any) -> Target:
        """Return what the answer to a start means."""
        return cls(
            scope=scope,
            workflow_id=answer.workflow_id,
            run_id=answer.run_id,
            result_type=result_type,
            status=answer.status,
            started=answer.started,
        )


def describe(target: Target) -> Call[Workflow]:
    """Return the run's record::

    handle.describe().search_attributes
    """
    return _calls.describe(target.scope, target.workflow_id, run_id=target.run_id)


def events(target: Target, **page: Unpack[EventPage]) -> Call[list[HistoryEvent]]:
    """Return the run's history, or the given page of it::

    [event.event_type for event in handle.events()]
    """
    return _calls.get_events(target.scope, target.workflow_id, run_id=target.run_id, **page)


def query(target: Target, name: str) -> Procedure[Any]:
    """Return what the run's query said last; a `NotFoundError` if it has said nothing yet::

    handle.query("progress")
    """
    call = _calls.get_state(target.scope, target.workflow_id, name, run_id=target.run_id)
    state = yield from ask(call)
    return state.value


def children(target: Target) -> Call[list[Workflow]]:
    """Return the runs that this run has started, the oldest first::

    [child.status for child in handle.children()]
    """
    return _calls.list_children(target.scope, target.workflow_id, run_id=target.run_id)


def signal(target: Target, name: str, payload: Any = None) -> Call[bool]:
    """Send a signal to the newest run of this id; False if it had ended and did not take it::

    handle.signal("approve", {"by": "ada"})
    """
    return _calls.signal(target.scope, target.workflow_id, name, payload)


def cancel(
    target: Target, reason: str | None = None, deadline: Duration | None = None
) -> Call[None]:
    """Ask the newest run of this id to stop; its code may clean up first, until the deadline::

    handle.cancel("not wanted any more", deadline="5m")
    """
    return _calls.cancel(target.scope, target.workflow_id, reason, deadline=deadline)


def terminate(target: Target, reason: str | None = None) -> Call[None]:
    """End the newest run of this id at once; its code is not asked::

    handle.terminate("it hangs")
    """
    return _calls.terminate(target.scope, target.workflow_id, reason)


def continue_as_new(
    scope: Scope, workflow_id: str, input: Any, new_workflow_id: str | None
) -> Procedure[Target]:
    """Close a run and start its successor; return the successor."""
    answer = yield from ask(_calls.continue_as_new(scope, workflow_id, input, new_workflow_id))
    return Target.of(scope, answer)
