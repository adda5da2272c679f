"""The client's work without I/O: a procedure yields requests and pauses, a driver does them.

When to try again, what an answer means and when to give up is decided here, once; the drivers in
`_shells.py` only carry it out, blocking or awaiting.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec

from assay import _json
from assay._calls import Call
from assay._clock import Backoff, Clock
from assay._durations import Duration, seconds
from assay._transport import Request, Response, error_of
from assay.errors import ApiError, ConnectionFailedError, UnavailableError

_TRIES = 8
_TIMEOUT_SECS = 30.0
_FIRST_LOOK_SECS = 0.05
_LAST_LOOK_SECS = 2.0
_IN_FLIGHT_SECS = 2.0  # for an answer that is under way when the time is over

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pause:
    """Asks the driver to let time pass."""

    secs: float


Procedure: TypeAlias = Generator[Request | Pause, Any, T]


def ask(call: Call[T], *, tries: int = _TRIES, timeout_secs: float = _TIMEOUT_SECS) -> Procedure[T]:
    """Make a call; what a broken connection or a busy engine interrupts is tried again."""
    request = call.request(key=uuid.uuid4().hex, timeout_secs=timeout_secs)
    backoff = Backoff()
    for left in reversed(range(tries)):
        try:
            response: Response = yield request
            return _read(call, response)
        except (ConnectionFailedError, ApiError) as error:
            repeatable = isinstance(error, ConnectionFailedError) or error.retryable
            if not (repeatable and left):
                raise
        yield Pause(backoff.next())
    raise AssertionError("the last try returns or raises")


def _read(call: Call[T], response: Response) -> T:
    if response.status >= 400:
        raise error_of(response)
    try:
        return call.read(_json.decode(response.body) if response.body else None)
    except msgspec.MsgspecError as error:
        text = f"{call.method} {call.path}: the answer is not what was expected: {error}"
        raise ApiError(text, code="unreadable_answer", status=response.status) from error


class Patience:
    """How long to go on looking, with pauses that grow."""

    def __init__(self, clock: Clock, timeout: Duration | None) -> None:
        self._clock = clock
        self.secs = math.inf if timeout is None else seconds(timeout)
        self._until = clock.monotonic() + self.secs
        self._pause = _FIRST_LOOK_SECS

    @property
    def left(self) -> float:
        """Seconds that are left; without a time limit it never ends."""
        return self._until - self._clock.monotonic()

    def pause(self) -> Pause:
        """Return the pause before the next look."""
        secs = min(self._pause, max(self.left, 0.0))
        self._pause = min(self._pause * 1.5, _LAST_LOOK_SECS)
        return Pause(secs)

    def look(self, call: Call[T]) -> Procedure[T | None]:
        """Make a call; with a time limit, an engine that is away is None and not an error.

        Whoever looks will look again, so there is one try at a time then.
        """
        if math.isinf(self._until):
            return (yield from ask(call))
        timeout_secs = min(_TIMEOUT_SECS, max(self.left, 0.0) + _IN_FLIGHT_SECS)
        try:
            return (yield from ask(call, tries=1, timeout_secs=timeout_secs))
        except (ConnectionFailedError, UnavailableError):
            return None
