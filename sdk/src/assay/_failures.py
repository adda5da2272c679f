"""What an exception tells others: its text in history, and its failure where there is more."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from assay import _json
from assay.errors import ApplicationError, RemoteError, UsageError
from assay.failure import INTERNAL, Failure

_DEEPEST = 5
_MODULES = ("assay.errors", "assay.channel")


def told(error: BaseException) -> str:
    """Return the text that stands for an error in history; whatever it holds, it can be sent."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(told(each) for each in error.exceptions))
    text = str(error).encode(errors="replace").decode()
    if type(error).__module__ in _MODULES:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def failure_of(error: BaseException, depth: int = 0) -> Failure:
    """Return everything an error can tell."""
    if isinstance(error, BaseExceptionGroup):
        return _failure(error, told(error), failure_of(error.exceptions[0], depth + 1))
    cause: Failure | None = None
    if isinstance(error, RemoteError):  # its text says the rest already
        cause = error.failure if error.failure.says_more else None
    elif error.__cause__ is not None and depth < _DEEPEST:
        cause = failure_of(error.__cause__, depth + 1)
    return _failure(error, told(error), cause)


def _failure(error: BaseException, message: str, cause: Failure | None) -> Failure:
    if isinstance(error, ApplicationError):
        return Failure(
            message=message,
            kind=_spelled(error.kind),
            retryable=error.retryable,
            details=_sendable(error.details),
            cause=cause,
        )
    if isinstance(error, (RemoteError, BaseExceptionGroup)) and cause is not None:
        return Failure(message=message, kind=cause.kind, retryable=cause.retryable, cause=cause)
    return Failure(message=message, kind=_KINDS.get(type(error), INTERNAL), cause=cause)


_KINDS: dict[type[BaseException], str] = {
    TimeoutError: "TIMEOUT",
    asyncio.CancelledError: "CANCELLED",
}


def _spelled(kind: str) -> str:
    """Return a kind as the engine takes it: capitals, digits and underscores."""
    letters = re.sub(r"[^A-Z0-9_]", "_", kind.upper())[:64]
    return letters if letters[:1].isalpha() else INTERNAL


def _sendable(details: Any) -> Any:
    try:
        return _json.plain(details)
    except UsageError:
        return repr(details)


def failed(failure: Failure) -> dict[str, Any]:
    """Return a failure as commands, reports and events carry it: more than a text if there is."""
    more = {"failure": failure.wire()} if failure.says_more else {}
    return {"error": failure.message, **more}


def raised(failure: Failure) -> ApplicationError:
    """Return the error that stands for one which was recorded."""
    return ApplicationError(
        failure.message, kind=failure.kind, retryable=failure.retryable, details=failure.details
    )
