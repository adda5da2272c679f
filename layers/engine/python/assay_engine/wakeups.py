"""How a waiting call hears of work: locally a condition that a commit sets, in AWS a sleep.

Local wake-ups are counted, so that a notification between a look and the wait is not lost.
"""

import time
from collections.abc import Sequence
from threading import Event, Lock


class LocalWakeups:
    """For one process that serves the table. A waiter is woken only by its own slots."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._last: dict[str, int] = {}
        self._waiting: dict[str, set[Event]] = {}

    def notify(self, slot: str) -> None:
        with self._lock:
            self._count += 1
            self._last[slot] = self._count
            for waiter in self._waiting.get(slot, ()):
                waiter.set()

    def ticket(self, slots: Sequence[str]) -> int:
        with self._lock:
            return self._count

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        waiter = Event()
        with self._lock:
            if any(self._last.get(slot, 0) > ticket for slot in slots):
                return True
            for slot in slots:
                self._waiting.setdefault(slot, set()).add(waiter)
        try:
            return waiter.wait(timeout)
        finally:
            with self._lock:
                for slot in slots:
                    self._forget(slot, waiter)

    def _forget(self, slot: str, waiter: Event) -> None:
        waiting = self._waiting[slot]
        waiting.discard(waiter)
        if not waiting:
            del self._waiting[slot]


class SleepingWakeups:
    """Where nobody can tell: wait a little, then look again."""

    def notify(self, slot: str) -> None:
        pass

    def ticket(self, slots: Sequence[str]) -> int:
        return 0

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        time.sleep(timeout)
        return False
