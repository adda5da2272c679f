"""Long histories: thousands of signals before anybody works, twenty thousand events in one run.

Nothing is lost, the run ends, and what it took is stated.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from assay import workflow
from assay.workflow import Registry
from assay_engine.app import queries
from assay_engine.app.names import RunRef
from assay_engine.app.queries import EventPage
from assay_engine.app.views import EventView, RunView
from assay_engine.core.errors import BusyError
from assay_engine.core.history import EventType
from assay_engine.system import SystemClock
from tests.costs import ledger
from tests.costs.metered import Metered, metered
from tests.costs.sdk_worker import working
from tests.costs.workers import signal, start

SIGNALS = 5_000
EFFECTS = 4_999
PATIENCE_SECS = 120.0
registry = Registry()


@registry.define("Collect")
async def collect(ctx: workflow.Context, _input: object) -> list[int]:
    return [await ctx.wait_for_signal("number") for _ in range(SIGNALS)]


@registry.define("Long")
async def long(ctx: workflow.Context, _input: object) -> int:
    """Four rounds of side effects, each when a signal asks for it; 20,000 events in the end."""
    total = 0
    for _ in range(4):
        await ctx.wait_for_signal("round")
        for number in range(EFFECTS):
            total += await ctx.side_effect("number", partial(int, number))
    await ctx.wait_for_signal("end")
    return total


@pytest.fixture
def table(endpoint: str) -> Iterator[Metered]:
    # The worker lives on real time, so the engine does too.
    with metered(endpoint, SystemClock()) as fresh:
        yield fresh


def test_five_thousand_signals_to_a_run_that_nobody_works_are_all_delivered(
    table: Metered,
) -> None:
    start(table.engine, "o-1", "Collect")
    with table.measured() as spent, ThreadPoolExecutor(8) as senders:
        list(senders.map(lambda number: _signal_until_taken(table, number), range(SIGNALS)))
    ledger.state("signal of a burst of 5,000", spent.each(SIGNALS))
    with table.measured() as spent, working(table.engine, registry):
        run = _ended(table)
    ledger.state("all work on 5,000 signals", spent.each(1))
    sent = [event.payload["payload"] for event in _events(table) if _is_signal(event)]
    assert sorted(sent) == list(range(SIGNALS))
    assert (run.head.status, run.result) == ("COMPLETED", str(sent).replace(" ", ""))


def _signal_until_taken(table: Metered, number: int) -> None:
    """As a client does that repeats what is answered with 503."""
    while True:
        try:
            signal(table.engine, "o-1", "number", number)
        except BusyError:
            continue
        return


def test_a_run_of_twenty_thousand_events_is_replayed_in_pages_and_ends(table: Metered) -> None:
    start(table.engine, "o-1", "Long")
    with table.measured() as spent, working(table.engine, registry):
        for number in range(1, 5):
            signal(table.engine, "o-1", "round")
            _until(table, partial(_has_events, number * EFFECTS))
    ledger.state("event of a history of 20,000", spent.each(4 * EFFECTS))
    signal(table.engine, "o-1", "end")
    with table.measured() as spent, working(table.engine, registry):
        run = _ended(table)
    ledger.state("replay of a history of 20,000 events", spent.each(1))
    assert (run.head.status, run.result) == ("COMPLETED", str(4 * sum(range(EFFECTS))))
    with table.measured() as spent:
        events = _events(table)
    ledger.state("reading a history of 20,000 events in pages of 1,000", spent.each(1))
    assert len(events) > 20_000
    assert sum(event.type == EventType.SIDE_EFFECT for event in events) == 4 * EFFECTS


def _is_signal(event: EventView) -> bool:
    return event.type == EventType.SIGNAL_RECEIVED


def _events(table: Metered) -> list[EventView]:
    """The whole history, read in pages, and seen to be gapless."""
    ref, found = RunRef(run_id="o-1", namespace="main"), list[EventView]()
    while page := queries.events(table.engine, ref, EventPage(limit=1000, cursor=len(found))):
        found += page
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    return found


def _has_events(count: int, run: RunView) -> bool:
    return run.head.length > count


def _ended(table: Metered) -> RunView:
    return _until(table, lambda run: not run.head.is_open)


def _until(table: Metered, holds: Callable[[RunView], bool]) -> RunView:
    deadline = time.monotonic() + PATIENCE_SECS
    while True:
        run = queries.describe(table.engine, RunRef(run_id="o-1", namespace="main"))
        if holds(run):
            return run
        assert time.monotonic() < deadline, run.head
        time.sleep(0.05)
