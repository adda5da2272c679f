"""The commands a worker may send, read from loose JSON as leniently as the wire demands.

Missing or mistyped fields get the original engine's defaults; a whole float counts as an
integer, because both Lua runtimes write 3 as 3.0. Unknown types are skipped.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from . import failures, ids, limits, seqs
from . import options as start_options
from .activity import Policy
from .calls import CallWorkflow, read_call
from .errors import InvalidError
from .failures import Failure
from .options import Options
from .replies import Reply, read_reply

_ABSENT = object()


class Given(Struct, frozen=True):
    """A value that stands in a command, which may be null."""

    value: Any


class ScheduleActivity(Struct, frozen=True, kw_only=True):
    seq: int
    name: str
    task_queue: str
    input: Given | None
    policy: Policy


class ScheduleTimer(Struct, frozen=True, kw_only=True):
    seq: int
    duration_secs: float


class CancelTimer(Struct, frozen=True, kw_only=True):
    seq: int
    """The timer's own."""


class WaitForSignal(Struct, frozen=True, kw_only=True):
    name: str
    timer_seq: int | None


class RecordSideEffect(Struct, frozen=True, kw_only=True):
    seq: int
    name: str
    value: Given | None


class StartChildWorkflow(Struct, frozen=True, kw_only=True):
    workflow_type: str
    workflow_id: str
    task_queue: str
    input: Given | None
    options: Options = start_options.NONE
    search_attributes: Mapping[str, Any] | None = None


class RecordSnapshot(Struct, frozen=True, kw_only=True):
    state: Any


class UpsertSearchAttributes(Struct, frozen=True, kw_only=True):
    patch: Mapping[str, Any]
    seq: int | None
    """Counted by clients that skip upserts found in history; absent from old ones."""
    memo: Mapping[str, Any] | None = None
    """Merged into the run's memo, as the patch into its search attributes."""


class ContinueAsNew(Struct, frozen=True, kw_only=True):
    input: Given | None
    workflow_id: str | None


class CompleteWorkflow(Struct, frozen=True, kw_only=True):
    result: Given | None


class FailWorkflow(Struct, frozen=True, kw_only=True):
    error: str
    failure: Failure | None = None


class CancelWorkflow(Struct, frozen=True, kw_only=True):
    reason: str | None


Closing = CompleteWorkflow | FailWorkflow | CancelWorkflow | ContinueAsNew
Command = (
    ScheduleActivity
    | ScheduleTimer
    | CancelTimer
    | WaitForSignal
    | RecordSideEffect
    | StartChildWorkflow
    | RecordSnapshot
    | UpsertSearchAttributes
    | CallWorkflow
    | Reply
    | Closing
)


def read_all(raw: Sequence[Any]) -> list[Command]:
    """The commands of a batch; what is no object or of no known type is left out."""
    found = (read(one) for one in raw if isinstance(one, Mapping))
    return [command for command in found if command is not None]


def read(raw: Mapping[str, Any]) -> Command | None:
    reader = _READERS.get(str(raw.get("type")))
    return reader(raw) if reader else None


def _activity(raw: Mapping[str, Any]) -> ScheduleActivity:
    return ScheduleActivity(
        seq=_seq(raw, "seq"),
        name=ids.check_name(_text(raw, "name", ""), "activity name"),
        task_queue=_queue(raw),
        input=_given(raw, "input"),
        policy=read_policy(raw),
    )


def read_policy(raw: Mapping[str, Any]) -> Policy:
    defaults = Policy()
    return Policy(
        max_attempts=int(_number(raw, "max_attempts", defaults.max_attempts)),
        initial_interval_secs=float(
            _number(raw, "initial_interval_secs", defaults.initial_interval_secs)
        ),
        backoff_coefficient=float(
            _number(raw, "backoff_coefficient", defaults.backoff_coefficient)
        ),
        start_to_close_secs=float(
            _number(raw, "start_to_close_secs", defaults.start_to_close_secs)
        ),
        heartbeat_timeout_secs=_optional_float(raw, "heartbeat_timeout_secs"),
    )


def _timer(raw: Mapping[str, Any]) -> ScheduleTimer:
    duration = float(_number(raw, "duration_secs", 0.0))
    if abs(duration) > limits.MAX_TIMER_SECS:
        raise InvalidError(f"duration_secs {duration:g} is out of range")
    return ScheduleTimer(seq=_seq(raw, "seq"), duration_secs=duration)


def _wait(raw: Mapping[str, Any]) -> WaitForSignal:
    timer_seq = _whole(raw.get("timer_seq"))
    name = ids.check_name(_text(raw, "name", "?"), "signal name")
    return WaitForSignal(name=name, timer_seq=timer_seq)


def _side_effect(raw: Mapping[str, Any]) -> RecordSideEffect:
    name = _text(raw, "name", "")
    return RecordSideEffect(seq=_seq(raw, "seq"), name=name, value=_given(raw, "value"))


def _child(raw: Mapping[str, Any]) -> StartChildWorkflow:
    return StartChildWorkflow(
        workflow_type=ids.check_name(_text(raw, "workflow_type", ""), "workflow type"),
        workflow_id=ids.check_name(_text(raw, "workflow_id", ""), "workflow id"),
        task_queue=_queue(raw),
        input=_given(raw, "input"),
        options=start_options.read(raw),
        search_attributes=_attributes(raw),
    )


def _attributes(raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = raw.get("search_attributes")
    if found is not None and not isinstance(found, Mapping):
        raise InvalidError("search_attributes must be an object")
    return found


def _upsert(raw: Mapping[str, Any]) -> UpsertSearchAttributes:
    patch = raw.get("patch")
    if patch in (None, []):
        patch = {}
    if not isinstance(patch, Mapping):
        raise InvalidError("search_attributes patch must be a JSON object")
    memo = raw.get("memo")
    if memo == []:
        memo = {}
    if memo is not None and not isinstance(memo, Mapping):
        raise InvalidError("UpsertSearchAttributes: memo must be a JSON object")
    return UpsertSearchAttributes(patch=patch, seq=_whole(raw.get("seq")), memo=memo)


def _continue(raw: Mapping[str, Any]) -> ContinueAsNew:
    target = raw.get("workflow_id")
    if target is not None:
        target = ids.check_name(_text(raw, "workflow_id", ""), "workflow id")
    return ContinueAsNew(input=_given(raw, "input"), workflow_id=target or None)


def _fail(raw: Mapping[str, Any]) -> FailWorkflow:
    failure = failures.read(raw.get("failure"))
    said = failure["message"] if failure else "workflow handler raised an error"
    return FailWorkflow(error=_text(raw, "error", said), failure=failure)


def _cancel(raw: Mapping[str, Any]) -> CancelWorkflow:
    return CancelWorkflow(reason=_text(raw, "reason", "") or None)


_READERS: dict[str, Any] = {
    "ScheduleActivity": _activity,
    "ScheduleTimer": _timer,
    "CancelTimer": lambda raw: CancelTimer(seq=seqs.checked(raw.get("seq"), "CancelTimer: seq")),
    "CallWorkflow": read_call,
    "Reply": read_reply,
    "WaitForSignal": _wait,
    "RecordSideEffect": _side_effect,
    "StartChildWorkflow": _child,
    "RecordSnapshot": lambda raw: RecordSnapshot(state=raw.get("state")),
    "UpsertSearchAttributes": _upsert,
    "ContinueAsNew": _continue,
    "CompleteWorkflow": lambda raw: CompleteWorkflow(result=_given(raw, "result")),
    "FailWorkflow": _fail,
    "CancelWorkflow": _cancel,
}


def _given(raw: Mapping[str, Any], name: str) -> Given | None:
    value = raw.get(name, _ABSENT)
    return None if value is _ABSENT else Given(value)


def _text(raw: Mapping[str, Any], name: str, default: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else default


def _queue(raw: Mapping[str, Any]) -> str:
    name = _text(raw, "task_queue", limits.DEFAULT_COMMAND_QUEUE)
    return ids.check_name(name, "task queue")


def _number(raw: Mapping[str, Any], name: str, default: float) -> float:
    value = raw.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return max(min(value, limits.MAX_TIMER_SECS * 2), -limits.MAX_TIMER_SECS * 2)


def _optional_float(raw: Mapping[str, Any], name: str) -> float | None:
    value = _number(raw, name, math.inf)
    return None if value == math.inf else float(value)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return None
    return int(value)


def _seq(raw: Mapping[str, Any], name: str) -> int:
    seq = _whole(raw.get(name)) or 0
    if not 0 <= seq <= seqs.MAX_SEQ:
        raise InvalidError(f"{name} {seq} is out of range")
    return seq
