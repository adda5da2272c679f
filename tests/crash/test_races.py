"""Eight workers race for one queue: nothing is given to two of them, nothing to none."""

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from assay_engine.app import history
from assay_engine.app.engine import Engine
from assay_engine.core import keys
from assay_engine.core.history import CODES, EventType, pack
from assay_engine.core.run import Head, Status
from assay_engine.system import SystemClock
from tests.costs import ledger
from tests.costs.metered import Metered, dynoxide, metered
from tests.costs.workers import COMPLETE, Command, ExchangeWorker, LegacyWorker, Task, start, step

RUNS = 500
PATIENCE_SECS = 120.0


class Witness:
    """Sees who holds which run, which attempts are made, and which runs have ended."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: set[str] = set()
        self.double_claims: list[str] = []
        self.attempts: Counter[tuple[str, int, int]] = Counter()
        self.ended: list[str] = []

    def takes(self, run: str) -> None:
        with self._lock:
            if run in self._held:
                self.double_claims.append(run)
            self._held.add(run)

    def gives_back(self, run: str) -> None:
        """To be said before the commit: afterwards somebody else may have it already."""
        with self._lock:
            self._held.discard(run)

    def runs_activity(self, run: str, seq: int, attempt: int) -> None:
        with self._lock:
            self.attempts[run, seq, attempt] += 1

    def closes(self, run: str) -> None:
        with self._lock:
            self.ended.append(run)


def _next(run: str, done: int) -> Command:
    """Every other run has two activities, the rest has one."""
    wanted = 1 + int(run.rpartition("-")[2]) % 2
    return step(done + 1) if done < wanted else COMPLETE


def _exchanging(table: Metered, witness: Witness, name: str, *, eager: int) -> bool:
    """Take what there is, and do all that follows from it; whether there was anything."""
    worker = ExchangeWorker(table, name)
    ...
