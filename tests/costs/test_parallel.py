"""Many activities in one batch: what each costs, and that none of them is lost."""

import pytest

from assay_engine.app import history
from assay_engine.core import keys
from assay_engine.core.history import EventType
from assay_engine.core.run import Head, Status
from tests.costs import ledger
from tests.costs.metered import Metered
from tests.costs.workers import COMPLETE, Command, ExchangeWorker, LegacyWorker, start, step

# What the SDK has room for at once.
ROOM = 20


@pytest.mark.parametrize(("activities", "budget"), [(100, 9), (500, 10)])
def test_parallel_activities_by_exchange_stay_in_their_budget(
    table: Metered, activities: int, budget: int
) -> None:
    worker = ExchangeWorker(table)
    start(table.engine, "o-1")
    task = worker.take_workflow()
    with table.measured() as spent:
        answer = worker.commit(task, _batch(activities), eager=ROOM)
        held = [{"run": task["run"], "seq": answer["version"]}]
        mine = answer["activities"]
        while mine:
            for activity in mine:
                assert worker.complete(activity)["status"] == "accepted"
            mine = worker.take_activities(ROOM)
        worker.commit(worker.take_workflow(cached=held), [COMPLETE])
    price = spent.each(activities)
    ledger.state(f"each of {activities} parallel activities by exchange", price)
    assert _outcomes(table) == list(range(1, activities + 1))
    assert price.write_units <= budget


def test_five_hundred_activities_of_one_legacy_batch_all_end(table: Metered) -> None:
    worker = LegacyWorker(table)
    start(table.engine, "o-1")
    with table.measured() as spent:
        worker.commit(worker.take_workflow(), *_batch(500))
        while (activity := worker.poll_activity()) is not None:
            worker.complete(activity)
        worker.commit(worker.take_workflow(), COMPLETE)
    ledger.state("each of 500 parallel activities by legacy calls", spent.each(500))
    assert _outcomes(table) == list(range(1, 501))


def test_a_lua_client_that_sends_its_open_batch_at_every_wake_schedules_nothing_twice(
    table: Metered,
) -> None:
    worker = LegacyWorker(table)
    start(table.engine, "o-1")
    left = _batch(50)
    with table.measured() as spent:
        worker.commit(worker.take_workflow(), *left)
        while left:
            activity = worker.take_activity()
            worker.complete(activity)
            left = [command for command in left if command["seq"] != activity.seq]
            worker.commit(worker.take_workflow(), *(left or [COMPLETE]))
    ledger.state("each of 50 parallel activities by the Lua client", spent.each(50))
    assert _outcomes(table) == list(range(1, 51))


def _batch(count: int) -> list[Command]:
    return [step(seq) for seq in range(1, count + 1)]


def _outcomes(table: Metered) -> list[int]:
    """Seqs of the activities that the completed run has an outcome of, in their order."""
    head = table.engine.store.get(Head, keys.head("main", "o-1"))
    assert head is not None
    assert head.status is Status.COMPLETED
    events = history.load(table.engine, head)
    assert [event.seq for event in events] == list(range(1, head.length + 1))
    assert len(events) == 2 + 2 * sum(e.event.type is EventType.ACTIVITY_SCHEDULED for e in events)
    done = (e.event for e in events if e.event.type is EventType.ACTIVITY_COMPLETED)
    return sorted(event.data["q"] for event in done)
