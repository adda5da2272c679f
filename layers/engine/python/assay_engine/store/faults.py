"""What botocore's errors mean to us: the one place that knows their codes.

A write whose answer was lost may have been applied; repeating it blindly would fail its own
condition. So only what was certainly not applied, or does no harm twice, is repeated here.
"""

from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ProxyConnectionError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from ..core.errors import AssayError, BusyError, TooLargeError

CONDITION_FAILED = "ConditionalCheckFailedException"
CANCELLED = "TransactionCanceledException"

_NOT_APPLIED = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_NOT_APPLIED_REASONS = frozenset(
    {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)
_NEVER_SENT = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)
_LOST = (BotoConnectionError, HTTPClientError, ResponseParserError)
# DynamoDB has one code, ValidationException, for everything that is wrong with a request;
# only its text tells too much from nonsense.
_TOO_LARGE = (
    "item size",
    "size has exceeded",
    "size exceeded",
    "exceeds the maximum",
    "exceeded the maximum",
    "operators",
)


def code_of(error: Exception) -> str:
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def image_of(error: ClientError) -> dict[str, Any] | None:
    """The item that failed a condition, as it stands."""
    item: dict[str, Any] | None = error.response.get("Item")  # type: ignore[assignment]
    return item or None


def reasons_of(error: ClientError) -> list[str]:
    """Why each write of a cancelled transaction was refused; "None" where it was not."""
    reasons = error.response.get("CancellationReasons", [])
    return [str(reason.get("Code", "None")) for reason in reasons]


def failed_conditions(error: ClientError) -> tuple[int, ...]:
    reasons = reasons_of(error)
    return tuple(i for i, reason in enumerate(reasons) if reason == "ConditionalCheckFailed")


def may_repeat(error: Exception, *, harmless: bool) -> bool:
    """Whether the call may be sent again; `harmless`: even if it has been applied."""
    if isinstance(error, _NEVER_SENT) or code_of(error) in _NOT_APPLIED:
        return True
    if isinstance(error, ClientError) and code_of(error) == CANCELLED:
        return not failed_conditions(error) and bool(_NOT_APPLIED_REASONS & {*reasons_of(error)})
    return harmless and _outcome_unknown(error)


def _outcome_unknown(error: Exception) -> bool:
    if isinstance(error, ClientError):
        return int(error.response["ResponseMetadata"].get("HTTPStatusCode", 0)) >= 500
    return isinstance(error, _LOST)


def translate(error: BotoCoreError | ClientError) -> AssayError | None:
    """The engine's word for it; None: a mistake of ours, to be seen as it is."""
    if may_repeat(error, harmless=True):
        return BusyError(f"the store did not answer: {code_of(error) or type(error).__name__}")
    if isinstance(error, ClientError) and _is_too_large(error):
        return TooLargeError("too large for one item of the table")
    return None


def _is_too_large(error: ClientError) -> bool:
    if code_of(error) not in ("ValidationException", CANCELLED):
        return False
    reasons = error.response.get("CancellationReasons", [])
    texts = [error.response["Error"].get("Message", "")]
    texts += [r.get("Message", "") for r in reasons if r.get("Code") == "ValidationError"]
    return any(mark in text.lower() for text in texts for mark in _TOO_LARGE)
