"""What a run is started with besides its input, read from a start or from a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay import _json
from assay._durations import seconds
from assay._options import RetryPolicy
from assay.errors import UsageError
from assay.failure import Failure

_LONGEST_DELAY_SECS = 30 * 86_400.0
_NOT_HERE = ("cron_schedule",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How a run that failed is started again."""

    initial_interval: float = 1.0
    backoff_coefficient: float = 2.0
    maximum_interval: float = 100.0
    maximum_attempts: int = 0
    non_retryable_kinds: tuple[str, ...] = ()

    @classmethod
    def read(cls, policy: RetryPolicy | Mapping[str, Any]) -> Retries:
        """Return the policy that was given, with the engine's defaults."""
        given = dict(policy.wire() if isinstance(policy, RetryPolicy) else policy)
        first = seconds(given.get("initial_interval", 1.0))
        given["initial_interval"] = first
        given["maximum_interval"] = seconds(given.get("maximum_interval", 100 * first))
        given["non_retryable_kinds"] = tuple(given.get("non_retryable_kinds", ()))
        return cls(**given)

    def delay(self, attempt: int, failure: Failure) -> float | None:
        """Return how long the next attempt waits; None if there is none."""
        spent = self.maximum_attempts and attempt >= self.maximum_attempts
        if spent or not failure.retryable or failure.kind in self.non_retryable_kinds:
            return None
        longest = min(self.maximum_interval, _LONGEST_DELAY_SECS)
        return backoff(self.initial_interval, self.backoff_coefficient, attempt, longest)


def backoff(
    first: float, coefficient: float, attempt: int, longest: float = _LONGEST_DELAY_SECS
) -> float:
    """Return the seconds between the failure of an attempt and the next one."""
    try:
        return min(max(first * coefficient ** (attempt - 1), 0.0), longest)
    except OverflowError:
        return longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Times are in seconds."""

    execution_timeout: float | None = None
    run_timeout: float | None = None
    start_delay: float = 0.0
    retries: Retries | None = None
    parent_close_policy: str | None = None
    context: Mapping[str, Any] | None = None
    memo: Mapping[str, Any] = field(default_factory=dict)
    search_attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Options:
        """Return the options among what was given."""
        refused = [name for name in _NOT_HERE if given.get(name) is not None]
        if refused:
            raise UsageError(f"{refused[0]} is not supported by the test environment")

        def secs(name: str) -> float | None:
            return None if given.get(name) is None else seconds(given[name])

        policy = given.get("retry_policy")
        return cls(
            execution_timeout=secs("execution_timeout"),
            run_timeout=secs("run_timeout"),
            start_delay=secs("start_delay") or 0.0,
            retries=None if policy is None else Retries.read(policy),
            parent_close_policy=given.get("parent_close_policy"),
            context=_json.plain(given.get("context")),
            memo=_json.plain(given.get("memo") or {}),
            search_attributes=_json.plain(given.get("search_attributes") or {}),
        )
