"""Options that starts of runs, from outside and from a workflow, have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay._durations import Duration, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How a run that failed is started again; what is left out is the engine's to decide::

    RetryPolicy(maximum_attempts=5, initial_interval="10s", non_retryable_kinds=["INVALID"])
    """

    maximum_attempts: int | None = None
    initial_interval: Duration | None = None
    backoff_coefficient: float | None = None
    maximum_interval: Duration | None = None
    non_retryable_kinds: Sequence[str] = ()

    def wire(self) -> dict[str, Any]:
        """Return the object that goes on the wire; durations are in seconds."""
        given = {
            "maximum_attempts": self.maximum_attempts,
            "initial_interval": _secs(self.initial_interval),
            "backoff_coefficient": self.backoff_coefficient,
            "maximum_interval": _secs(self.maximum_interval),
            "non_retryable_kinds": list(self.non_retryable_kinds) or None,
        }
        return {name: value for name, value in given.items() if value is not None}


def _secs(duration: Duration | None) -> float | None:
    return None if duration is None else seconds(duration)
