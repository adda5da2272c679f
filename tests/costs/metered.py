"""An engine on a table that is counted: what was asked of DynamoDB, and what it charged."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest

from assay_devserver import data_dir
from assay_devserver.dynoxide import Dynoxide, find_binary
from assay_engine.app.engine import Engine, Memory, Options
from assay_engine.app.ports import Clock
from assay_engine.aws.blobs import FileBlobs
from assay_engine.store.dynamo import DynamoStore
from assay_engine.store.meter import Meter, Usage
from assay_engine.store.tables import TableConfig
from assay_engine.system import SystemEntropy
from assay_engine.wakeups import LocalWakeups


class OwnClock:
    """Moves a little with every look, so that no two events have the same time."""

    def __init__(self) -> None:
        # With the seven digits behind the point that a real clock has: bytes are what counts.
        self._now = 1_763_467_200.1234567

    def now(self) -> float:
        self._now += 0.0001371
        return self._now

    def advance(self, secs: float) -> None:
        self._now += secs


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    engine: Engine
    meter: Meter

    @property
    def clock(self) -> OwnClock:
        """For tests that have moved it; those on real time have none to move."""
        clock = self.engine.clock
        assert isinstance(clock, OwnClock)
        return clock

    def elsewhere(self) -> "Metered":
        """The same table as another process sees it, which remembers nothing of this one."""
        return Metered(engine=replace(self.engine, memory=Memory()), meter=self.meter)

    @contextmanager
    def measured(self) -> Iterator["Spent"]:
        """What the block costs."""
        spent, before = Spent(), self.meter.usage()
        yield spent
        spent.usage = self.meter.usage() - before


class Spent:
    """A difference of two readings; empty until its block has ended."""

    usage = Usage()

    def each(self, count: int) -> "Price":
        usage = self.usage
        return Price(
            requests=round(usage.total / count, 3),
            write_units=round(usage.write_units / count, 3),
            read_units=round(usage.read_units / count, 3),
            queries=round(usage.requests["Query"] / count, 3),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Of one thing, on average."""

    requests: float
    write_units: float
    read_units: float
    queries: float


def binary() -> Path:
    found = find_binary()
    if found is None:
        pytest.skip("no dynoxide binary: `make test` installs it where Node is present")
    return found


@contextmanager
def dynoxide() -> Iterator[str]:
    """A DynamoDB of our own, as `assay serve --memory` runs it: with the index that keeps its
    thousandth write as fast as its first."""
    directory = data_dir.in_memory()
    store = Dynoxide(binary(), directory.database)
    store.start()
    try:
        yield store.endpoint
    finally:
        store.stop()
        directory.release()


@contextmanager
def metered(endpoint: str, clock: Clock) -> Iterator[Metered]:
    """A fresh table on a DynamoDB endpoint, gone afterwards."""
    meter = Meter()
    config = TableConfig(
        name=f"costs-{uuid4().hex}", endpoint=endpoint, credentials=("any", "thing")
    )
    store = DynamoStore(config, meter)
    store.create_table()
    blobs = tempfile.mkdtemp(prefix="assay-costs-")
    engine = Engine(
        store=store,
        blobs=FileBlobs(blobs),
        wakeups=LocalWakeups(),
        clock=clock,
        entropy=SystemEntropy(),
        options=Options(shared=False),
        memory=Memory(),
    )
    try:
        yield Metered(engine=engine, meter=meter)
    finally:
        store.delete_table()
        store.close()
        shutil.rmtree(blobs)
