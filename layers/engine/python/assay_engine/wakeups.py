"""How a waiting call hears of work: locally a condition that a commit sets, in AWS a sleep.

Local wake-ups are counted, so that a notification between a look and the wait is not lost.
"""

import time
from collections.abc import Sequence
from threading import Event, Lock


class LocalWakeups:
    """For one process that serves the table. A notification wakes one waiter, not all of them;
    one that could take nothing passes it on to the next that has not looked since."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._last: dict[str, int] = {}
        self._waiting: dict[str, dict[Event, int]] = {}
        """Slot -> waiters in the order of their coming, each with its ticket."""

    def notify(self, slot: str) -> None:
        with self._lock:
            self._count += 1
            self._last[slot] = self._count
            self._wake_one(slot)

    def pass_on(self, slots: Sequence[str]) -> None:
        with self._lock:
            for slot in slots:
                self._wake_one(slot)

    def _wake_one(self, slot: str) -> None:
        for waiter, ticket in self._waiting.get(slot, {}).items():
            if ticket < self._last.get(slot, 0) and not waiter.is_set():
                waiter.set()
                return

    def ticket(self, slots: Sequence[str]) -> int:
        with self._lock:
            return self._count

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        waiter = Event()
        with self._lock:
            if any(self._last.get(slot, 0) > ticket for slot in slots):
                return True
            for slot in slots:
                self._waiting.setdefault(slot, {})[waiter] = ticket
        waiter.wait(timeout)
        with self._lock:
            for slot in slots:
                self._waiting[slot].pop(waiter)
                if not self._waiting[slot]:
                    del self._waiting[slot]
        # Asked last: it may have been chosen in the very moment its time was up.
        return waiter.is_set()


class SleepingWakeups:
    """Where nobody can tell: wait a little, then look again."""

    def notify(self, slot: str) -> None:
        pass

    def pass_on(self, slots: Sequence[str]) -> None:
        pass

    def ticket(self, slots: Sequence[str]) -> int:
        return 0

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        time.sleep(timeout)
        return False
