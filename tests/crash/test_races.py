"""Eight workers race for one queue: nothing is given to two of them, nothing to none."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Any, Protocol

from assay_engine.app import history
from assay_engine.core import keys
from assay_engine.core.history import EventType
from assay_engine.core.run import Head, Status
from assay_engine.system import SystemClock
from tests.costs import ledger
from tests.costs.metered import Metered, dynoxide, metered
from tests.costs.workers import COMPLETE, Command, ExchangeWorker, LegacyWorker, Task, start, step

RUNS = [f"run-{number}" for number in range(500)]
PATIENCE_SECS = 120.0


def _activities(run: str) -> int:
    """Every other run has two activities, the rest has one."""
    return 1 + int(run.rpartition("-")[2]) % 2


def _next(run: str, done: int) -> Command:
    return step(done + 1) if done < _activities(run) else COMPLETE


class Witness:
    """Sees who holds which run, which attempts are made, and which runs are closed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: set[str] = set()
        self.double_claims: list[str] = []
        self.attempts: Counter[tuple[str, int, int]] = Counter()
        self.closed: Counter[str] = Counter()

    def takes(self, run: str) -> None:
        with self._lock:
            if run in self._held:
                self.double_claims.append(run)
            self._held.add(run)

    def gives_back(self, run: str) -> None:
        """To be said before the commit: afterwards somebody else may have it already."""
        with self._lock:
            self._held.discard(run)

    def attempts_activity(self, run: str, seq: int, attempt: int) -> None:
        with self._lock:
            self.attempts[run, seq, attempt] += 1

    def issued(self, run: str, command: Command) -> None:
        with self._lock:
            self.closed[run] += command is COMPLETE


class Racer(Protocol):
    def turn(self) -> bool:
        """Take what there is and do it; whether there was anything."""


class ExchangeRacer:
    """Takes three of each at once. With `eager` it goes on by fused steps."""

    def __init__(self, table: Metered, witness: Witness, name: str, *, eager: int) -> None:
        self._worker = ExchangeWorker(table, name)
        self._witness = witness
        self._eager = eager

    def turn(self) -> bool:
        answer = self._worker.exchange(room={"workflows": 3, "activities": 3})
        for task in answer["workflow_tasks"]:
            self._witness.takes(task["run"]["id"])
        for task in answer["workflow_tasks"]:
            self._think(task)
        for activity in answer["activity_tasks"]:
            self._attempt(activity)
            _accepted(self._worker.complete(activity))
        return bool(answer["workflow_tasks"] or answer["activity_tasks"])

    def _think(self, task: Task) -> None:
        run = task["run"]["id"]
        done = sum(event["event_type"] == "ActivityCompleted" for event in task["history"])
        command = _next(run, done)
        self._witness.gives_back(run)
        answer = _accepted(self._worker.commit(task, [command], eager=self._eager))
        self._witness.issued(run, command)
        while answer["activities"]:
            answer = self._fuse(run, answer)

    def _fuse(self, run: str, answer: dict[str, Any]) -> dict[str, Any]:
        (activity,) = answer["activities"]
        self._attempt(activity)
        command = _next(run, activity["seq"])
        known = {"version": answer["version"], "mark": answer["mark"]}
        then = {**known, "eager": 1, "commands": [command]}
        answer = _accepted(self._worker.complete(activity, then=then))
        self._witness.issued(run, command)
        return answer

    def _attempt(self, activity: Task) -> None:
        self._witness.attempts_activity(activity["run"]["id"], activity["seq"], activity["attempt"])


def _accepted(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["status"] == "accepted", answer
    return answer


class LegacyRacer:
    """One thing after the other. A commit without the lease raises StaleError."""

    def __init__(self, table: Metered, witness: Witness) -> None:
        self._worker = LegacyWorker(table)
        self._witness = witness

    def turn(self) -> bool:
        task = self._worker.poll_workflow()
        if task is not None:
            run = task.workflow_id
            self._witness.takes(run)
            done = sum(event.type == EventType.ACTIVITY_COMPLETED for event in task.history)
            command = _next(run, done)
            self._witness.gives_back(run)
            self._worker.commit(task, command)
            self._witness.issued(run, command)
            return True
        activity = self._worker.poll_activity()
        if activity is None:
            return False
        self._witness.attempts_activity(activity.workflow_id, activity.seq, activity.attempt)
        self._worker.complete(activity)
        return True


def _race(racers: list[Racer], witness: Witness) -> list[int]:
    """Until all runs are closed, or somebody failed; how often each racer got something."""
    over = Event()
    deadline = time.monotonic() + PATIENCE_SECS

    def run(racer: Racer) -> int:
        turns = 0
        try:
            while not over.is_set() and len(+witness.closed) < len(RUNS):
                assert time.monotonic() < deadline, f"closed: {len(+witness.closed)}"
                if racer.turn():
                    turns += 1
                else:
                    over.wait(0.005)
        finally:
            over.set()
        return turns

    with ThreadPoolExecutor(len(racers)) as pool:
        return list(pool.map(run, racers))


def test_eight_workers_racing_for_five_hundred_runs_take_each_once_and_lose_none() -> None:
    witness = Witness()
    with dynoxide() as endpoint, metered(endpoint, SystemClock()) as table:
        for run in RUNS:
            start(table.engine, run)
        # Each as at an engine of its own: only the table keeps them apart.
        legacy: list[Racer] = [LegacyRacer(table.elsewhere(), witness) for _ in range(4)]
        exchanging: list[Racer] = [
            ExchangeRacer(table.elsewhere(), witness, f"racer-{number}", eager=number % 2)
            for number in range(4)
        ]
        with table.measured() as spent:
            turns = _race(legacy + exchanging, witness)
        ledger.state("run of 500 raced for by 8 workers", spent.each(len(RUNS)))
        kinds = {run: _kinds(table, run) for run in RUNS}
    assert all(turns), "a race needs eight racers"
    assert witness.double_claims == []
    assert witness.closed == Counter(RUNS)
    expected = [(run, seq, 1) for run in RUNS for seq in range(1, _activities(run) + 1)]
    assert witness.attempts == Counter(expected)
    assert kinds == {run: _wanted(run) for run in RUNS}


def _kinds(table: Metered, run: str) -> list[EventType]:
    head = table.engine.store.get(Head, keys.head("main", run))
    assert head is not None
    assert head.status is Status.COMPLETED
    events = history.load(table.engine, head)
    assert [event.seq for event in events] == list(range(1, head.length + 1))
    return [event.event.type for event in events]


def _wanted(run: str) -> list[EventType]:
    step_events = [EventType.ACTIVITY_SCHEDULED, EventType.ACTIVITY_COMPLETED]
    return [EventType.STARTED, *step_events * _activities(run), EventType.COMPLETED]
