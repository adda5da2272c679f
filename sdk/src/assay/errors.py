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
    ├── ActivityError                 in a workflow: an activity failed for good
    ├── ChildWorkflowError            in a workflow: a child did not complete
    ├── NonRetryableError             raised by an activity: do not try again
    ├── NonDeterminismError           workflow code and recorded history disagree
    └── UsageError                    something is used in a way that cannot work

    Cancelled (BaseException)         in a workflow: its cancellation was requested

`Cancelled` is no `Exception` for the reason that `asyncio.CancelledError` is none: a workflow's
own `except Exception` must not swallow it by accident.
"""

from __future__ import annotations

from http import HTTPStatus


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
    """The awaited run failed; the message is the run's own error text."""

    def __init__(self, workflow_id: str, status: str, error: str | None) -> None:
        super().__init__(f"run {workflow_id} ended as {status}: {error or 'no error text'}")
        self.workflow_id = workflow_id
        self.status = status
        self.error = error


class RunCancelledError(AssayError):
    """The awaited run was cancelled."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"run {workflow_id} was cancelled")
        self.workflow_id = workflow_id


class ActivityError(AssayError):
    """An activity failed for good: its attempts are used up, or it said so."""

    def __init__(self, activity: str, error: str, attempts: int | None = None) -> None:
        super().__init__(f"activity {activity} failed: {error}")
        self.activity = activity
        self.error = error
        self.attempts = attempts


class ChildWorkflowError(AssayError):
    """A child workflow failed, was cancelled or was terminated."""

    def __init__(self, workflow_id: str, error: str) -> None:
        super().__init__(f"child workflow {workflow_id} failed: {error}")
        self.workflow_id = workflow_id
        self.error = error


class NonRetryableError(AssayError):
    """Raise it from an activity whose failure another attempt would not mend."""


class NonDeterminismError(AssayError):
    """Replaying the history issued other commands than those it records."""


class UsageError(AssayError):
    """A part of the SDK is used in a way that cannot work; the message says what to do."""


class Cancelled(BaseException):
    """The cancellation of this run was requested. Catch it to clean up, then raise it again."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason or "cancellation requested")
        self.reason = reason


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
