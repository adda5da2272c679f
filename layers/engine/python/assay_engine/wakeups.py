"""How a waiting call hears of work: locally a condition that a commit sets, in AWS a sleep.

Local wake-ups are counted, so that a notification between a look and the wait is not lost.
"""

import time
from collections.abc import Sequence
from threading import Condition


class LocalWakeups:
    """For one process that serves the table."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._count = 0
        self._last: dict[str, int] = {}

    def notify(self, slot: str) -> None:
        with self._changed:
            self._count += 1
            self._last[slot] = self._count
            self._changed.notify_all()

    def ticket(self, slots: Sequence[str]) -> int:
        with self._changed:
            return self._count

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(
                lambda: any(self._last.get(slot, 0) > ticket for slot in slots), timeout
            )


class SleepingWakeups:
    """Where nobody can tell: wait a little, then look again."""

    def notify(self, slot: str) -> None:
        pass

    def ticket(self, slots: Sequence[str]) -> int:
        return 0

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        time.sleep(timeout)
        return False
