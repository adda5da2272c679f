"""What activity code is given: who it works for, and how it says that it is alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from assay import _json
from assay._functions import BaseContext
from assay.errors import UsageError

__all__ = ["Context", "current"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptInfo:
    """Which attempt at which activity this is."""

    workflow_id: str
    namespace: str
    name: str
    seq: int
    attempt: int
    max_attempts: int
    details: Any = None
    context: Mapping[str, Any] = field(default_factory=dict)


class Context(BaseContext):
    """One attempt at one activity. Its methods may be called from any thread.

    The worker keeps the attempt alive by itself; `heartbeat` is for telling how far it has come::

        @workflow.activity("import")
        def import_rows(ctx: activity.Context, rows: list[str]) -> int:
            for number in range(ctx.details or 0, len(rows)):
                if ctx.is_cancelled:
                    break
                store(rows[number])
                ctx.heartbeat(number + 1)
            return len(rows)
    """

    def __init__(self, info: AttemptInfo, on_heartbeat: Callable[[], None]) -> None:
        self.info = info
        self._on_heartbeat = on_heartbeat
        self._told: Any = info.details  # an attempt that tells nothing keeps what was told before
        self._untold = False
        self._cancelled = False

    @property
    def workflow_id(self) -> str:
        """The id of the run that has scheduled the activity."""
        return self.info.workflow_id

    @property
    def attempt(self) -> int:
        """Which attempt this is; the first is 1."""
        return self.info.attempt

    @property
    def context(self) -> Mapping[str, Any]:
        """Values that came with the start of the run."""
        return self.info.context

    @property
    def details(self) -> Any:
        """What the attempt before this one told last by `heartbeat`, or None."""
        return self.info.details

    @property
    def is_cancelled(self) -> bool:
        """Whether the result is not wanted any more: the run was cancelled, or has moved on."""
        return self._cancelled

    def heartbeat(self, details: Any = None) -> None:
        """Tell that the activity is alive; `details` are handed to the next attempt."""
        self._told = _json.plain(details)
        self._untold = True
        self._on_heartbeat()


class Attempt(Context):
    """The worker's side of the same attempt."""

    @property
    def untold(self) -> bool:
        """Whether there are details that the engine has not been told."""
        return self._untold

    def take_details(self) -> Any:
        """Return the latest details, as now being told."""
        self._untold = False
        return self._told

    def cancel(self) -> None:
        """Let the activity know that its result is not wanted any more."""
        self._cancelled = True


_current: ContextVar[Context] = ContextVar("assay_activity")


def current() -> Context:
    """Return the context of the activity that is being run, for functions that do not get it."""
    try:
        return _current.get()
    except LookupError:
        raise UsageError("activity.current() is for code that runs in an activity") from None


@contextmanager
def current_attempt(attempt: Attempt) -> Iterator[None]:
    """Be the current activity, also in a thread that is given the caller's context."""
    token = _current.set(attempt)
    try:
        yield
    finally:
        _current.reset(token)
