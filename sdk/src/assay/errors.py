"""Every error that the SDK raises, one tree.

::

    AssayError
    ├── ConnectionFailedError         the engine was not reached, or broke off
    ├── ApiError                      the engine answered with an error (code, status, retryable)
    │   ├── InvalidRequestError       400, 413, 415, 422
    │   ├── UnauthorizedError         401, 403
    │   ├── NotFoundError             404
    │   ├── ConflictError             409
    │   └── UnavailableError          429, 5xx: a repeat may help
    ├── ResultTimeoutError            the run had not ended in time
    ├── RunFailedError                the awaited run ended as FAILED or TIMED_OUT
    ├── RunCancelledError             the awaited run ended as CANCELLED
    ├── RunEndedError                 the run that was asked has ended without a reply
    ├── RemoteError                   something failed elsewhere (kind, retryable, details, cause)
    │   ├── ActivityError             in a workflow: an activity failed for good
    │   ├── ChildWorkflowError        in a workflow: a child did not complete
    │   ├── CallError                 in a workflow: a signal or cancel found no open run
    │   ├── LinkDownError             in a workflow: a linked run has ended abnormally
    │   └── RequestRejectedError      a request was answered with an error
    ├── ApplicationError              raised by your code: a failure with kind and details
    │   └── NonRetryableError         raised by an activity: do not try again
    ├── NonDeterminismError           workflow code and recorded history disagree
    └── UsageError                    something is used in a way that cannot work
        └── ForbiddenCallError        in a workflow: clock, chance, I/O or threads

That the cancellation of a run was requested shows in its code as `asyncio.CancelledError`, which
is no `Exception`: a workflow's own `except Exception` does not swallow it by accident.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from assay.failure import INTERNAL, Failure


class AssayError(Exception):
    """Whatever the SDK raises by itself."""


class ConnectionFailedError(AssayError):
    """The engine was not reached, or the connection broke before its answer was complete."""


class ApiError(AssayError):
    """The engine answered with an error; `code` is stable and meant to be compared."""

    def __init__(self, message: str, *, code: str, status: int, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.retryable = retryable


class InvalidRequestError(ApiError):
    """The request itself is wrong; sending it again cannot help."""


class UnauthorizedError(ApiError):
    """The credentials are missing, wrong, or not good for this."""


class NotFoundError(ApiError):
    """There is no such run, or no such part of it."""


class ConflictError(ApiError):
    """The request contradicts the state of things: an id that is taken, a run that has ended."""


class UnavailableError(ApiError):
    """The engine cannot answer just now; a repeat may help."""


class ResultTimeoutError(AssayError):
    """The run had not ended when the given time was over."""


class RunFailedError(AssayError):
    """The awaited run failed; `error` is the run's own text, `failure` whatever else it told."""

    def __init__(
        self, workflow_id: str, status: str, error: str | None, failure: Failure | None = None
    ) -> None:
        text = error or "no error text"
        super().__init__(f"run {workflow_id} ended as {status}: {text}")
        self.workflow_id = workflow_id
        self.status = status
        self.error = error
        self.failure = failure or Failure(message=text)


class RunCancelledError(AssayError):
    """The awaited run was cancelled."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"run {workflow_id} was cancelled")
        self.workflow_id = workflow_id


class RunEndedError(AssayError):
    """The run has ended, and has not replied to the request."""

    def __init__(self, workflow_id: str, status: str | None = None) -> None:
        how = f" as {status}" if status else ""
        super().__init__(f"run {workflow_id} has ended{how} and has not replied")
        self.workflow_id = workflow_id
        self.status = status


class RemoteError(AssayError):
    """Something failed elsewhere; `failure` says why, in as much detail as was told."""

    def __init__(self, message: str, failure: Failure) -> None:
        super().__init__(message)
        self.failure = failure

    @property
    def kind(self) -> str:
        """The class of the failure, such as NOT_FOUND; INTERNAL if nobody has said."""
        return self.failure.kind

    @property
    def retryable(self) -> bool:
        """Whether another attempt could help."""
        return self.failure.retryable

    @property
    def message(self) -> str:
        """What went wrong, for people."""
        return self.failure.message

    @property
    def details(self) -> Any:
        """What the failing side has added."""
        return self.failure.details


class ActivityError(RemoteError):
    """An activity failed for good: its attempts are used up, or it said so."""

    def __init__(self, activity: str, failure: Failure, attempts: int | None = None) -> None:
        super().__init__(f"activity {activity} failed: {failure.message}", failure)
        self.activity = activity
        self.attempts = attempts


class ChildWorkflowError(RemoteError):
    """A child workflow failed, was cancelled or was terminated."""

    def __init__(self, workflow_id: str, failure: Failure) -> None:
        super().__init__(f"child workflow {workflow_id} failed: {failure.message}", failure)
        self.workflow_id = workflow_id


class CallError(RemoteError):
    """A signal or another call to a run did not reach it: there is none, or it has ended."""

    def __init__(self, workflow_id: str, failure: Failure) -> None:
        super().__init__(f"{workflow_id}: {failure.message}", failure)
        self.workflow_id = workflow_id


class LinkDownError(RemoteError):
    """A run that this one is linked to has ended abnormally."""

    def __init__(self, workflow_id: str, failure: Failure) -> None:
        super().__init__(f"linked run {workflow_id} is down: {failure.message}", failure)
        self.workflow_id = workflow_id


class RequestRejectedError(RemoteError):
    """The run that was asked has answered with an error."""

    def __init__(self, workflow_id: str, failure: Failure) -> None:
        super().__init__(f"{workflow_id} rejects the request: {failure.message}", failure)
        self.workflow_id = workflow_id


class ApplicationError(AssayError):
    """Raise it from an activity or a workflow to say more than a text::

    raise ApplicationError("no such order", kind="NOT_FOUND", retryable=False)
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = INTERNAL,
        retryable: bool = True,
        details: Any = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.details = details


class NonRetryableError(ApplicationError):
    """Raise it from an activity whose failure another attempt would not mend."""

    def __init__(self, message: str = "", *, kind: str = INTERNAL, details: Any = None) -> None:
        super().__init__(message, kind=kind, retryable=False, details=details)


class NonDeterminismError(AssayError):
    """Replaying the history issued other commands than those it records."""


class UsageError(AssayError):
    """A part of the SDK is used in a way that cannot work; the message says what to do."""


class ForbiddenCallError(UsageError):
    """Workflow code reached for the clock, chance or the outside; the message says what to use."""


_BY_STATUS: dict[int, type[ApiError]] = {
    HTTPStatus.BAD_REQUEST: InvalidRequestError,
    HTTPStatus.UNAUTHORIZED: UnauthorizedError,
    HTTPStatus.FORBIDDEN: UnauthorizedError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: InvalidRequestError,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: InvalidRequestError,
    HTTPStatus.UNPROCESSABLE_ENTITY: InvalidRequestError,
    HTTPStatus.TOO_MANY_REQUESTS: UnavailableError,
}


def api_error(status: int, message: str, *, code: str, retryable: bool) -> ApiError:
    """Return the leaf of the tree that fits an answer of the engine."""
    unavailable = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    leaf = UnavailableError if unavailable else _BY_STATUS.get(status, ApiError)
    return leaf(message, code=code, status=status, retryable=retryable)
