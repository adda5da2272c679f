"""What a run may be started with besides its input: time-outs, retries, memo, context.

Read from loose JSON, of a start or of a StartChildWorkflow, and kept in the run's record in
the same form. Absent and null mean the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from . import durations
from .errors import InvalidError
from .retry import MAX_DELAY_SECS

MIN_TASK_SECS, MAX_TASK_SECS = 1.0, 600.0
MAX_KINDS = 100


class ParentClosePolicy(StrEnum):
    """What becomes of a child when its parent ends."""

    TERMINATE = "terminate"
    ABANDON = "abandon"
    REQUEST_CANCEL = "request_cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Whether and when a run that failed is started again."""

    initial_interval: float = 1.0
    backoff_coefficient: float = 2.0
    maximum_interval: float
    maximum_attempts: int = 0
    """0: any number."""
    non_retryable_kinds: tuple[str, ...] = ()

    def delay(self, attempt: int) -> float:
        """Seconds between the failure of `attempt` (from 1) and the next one."""
        try:
            secs = self.initial_interval * self.backoff_coefficient ** (attempt - 1)
        except OverflowError:
            secs = MAX_DELAY_SECS
        return min(secs, self.maximum_interval, MAX_DELAY_SECS)

    def attempts_left(self, attempt: int) -> bool:
        return not self.maximum_attempts or attempt < self.maximum_attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    execution_timeout: float | None = None
    """Of the whole chain of continuations and retries."""
    run_timeout: float | None = None
    task_timeout: float | None = None
    start_delay: float | None = None
    retry_policy: RetryPolicy | None = None
    memo: Mapping[str, Any] | None = None
    context: Mapping[str, Any] | None = None
    parent_close_policy: ParentClosePolicy | None = None


NONE = Options()


def read(raw: Mapping[str, Any]) -> Options:
    """The options among the fields of `raw`; a clear 400 naming the field that is wrong."""
    if not any(raw.get(name) is not None for name in _READERS):
        return NONE
    found = {
        name: reader(raw[name], name) for name, reader in _READERS.items() if _given(raw, name)
    }
    return Options(**{name: found[name] for name in found if name != "wait_for_cancellation"})


def as_fields(options: Options) -> dict[str, Any]:
    """What was given, as `read` takes it."""
    given = {field.name: getattr(options, field.name) for field in fields(options)}
    policy = options.retry_policy
    if policy is not None:
        given["retry_policy"] = {f.name: getattr(policy, f.name) for f in fields(policy)}
    return {name: value for name, value in given.items() if value is not None}


# What a run's successors need to know; the rest has had its effect when the run was put.
_KEPT = ("execution_timeout", "run_timeout", "task_timeout", "retry_policy", "context")


def kept(options: Options) -> dict[str, Any]:
    """What stays in the run's record."""
    given = as_fields(options)
    return {name: given[name] for name in _KEPT if name in given}


def _given(raw: Mapping[str, Any], name: str) -> bool:
    return raw.get(name) is not None


def _timeout(value: Any, what: str) -> float:
    secs = durations.parse(value, what)
    if secs == 0:
        raise InvalidError(f"{what} must be above 0")
    return secs


def _task_timeout(value: Any, what: str) -> float:
    secs = durations.parse(value, what)
    if not MIN_TASK_SECS <= secs <= MAX_TASK_SECS:
        raise InvalidError(f"{what} must be {MIN_TASK_SECS:g} s to {MAX_TASK_SECS:g} s")
    return secs


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidError(f"{what} must be an object")
    return value


def _truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidError(f"{what} must be true or false")
    return value


def choice(kind: type[StrEnum], value: Any, what: str) -> Any:
    """`value` as one of `kind`; a clear 400 otherwise."""
    if value not in list(kind):
        raise InvalidError(f"{what}: {str(value)[:40]!r} is none of {', '.join(kind)}")
    return kind(value)


def _close_policy(value: Any, what: str) -> ParentClosePolicy:
    return ParentClosePolicy(choice(ParentClosePolicy, value, what))


def _retry_policy(value: Any, what: str) -> RetryPolicy:
    raw = _object(value, what)
    initial = 1.0
    if _given(raw, "initial_interval"):
        initial = durations.parse(raw["initial_interval"], f"{what}.initial_interval")
    longest = 100 * initial
    if _given(raw, "maximum_interval"):
        longest = durations.parse(raw["maximum_interval"], f"{what}.maximum_interval")
    return RetryPolicy(
        initial_interval=initial,
        backoff_coefficient=_coefficient(raw, f"{what}.backoff_coefficient"),
        maximum_interval=longest,
        maximum_attempts=_attempts(raw, f"{what}.maximum_attempts"),
        non_retryable_kinds=_kinds(raw, f"{what}.non_retryable_kinds"),
    )


def _coefficient(raw: Mapping[str, Any], what: str) -> float:
    value = raw.get("backoff_coefficient")
    if value is None:
        return 2.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < 1e6:
        raise InvalidError(f"{what} must be a number of at least 1")
    return float(value)


def _attempts(raw: Mapping[str, Any], what: str) -> int:
    value = raw.get("maximum_attempts")
    if value is None:
        return 0
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    if not whole or not 0 <= value < 2**31:
        raise InvalidError(f"{what} must be a whole number, 0 for any number of attempts")
    return int(value)


def _kinds(raw: Mapping[str, Any], what: str) -> tuple[str, ...]:
    value = raw.get("non_retryable_kinds")
    if value is None or value == {}:
        return ()
    listed = isinstance(value, list | tuple) and all(isinstance(kind, str) for kind in value)
    if not listed or len(value) > MAX_KINDS:
        raise InvalidError(f"{what} must be a list of at most {MAX_KINDS} texts")
    return tuple(value)


_READERS: Mapping[str, Any] = {
    "execution_timeout": _timeout,
    "run_timeout": _timeout,
    "task_timeout": _task_timeout,
    "start_delay": durations.parse,
    "retry_policy": _retry_policy,
    "memo": _object,
    "context": _object,
    "parent_close_policy": _close_policy,
    # Accepted for the sake of workers that keep it; the engine has no use for it.
    "wait_for_cancellation": _truth,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAttempt:
    """The run that is started because this one failed."""

    nonce: str
    delay: float
