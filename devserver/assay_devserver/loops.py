"""What AWS does between calls, as threads: a step, a wait, and patience when the step fails."""

import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .invocation import Function, blame
from .options import complain

TICK_SECS = 1.0
FIRST_BACKOFF_SECS, LAST_BACKOFF_SECS = 0.1, 5.0
_STOP_SECS = 2.0


class Loop:
    """Calls `step` again and again; it returns how many seconds to wait, at least and at most.

    Within those bounds `nudge` ends the wait. A failure is told once for each kind until a step
    succeeds, and tried again after a growing wait.
    """

    def __init__(self, name: str, step: Callable[[], tuple[float, float]]) -> None:
        self._name = name
        self._step = step
        self._stop = threading.Event()
        self._nudged = threading.Event()
        self._told: set[str] = set()
        self._backoff = FIRST_BACKOFF_SECS
        self._thread = threading.Thread(target=self._run, name=f"assay-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def nudge(self) -> None:
        self._nudged.set()

    def stop(self) -> None:
        self._stop.set()
        self._nudged.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECS)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._nudged.clear()
            at_least, at_most = self._guarded()
            self._stop.wait(at_least)
            self._nudged.wait(max(0.0, at_most - at_least))

    def _guarded(self) -> tuple[float, float]:
        try:
            pause = self._step()
        except Exception as error:  # noqa: BLE001 - the loop outlives whatever a step raises
            return self._failed(error)
        self._told.clear()
        self._backoff = FIRST_BACKOFF_SECS
        return pause

    def _failed(self, error: Exception) -> tuple[float, float]:
        kind = type(error).__name__
        if kind not in self._told and not self._stop.is_set():
            self._told.add(kind)
            complain(f"the {self._name} failed and is repeated: {blame(error)}")
        pause = self._backoff
        self._backoff = min(LAST_BACKOFF_SECS, pause * 2)
        return pause, pause


def tick(function: Function, done: Callable[[], None]) -> Callable[[], tuple[float, float]]:
    """The step that calls `function` as an EventBridge rule does, but every second."""

    def step() -> tuple[float, float]:
        started = time.monotonic()
        function(_scheduled_event())
        done()
        left = max(0.0, TICK_SECS - (time.monotonic() - started))
        return left, left

    return step


def _scheduled_event() -> dict[str, Any]:
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": "us-east-1",
        "resources": ["arn:aws:events:us-east-1:000000000000:rule/assay-tick"],
        "detail": {},
    }
