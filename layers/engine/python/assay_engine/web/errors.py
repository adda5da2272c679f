"""Which status an error becomes, and its body. The only place that knows; nothing of the
inside (texts of libraries, stack traces) passes it."""

from collections.abc import Mapping

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import Response, content_types

from assay_engine.core import errors, values

logger = Logger(service="assay")


class MediaTypeError(errors.AssayError):
    """The body is not declared to be JSON."""

    code = "unsupported_media_type"


class MethodError(errors.AssayError):
    """The path is known, but not with this method."""

    code = "method_not_allowed"

    def __init__(self, text: str, *, allow: str) -> None:
        super().__init__(text)
        self.allow = allow


# Looked up along the class's ancestors, so that a leaf without a line has its parent's status.
STATUSES: Mapping[type, int] = {
    errors.InvalidError: 400,
    errors.NotFoundError: 404,
    MethodError: 405,
    errors.ConflictError: 409,
    errors.TooLargeError: 413,
    MediaTypeError: 415,
    errors.ShapeError: 422,
    errors.BusyError: 503,
}
NOT_FOUND = "not found: "


def answer(error: Exception) -> Response[str]:
    """The answer to a request that failed with `error`."""
    if not isinstance(error, errors.AssayError):
        logger.error("unexpected error", exc_info=error)
        return _answer(500, "internal error", "internal", retryable=True)
    status = next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)
    response = _answer(status, _text(error), error.code, retryable=error.retryable)
    if isinstance(error, MethodError):
        response.headers["Allow"] = error.allow
    if isinstance(error, errors.BusyError):
        response.headers["Retry-After"] = "1"
    return response


def _text(error: errors.AssayError) -> str:
    text = str(error)
    if isinstance(error, errors.NotFoundError) and not text.startswith(NOT_FOUND):
        return NOT_FOUND + text
    return text


def _answer(status: int, text: str, code: str, *, retryable: bool) -> Response[str]:
    body = values.text({"error": text, "code": code, "retryable": retryable})
    return Response(status, content_types.APPLICATION_JSON, body)
