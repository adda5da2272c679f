"""Running activities: for real, or what a test has put in their place. They are tried again in
skipped time, and time out in it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from assay import _json
from assay._exchange import Outcome
from assay._failures import failed
from assay._testing.options import backoff
from assay._testing.state import Pending, RunState
from assay._testing.world import NAMESPACE, Activity, World
from assay.activity import Attempt, AttemptInfo, current_attempt
from assay.failure import Failure

_LEASE_SECS = 30.0
# The engine's words.
_SILENT = "heartbeat timeout — max retries exhausted"


class WorkerDiedError(Exception):
    """Raise it from an activity to play a worker that dies while it runs the activity."""


def begin(world: World, run: RunState, pending: Pending) -> None:
    """Run one attempt; what comes of it is told when the attempt has taken its time."""
    if run.activities.get(pending.seq) is not pending:
        return
    pending.next_try = None
    activity = world.code.activity(pending.name)
    attempt = Attempt(_info(run, pending), lambda: None)
    limit = pending.policy.start_to_close_secs
    try:
        outcome = _outcome(world, activity, attempt, pending.input)
    except WorkerDiedError:
        silence = min(_LEASE_SECS, pending.policy.heartbeat_timeout_secs or _LEASE_SECS)
        _after(world, silence, lambda: _lost(world, run, pending, _SILENT))
        return
    finally:
        pending.details = attempt.take_details()
    if activity.takes_secs > limit:
        text = f"start-to-close time-out after {limit:g} s"
        _after(world, limit, lambda: _lost(world, run, pending, text))
    else:
        _after(world, activity.takes_secs, lambda: _report(world, run, pending, outcome))


def _after(world: World, secs: float, do: Callable[[], None]) -> None:
    if secs > 0:
        world.agenda.later(secs, do)
    else:
        do()


def _info(run: RunState, pending: Pending) -> AttemptInfo:
    return AttemptInfo(
        workflow_id=run.workflow_id,
        namespace=NAMESPACE,
        name=pending.name,
        seq=pending.seq,
        attempt=pending.attempt,
        max_attempts=pending.policy.max_attempts,
        details=pending.details,
        context=run.options.context or {},
    )


def _outcome(world: World, activity: Activity, attempt: Attempt, input: Any) -> Outcome:
    try:
        return Outcome(result=_json.plain(_call(world, activity, attempt, input)))
    except WorkerDiedError:
        raise
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001  told as live
        return Outcome.of(error)


def _call(world: World, activity: Activity, attempt: Attempt, input: Any) -> Any:
    function = activity.function
    arguments = function.arguments(attempt, _json.plain(input))
    with current_attempt(attempt):
        result = function.function(*arguments)
        return world.loop.run(result) if inspect.isawaitable(result) else result


def _report(world: World, run: RunState, pending: Pending, outcome: Outcome) -> None:
    failure, policy = outcome.failure, pending.policy
    if failure is None:
        result = {"result": outcome.result, "error": None}
        _end(world, run, pending, "ActivityCompleted", result)
    elif failure.retryable and pending.attempt < policy.max_attempts:
        first, coefficient = policy.initial_interval_secs, policy.backoff_coefficient
        _try_again(world, run, pending, backoff(first, coefficient, pending.attempt))
    else:
        _fail(world, run, pending, failure)


def _lost(world: World, run: RunState, pending: Pending, text: str) -> None:
    """The engine has waited long enough: another attempt at once, or the end of it."""
    if pending.attempt < pending.policy.max_attempts:
        _try_again(world, run, pending, 0.0)
    else:
        _fail(world, run, pending, Failure(message=text))


def _try_again(world: World, run: RunState, pending: Pending, delay: float) -> None:
    if run.activities.get(pending.seq) is not pending:
        return
    pending.attempt += 1
    pending.next_try = world.agenda.later(delay, lambda: begin(world, run, pending))


def _fail(world: World, run: RunState, pending: Pending, failure: Failure) -> None:
    told = {**failed(failure), "final_attempt": pending.attempt}
    _end(world, run, pending, "ActivityFailed", told)


def _end(
    world: World, run: RunState, pending: Pending, event_type: str, told: dict[str, Any]
) -> None:
    if run.activities.pop(pending.seq, None) is None:
        return
    named = {"activity_id": pending.event_seq, "activity_seq": pending.seq, "name": pending.name}
    world.tell(run, event_type, {**named, **told})
