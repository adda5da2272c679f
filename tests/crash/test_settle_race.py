"""An outcome lands between the two writes of a claim that settles: the claim has then seen it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay_engine.app.engine import Engine, Memory, Options
from assay_engine.app.ports import S
from assay_engine.aws.blobs import FileBlobs
from assay_engine.core import keys, limits
from assay_engine.core.change import Change
from assay_engine.core.keys import Key
from assay_engine.core.run import Head, Status
from assay_engine.store.memory import MemoryStore
from assay_engine.store.meter import Meter
from assay_engine.system import SystemEntropy
from assay_engine.wakeups import LocalWakeups
from tests.costs.metered import Metered, OwnClock
from tests.costs.workers import COMPLETE, ExchangeWorker, LegacyWorker, start, step


class InterruptedStore(MemoryStore):
    """Something else happens before the second update from now."""

    def __init__(self) -> None:
        super().__init__()
        self._updates = 0
        self._interrupt: Callable[[], object] | None = None

    def interrupt_second_update(self, by: Callable[[], object]) -> None:
        self._updates, self._interrupt = 0, by

    def update(self, kind: type[S], key: Key, change: Change) -> S:
        self._updates += 1
        if self._updates == 2 and self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            interrupt()
        return super().update(kind, key, change)


@pytest.fixture
def store() -> InterruptedStore:
    return InterruptedStore()


@pytest.fixture
def table(store: InterruptedStore, tmp_path: Path) -> Metered:
    engine = Engine(
        store=store,
        blobs=FileBlobs(str(tmp_path)),
        wakeups=LocalWakeups(),
        clock=OwnClock(),
        entropy=SystemEntropy(),
        options=Options(shared=False),
        memory=Memory(),
    )
    return Metered(engine=engine, meter=Meter())


def _activity_under_way(table: Metered, worker: LegacyWorker) -> Callable[[], object]:
    """A run whose debt is looked after when it is next found; returns what ends its activity."""
    start(table.engine, "o-1")
    worker.commit(worker.take_workflow(), step(1))
    activity = worker.take_activity()
    table.clock.advance(limits.OWED_SECS + 1)
    return lambda: worker.complete(activity)


def _status(table: Metered) -> Status:
    head = table.engine.store.get(Head, keys.head("main", "o-1"))
    assert head is not None
    return head.status


def test_a_legacy_task_has_seen_every_event_it_was_shipped(
    table: Metered, store: InterruptedStore
) -> None:
    worker = LegacyWorker(table)
    store.interrupt_second_update(_activity_under_way(table, worker))
    task = worker.take_workflow()
    assert task.history[-1].type == "ActivityCompleted"
    worker.commit(task, COMPLETE)
    assert _status(table) is Status.COMPLETED


def test_an_exchange_task_brings_what_made_it_due(table: Metered, store: InterruptedStore) -> None:
    worker = ExchangeWorker(table)
    store.interrupt_second_update(_activity_under_way(table, LegacyWorker(table)))
    task = worker.take_workflow()
    assert task["history"][-1]["event_type"] == "ActivityCompleted"
    assert task["version"] == task["history"][-1]["seq"]
    assert worker.commit(task, [COMPLETE])["status"] == "accepted"
    assert _status(table) is Status.COMPLETED
