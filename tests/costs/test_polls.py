"""A poll costs the same however many finished runs the table holds."""

from collections.abc import Iterator
from typing import Any

from botocore.session import Session

from tests.costs import ledger
from tests.costs.metered import Metered, Price
from tests.costs.workers import COMPLETE, ExchangeWorker, LegacyWorker, start, step

Item = dict[str, dict[str, Any]]
_AT_ONCE = 25


def test_a_poll_costs_the_same_with_ten_thousand_finished_runs_as_with_ten(
    table: Metered, endpoint: str
) -> None:
    _finish_one(table)
    raw = _RawTable(endpoint, table)
    finished = raw.items()
    raw.put(_copies(finished, range(1, 10)))
    few = _prices(table)
    raw.put(_copies(finished, range(10, 10_000)))
    many = _prices(table)
    for what, price in many.items():
        ledger.state(f"{what} beside 10,000 finished runs", price)
    assert many == few


def _finish_one(table: Metered) -> None:
    """A run with a queued activity, so that every kind of item is left behind."""
    worker = LegacyWorker(table)
    start(table.engine, "finished-0")
    worker.commit(worker.take_workflow(), step(1))
    worker.complete(worker.take_activity())
    worker.commit(worker.take_workflow(), COMPLETE)


def _prices(table: Metered) -> dict[str, Price]:
    """Of polls that find nothing, and of polls that find one thing."""
    legacy, exchanging = LegacyWorker(table), ExchangeWorker(table)
    exchanging.take_workflows()  # the first exchange of a worker writes its record
    found = {
        "idle legacy poll of workflow tasks": _price(table, legacy.poll_workflow),
        "idle legacy poll of activities": _price(table, legacy.poll_activity),
        "idle exchange poll of both": _price(table, exchanging.poll),
    }
    start(table.engine, f"open-{table.clock.now()}")
    ...
