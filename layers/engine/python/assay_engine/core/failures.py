"""Structured failures: what stands beside an error text, for programs to read.

In an event a failure is the field `w`, or `wr`, the reference to a long one.
"""

import re
from collections.abc import Mapping
from typing import Any

from .errors import InvalidError
from .values import Parcels, second_field

FIELD = "w"
MAX_CAUSES = 20
_KIND = re.compile(r"[A-Z][A-Z0-9_]{0,63}")

Failure = dict[str, Any]


def read(raw: Any, what: str = "failure", depth: int = 0) -> Failure | None:
    """A failure as a client sent it; None for none. Unknown fields are left out."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise InvalidError(f"{what} must be an object")
    if depth > MAX_CAUSES:
        raise InvalidError(f"{what}: at most {MAX_CAUSES} causes")
    kind, message, retryable = raw.get("kind"), raw.get("message"), raw.get("retryable", True)
    if not isinstance(kind, str) or _KIND.fullmatch(kind) is None:
        raise InvalidError(f"{what}.kind must be up to 64 of A-Z, 0-9 and _, beginning with A-Z")
    if not isinstance(message, str):
        raise InvalidError(f"{what}.message must be a text")
    if not isinstance(retryable, bool):
        raise InvalidError(f"{what}.retryable must be true or false")
    found: Failure = {"kind": kind, "message": message, "retryable": retryable}
    if raw.get("details") is not None:
        found["details"] = raw["details"]
    cause = read(raw.get("cause"), f"{what}.cause", depth + 1)
    return found if cause is None else {**found, "cause": cause}


def field(parcels: Parcels, failure: Failure | None) -> dict[str, Any]:
    """The event fields that hold a failure."""
    return {} if failure is None else second_field(parcels.store(failure, "failure"), FIELD)


def shown(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a payload has of it; nothing where none was given."""
    return {"failure": data[FIELD]} if FIELD in data else {}
