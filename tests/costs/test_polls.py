"""A poll costs the same however many finished runs the table holds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from typing import Any

from tests.costs import ledger
from tests.costs.metered import Metered, Price
from tests.costs.workers import COMPLETE, ExchangeWorker, LegacyWorker, start, step

Item = dict[str, dict[str, Any]]


def test_a_poll_costs_the_same_with_ten_thousand_finished_runs_as_with_ten(
    table: Metered,
) -> None:
    _finish_one(table)
    _copy_finished(table, range(1, 10))
    few = _prices(table)
    _copy_finished(table, range(10, 10_000))
    many = _prices(table)
    for what, price in many.items():
        ledger.state(f"{what} beside 10,000 finished runs", price)
    assert many == few


def _finish_one(table: Metered) -> None:
    """A run with a queued activity, so that both kinds of items are left behind."""
    worker = LegacyWorker(table)
    start(table.engine, "finished-0")
    worker.commit(worker.take_workflow(), step(1))
    worker.complete(worker.take_activity())
    worker.commit(worker.take_workflow(), COMPLETE)


def _copy_finished(table: Metered, numbers: range) -> None:
    """Put the finished run again under other names: its items as they stand, in batches,
    because twenty requests for each of ten thousand runs would take minutes."""
    client = table.client()
    name = table.engine.store.config.name
    items = [
        item for item in client.scan(TableName=name)["Items"] if _belongs_to_template(item)
    ]
    assert len(items) == 3
    copies = (_copy(item, number) for number in numbers for item in items)
    requests = ({name: list(some)} for some in batched(map(_put, copies), 25))
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda one: client.batch_write_item(RequestItems=one), requests):
            assert answer["UnprocessedItems"] == {}


def _belongs_to_template(item: Item) -> bool:
    pk = item["pk"]["S"]
    return pk.endswith("finished-0") or (pk.startswith("act") and "copy" not in pk)
