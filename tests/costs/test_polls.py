"""A poll costs the same however many finished runs the table holds."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import boto3

from assay_engine.core.keys import ACTIVITY, HEAD, join
from assay_engine.store.dynamo import DynamoStore
from tests.costs import ledger
from tests.costs.metered import Metered, Price
from tests.costs.workers import COMPLETE, ExchangeWorker, LegacyWorker, start, step

Item = dict[str, Any]


def test_a_poll_costs_the_same_with_ten_thousand_finished_runs_as_with_ten(
    table: Metered,
) -> None:
    _finish_one(table)
    raw = _RawTable(table)
    finished = raw.finished()
    raw.put(_copies(finished, range(1, 10)))
    few = _prices(table)
    raw.put(_copies(finished, range(10, 10_000)))
    many = _prices(table)
    for what, price in many.items():
        ledger.state(f"{what}, beside 10,000 finished runs", price)
    assert many == few


def _finish_one(table: Metered) -> None:
    """A run with a queued activity, so that both kinds of what a poll could see are there."""
    worker = LegacyWorker(table)
    start(table.engine, "finished")
    worker.commit(worker.take_workflow(), step(1))
    worker.complete(worker.take_activity())
    worker.commit(worker.take_workflow(), COMPLETE)


class _RawTable:
    """The table as DynamoDB shows it. Finished runs are copied by it in batches, because ten
    thousand of them through the engine would take minutes."""

    def __init__(self, table: Metered) -> None:
        store = table.engine.store
        assert isinstance(store, DynamoStore)
        self._name = store.config.name
        self._client = boto3.client(
            "dynamodb",
            endpoint_url=store.config.endpoint,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="thing",
        )

    def finished(self) -> list[Item]:
        """The head and the activity of the run that is finished."""
        items = self._client.scan(TableName=self._name)["Items"]
        head, activity = (i for i in items if i["sk"]["S"] == HEAD or _is_activity(i))
        return [head, activity]

    def put(self, items: Iterable[Item]) -> None:
        puts = ({"PutRequest": {"Item": item}} for item in items)
        while batch := list[Any](islice(puts, 25)):
            answer = self._client.batch_write_item(RequestItems={self._name: batch})
            assert answer["UnprocessedItems"] == {}


def _is_activity(item: Item) -> bool:
    return bool(item["pk"]["S"].startswith(join(ACTIVITY, "")))


def _copies(items: list[Item], numbers: range) -> Iterator[Item]:
    for number in numbers:
        for item in items:
            yield {**item, "pk": {"S": f"{item['pk']['S']}{number}"}}


def _prices(table: Metered) -> dict[str, Price]:
    """Of polls that find nothing, and of those that find a run or an activity."""
    legacy, exchanging = LegacyWorker(table), ExchangeWorker(table)
    exchanging.poll()  # the first exchange of a worker writes its record
    legacy.poll_workflow()  # and the first poll of a queue looks up its namespaces
    legacy.poll_activity()
    prices = {
        "idle legacy poll for workflows": _price(table, legacy.poll_workflow),
        "idle legacy poll for activities": _price(table, legacy.poll_activity),
        "idle exchange poll": _price(table, exchanging.poll),
    }
    start(table.engine, table.engine.entropy.token(8))
    (run,) = exchanging.take_workflows()
    exchanging.commit(run, [step(1), step(2)])
    prices["legacy poll that takes an activity"] = _price(table, legacy.poll_activity)
    prices["exchange poll that takes an activity"] = _price(table, exchanging.poll)
    start(table.engine, table.engine.entropy.token(8))
    prices["legacy poll that takes a run"] = _price(table, legacy.poll_workflow)
    start(table.engine, table.engine.entropy.token(8))
    prices["exchange poll that takes a run"] = _price(table, exchanging.poll)
    return prices


def _price(table: Metered, poll: Callable[[], object]) -> Price:
    with table.measured() as spent:
        poll()
    return spent.each(1)
