"""Why something failed, as a record that travels: of an activity, a child, a run, a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

INTERNAL: Final = "INTERNAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure: `kind` is meant to be compared, `message` to be read::

    Failure(kind="CARD_DECLINED", message="no money left", retryable=False)
    """

    message: str
    kind: str = INTERNAL
    retryable: bool = True
    details: Any = None
    cause: Failure | None = None

    @classmethod
    def read(cls, body: Any, text: str = "no error text") -> Failure:
        """Return the failure that the wire spells.

        It comes from code of anybody's, so whatever is missing or odd does not hide the rest; a
        bare text is a failure without a kind, and `text` stands for one that says nothing.
        """
        if not isinstance(body, Mapping):
            return cls(message=body if isinstance(body, str) else text)
        cause = body.get("cause")
        return cls(
            message=str(body.get("message") or text),
            kind=str(body.get("kind") or INTERNAL),
            retryable=body.get("retryable") is not False,
            details=body.get("details"),
            cause=None if cause is None else cls.read(cause),
        )

    @property
    def says_more(self) -> bool:
        """Whether there is more to it than the message."""
        return self != Failure(message=self.message)

    def wire(self) -> dict[str, Any]:
        """Return the object that goes on the wire; what there is not is left out."""
        body: dict[str, Any] = {
            "kind": self.kind,
            "message": self.message,
            "retryable": self.retryable,
        }
        if self.details is not None:
            body["details"] = self.details
        if self.cause is not None:
            body["cause"] = self.cause.wire()
        return body

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"
