"""How runs end, by themselves or from outside, and who is told: parent, watchers, children."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay._failures import failed
from assay._history import Command
from assay._records import Status
from assay._testing import checks, putting
from assay._testing.state import Chain, Pending, RunState, Watcher
from assay._testing.world import World
from assay.failure import Failure

_TOLD_TO_PARENTS = {
    Status.CANCELLED: "child workflow was cancelled",
    Status.TIMED_OUT: "child workflow timed out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ends: the event that closes it, and what its record says then."""

    status: Status
    event_type: str
    payload: Any = None
    failure: Failure | None = None
    from_outside: bool = False
    continues: bool = False
    input: Any = None
    """Of the run that continues this one."""

    @classmethod
    def of(cls, run: RunState, command: Command) -> Ending:
        """Return what a closing command comes to."""
        match command["type"]:
            case "CompleteWorkflow":
                return _completed(command.get("result"))
            case "FailWorkflow":
                return _failed(Status.FAILED, _failure_in(command))
            case "ContinueAsNew" if not run.cancel_requested:
                return cls(
                    status=Status.COMPLETED,
                    event_type="WorkflowCompleted",
                    continues=True,
                    input=command.get("input"),
                )
            case _:  # a run that was asked to end does not go on as another
                return _cancelled(command.get("reason"))


def _completed(result: Any) -> Ending:
    return Ending(status=Status.COMPLETED, event_type="WorkflowCompleted", payload=result)


def _failed(status: Status, failure: Failure, *, from_outside: bool = False) -> Ending:
    return Ending(
        status=status,
        event_type="WorkflowFailed",
        payload=failed(failure),
        failure=failure,
        from_outside=from_outside,
    )


def _cancelled(reason: str | None, *, from_outside: bool = False) -> Ending:
    return Ending(
        status=Status.CANCELLED,
        event_type="WorkflowCancelled",
        payload=_reason(reason),
        from_outside=from_outside,
    )


def _failure_in(command: Mapping[str, Any]) -> Failure:
    return Failure.read(command.get("failure"), str(command["error"]))


def _reason(reason: str | None) -> dict[str, str] | None:
    return None if reason is None else {"reason": reason}


# -- from outside ----------------------------------------------------------------------------------


def terminate(world: World, run: RunState, reason: str | None) -> bool:
    """End a run at once; False if it has ended."""
    if not run.open:
        return False
    failure = Failure(message="terminated" if reason is None else reason)
    close(world, run, _failed(Status.FAILED, failure, from_outside=True))
    return True


def time_out(world: World, run: RunState, ending: str) -> None:
    """End a run whose time is over."""
    secs = getattr(run.options, ending)
    failure = Failure(message=f"timed out: {ending} of {secs:g} s")
    ended = _failed(Status.TIMED_OUT, failure, from_outside=True)
    close(world, run, ended, retried=ending == "run_timeout")


def request_cancel(
    world: World, run: RunState, reason: str | None, deadline: float | None = None
) -> bool:
    """Ask a run to end; False if it has."""
    if not run.open:
        return False
    run.cancel_requested = True
    world.append(run, "WorkflowCancelRequested", _reason(reason))
    if run.status is Status.PENDING:  # its code has not begun, so nobody has to answer
        close(world, run, _cancelled(None, from_outside=True))
        return True
    _stop_waiting(run)
    world.wake(run)
    if deadline is not None:
        limit = world.agenda.later(deadline, lambda: _give_up(world, run))
        run.deadlines.append(limit)
    for child in run.open_children:
        if child.close_policy != "abandon" and not child.latest.cancel_requested:
            request_cancel(world, child.latest, reason)
    return True


def _give_up(world: World, run: RunState) -> None:
    close(world, run, _cancelled(None, from_outside=True))


def _stop_waiting(run: RunState) -> None:
    """The engine stops all timers, and does not begin activities that wait for their next try."""
    for timer in run.timers.values():
        timer.call_off()
    run.timers.clear()
    _drop_activities(run, [each for each in run.activities.values() if each.next_try is not None])


# -- closing ---------------------------------------------------------------------------------------


def close(world: World, run: RunState, ending: Ending, *, retried: bool = False) -> None:
    """End a run; start the one that goes on for it, or tell whoever waits for its end.

    `retried` says whether another attempt may follow.
    """
    world.append(run, ending.event_type, ending.payload)
    run.status = ending.status
    run.failure = ending.failure
    run.error = None if ending.failure is None else ending.failure.message
    run.result = ending.payload if ending.status is Status.COMPLETED else None
    run.ended_from_outside = ending.from_outside
    _clear(run)
    if ending.continues:
        run.continued_to = putting.continue_as_new(world, run, ending.input)
    elif retried and (delay := _delay(world, run)) is not None:
        run.retried_as = putting.try_again(world, run, delay)
    else:
        _tell_parent(world, run)
        _tell_watchers(world, run.chain)
        _end_children(world, run)
    checks.repeats_itself(world, run)


def _clear(run: RunState) -> None:
    for appointment in (*run.timers.values(), *run.deadlines):
        appointment.call_off()
    run.timers.clear()
    if run.ended_from_outside:  # what a run leaves behind that ends by itself is still done
        _drop_activities(run, list(run.activities.values()))
    if run.machine is not None:
        run.machine.drop()


def _drop_activities(run: RunState, dropped: list[Pending]) -> None:
    for pending in dropped:
        del run.activities[pending.seq]
        if pending.next_try is not None:
            pending.next_try.call_off()


def _delay(world: World, run: RunState) -> float | None:
    """Return when the next attempt begins, if there is one."""
    assert run.failure is not None
    if run.options.retries is None or run.cancel_requested:
        return None
    delay = run.options.retries.delay(run.attempt, run.failure)
    ends_at = run.chain.ends_at
    if delay is None or (ends_at is not None and world.now + delay >= ends_at):
        return None
    return delay


def _tell_parent(world: World, run: RunState) -> None:
    parent = run.chain.parent
    if parent is None:
        return
    child = {"child_workflow_id": run.chain.first_id}
    if run.status is Status.COMPLETED:
        world.tell(parent, "ChildWorkflowCompleted", {**child, "result": run.result})
        return
    told = {} if run.failure is None else failed(run.failure)
    told |= {"error": _TOLD_TO_PARENTS.get(run.status, run.error)}
    world.tell(parent, "ChildWorkflowFailed", {**child, **told})


def _tell_watchers(world: World, chain: Chain) -> None:
    watchers, chain.watchers = chain.watchers, []
    for watcher in watchers:
        tell_watcher(world, watcher, chain)


def tell_watcher(world: World, watcher: Watcher, chain: Chain) -> None:
    """Tell a run how a chain has ended that it watches."""
    run = chain.latest
    payload: dict[str, Any] = {
        "call_seq": watcher.call_seq,
        "workflow_id": run.workflow_id,
        "status": run.status,
        "result": run.result,
    }
    payload |= {} if run.failure is None else failed(run.failure)
    payload |= {"link": True} if watcher.linked else {}
    world.tell(watcher.run, "WorkflowExited", payload)


def _end_children(world: World, run: RunState) -> None:
    """Those with a policy wherever the chain ends, the others if it is ended from outside."""
    for child in run.chain.children:
        policy = child.close_policy
        if policy is None and run.ended_from_outside and child.parent is run:
            policy = "request_cancel"
        if not child.latest.open:
            continue
        if policy == "terminate":
            terminate(world, child.latest, "the parent run ended")
        elif policy == "request_cancel" and not child.latest.cancel_requested:
            request_cancel(world, child.latest, "the parent run ended")
