"""What it costs until a workflow has reacted to a signal, a timer, a child."""

from assay_engine.app import notices
from assay_engine.core import keys
from assay_engine.core.run import Head
from tests.costs import ledger
from tests.costs.metered import Metered
from tests.costs.workers import COMPLETE, INPUT, QUEUE, Command, ExchangeWorker, Task, signal, start

ROUNDS = 20
WAIT: Command = {"type": "WaitForSignal", "name": "approved"}


def _timer(seq: int) -> Command:
    return {"type": "ScheduleTimer", "seq": seq, "duration_secs": 0.25}


def _child(number: int) -> Command:
    return {
        "type": "StartChildWorkflow",
        "workflow_type": "Child",
        "workflow_id": f"o-1-child-{number}",
        "input": INPUT,
        "task_queue": QUEUE,
    }


def _taken(table: Metered) -> tuple[ExchangeWorker, Task]:
    worker = ExchangeWorker(table)
    start(table.engine, "o-1")
    return worker, worker.take_workflow()


def test_a_signal_costs_at_most_seven_write_units_until_the_workflow_has_reacted(
    table: Metered,
) -> None:
    worker, task = _taken(table)
    version = worker.commit(task, [WAIT])["version"]
    with table.measured() as spent:
        for number in range(ROUNDS):
            table.clock.advance(1)  # a burst moves the key once a second, this is no burst
            signal(table.engine, "o-1", "approved", {"by": "ada", "number": number})
            task = worker.take_workflow(cached=[{"run": task["run"], "seq": version}])
            version = worker.commit(task, [WAIT])["version"]
    price = spent.each(ROUNDS)
    ledger.state("signal", price)
    assert price.write_units <= 7


def test_a_timer_costs_at_most_seven_write_units_until_the_workflow_has_reacted(
    table: Metered,
) -> None:
    worker, task = _taken(table)
    version = worker.commit(task, [_timer(1)])["version"]
    with table.measured() as spent:
        for seq in range(2, ROUNDS + 2):
            table.clock.advance(0.5)
            task = worker.take_workflow(cached=[{"run": task["run"], "seq": version}])
            version = worker.commit(task, [_timer(seq)])["version"]
    price = spent.each(ROUNDS)
    ledger.state("timer", price)
    assert price.write_units <= 7


def test_a_child_costs_at_most_eighteen_write_units_until_its_parent_has_reacted(
    table: Metered,
) -> None:
    worker, task = _taken(table)
    version = worker.commit(task, [_child(0)])["version"]
    with table.measured() as spent:
        for number in range(ROUNDS):
            _run_child(table, worker, number)
            task = worker.take_workflow(cached=[{"run": task["run"], "seq": version}])
            version = worker.commit(task, [_child(number + 1)])["version"]
    price = spent.each(ROUNDS)
    ledger.state("child", price)
    assert price.write_units <= 18


def _run_child(table: Metered, worker: ExchangeWorker, number: int) -> None:
    """From its first task to the notice that the stream brings to its parent."""
    worker.commit(worker.take_workflow(), [COMPLETE])
    child = table.engine.store.get(Head, keys.head("main", f"o-1-child-{number}"))
    assert child is not None
    notices.closed(table.engine, [child])
