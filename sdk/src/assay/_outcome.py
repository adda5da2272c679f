"""Waiting for a run: for its result, to the end of its chain, or for its reply to a request."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from assay import _calls
from assay._calls import Call, Scope
from assay._durations import Duration
from assay._functions import convert
from assay._procedure import Patience, Procedure, ask
from assay._records import Reply, Status, Workflow
from assay._start import ExecuteOptions, start
from assay._target import Target, describe
from assay._workflows import WorkflowRef
from assay.errors import (
    ApiError,
    RequestRejectedError,
    ResultTimeoutError,
    RunCancelledError,
    RunEndedError,
    RunFailedError,
)
from assay.failure import Failure

_LONGEST_WAIT_SECS = 20
# A reply that a run gave in its last step may land a moment after the run is seen to have ended.
_LAST_WORDS_SECS = 2.0


def wait_for_result(
    scope: Scope, workflow_id: str, timeout: Duration | None = None
) -> Procedure[Any]:
    """Wait until the newest run of an id has ended; `get_handle(workflow_id).result(timeout)`::

    client.wait_for_result("order-7", timeout=60)
    """
    return result(Target(scope=scope, workflow_id=workflow_id), timeout)


def execute(
    scope: Scope, workflow: WorkflowRef, input: Any, options: ExecuteOptions
) -> Procedure[Any]:
    """Start a run and return its result; `timeout` is the time for both."""
    patience = Patience(scope.clock, options.pop("timeout", None))
    target = yield from start(scope, workflow, input, options)
    return (yield from _end(target, patience))


def result(target: Target, timeout: Duration | None = None) -> Procedure[Any]:
    """Return the result of the last run of the chain that begins with the target's."""
    return _end(target, Patience(target.scope.clock, timeout))


def _end(target: Target, patience: Patience) -> Procedure[Any]:
    while True:
        run = yield from patience.look(describe(target))
        following = None if run is None else _next(target, run)
        if following is not None:
            target = following
            continue
        if run is not None and run.status.closed:
            return _outcome(run, target.result_type)
        if patience.left <= 0:
            status = "out of reach" if run is None else run.status
            text = f"run {target.workflow_id} is {status} after {patience.secs:g} s"
            raise ResultTimeoutError(text)
        yield patience.pause()


def _next(target: Target, run: Workflow) -> Target | None:
    """Return the run that goes on where this one has ended: its continuation, or another try."""
    if run.continued_to is not None:
        return replace(target, workflow_id=run.continued_to, run_id=None)
    if run.retried_as is not None:
        return replace(target, run_id=run.retried_as)
    return None


def _outcome(run: Workflow, result_type: Any) -> Any:
    if run.status is Status.CANCELLED:
        raise RunCancelledError(run.id)
    if run.status is not Status.COMPLETED:
        raise RunFailedError(run.id, run.status, run.error, run.failure)
    if "result" in run.truncated:
        text = f"the result of run {run.id} is too long for an answer"
        raise ApiError(text, code="response_too_large", status=413)
    return convert(run.result, result_type, f"the result of run {run.id}")


def request(
    target: Target, name: str, payload: Any = None, timeout: Duration | None = None
) -> Procedure[Any]:
    """Send a signal that the run replies to, wait for the reply and return it::

        handle.request("reserve", {"seats": 2}, timeout=30)

    It raises `RequestRejectedError` if the reply is an error, `RunEndedError` if the run ended
    without one, `ResultTimeoutError` when the time is over.
    """
    patience = Patience(target.scope.clock, timeout)
    key = uuid.uuid4().hex
    workflow_id = target.workflow_id
    if not (
        yield from ask(_calls.signal(target.scope, workflow_id, name, payload, request_id=key))
    ):
        raise RunEndedError(workflow_id)
    ended: Patience | None = None
    while True:
        reply = yield from patience.look(_look_for_reply(target, key, patience))
        if reply is not None and reply.replied:
            return _answer(workflow_id, reply)
        if reply is not None and reply.status is not None and reply.status.closed:
            ended = ended or Patience(target.scope.clock, _LAST_WORDS_SECS)
            if ended.left <= 0:
                raise RunEndedError(workflow_id, reply.status)
        if patience.left <= 0:
            text = f"run {workflow_id} has not replied to {name} after {patience.secs:g} s"
            raise ResultTimeoutError(text)
        yield patience.pause()


def _look_for_reply(target: Target, key: str, patience: Patience) -> Call[Reply]:
    wait_secs = int(max(min(patience.left, _LONGEST_WAIT_SECS), 0))
    return _calls.reply(target.scope, target.workflow_id, key, wait_secs)


def _answer(workflow_id: str, reply: Reply) -> Any:
    if reply.error is not None:
        raise RequestRejectedError(workflow_id, Failure.read(reply.error))
    return reply.payload
