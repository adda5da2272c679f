"""What a sequential step costs: one activity, and the workflow's reaction to its outcome.

The budgets are those of the design's "Numbers to reach".
"""

from tests.costs import ledger
from tests.costs.metered import Metered, Price
from tests.costs.workers import (
    COMPLETE,
    ExchangeWorker,
    FusedRun,
    LegacyWorker,
    grown,
    start,
    step,
)

STEPS = 120


def _fused(table: Metered) -> FusedRun:
    """A run in its worker's hands, a few steps under way."""
    worker = ExchangeWorker(table)
    start(table.engine, "o-1")
    run = FusedRun(worker, worker.take_workflow())
    _go_on(run, 5)
    return run


def _go_on(run: FusedRun, steps: int) -> None:
    for _ in range(steps):
        run.go_on()


def test_a_fused_step_is_one_small_write_and_a_share_of_a_flush(table: Metered) -> None:
    run = _fused(table)
    with table.measured() as spent:
        _go_on(run, STEPS)
    price = spent.each(STEPS)
    ledger.state("fused step", price)
    assert price.requests <= 1.5
    assert price.write_units <= 2
    assert price.read_units <= 1
    assert price.queries == 0


def test_a_legacy_step_stays_in_its_budget_idle_polls_included(table: Metered) -> None:
    worker = LegacyWorker(table)
    start(table.engine, "o-1")
    _legacy_steps(worker, range(1, 6))
    with table.measured() as spent:
        _legacy_steps(worker, range(6, 6 + STEPS))
    price = spent.each(STEPS)
    ledger.state("legacy step", price)
    assert price.requests <= 14
    assert price.write_units <= 13


def _legacy_steps(worker: LegacyWorker, seqs: range) -> None:
    for seq in seqs:
        worker.commit(worker.take_workflow(), step(seq))
        worker.complete(worker.take_activity())


def test_start_and_finish_of_a_run_cost_at_most_eight_write_units(table: Metered) -> None:
    worker = ExchangeWorker(table)
    start(table.engine, "o-1")
    worker.commit(worker.take_workflow(), [COMPLETE])
    with table.measured() as spent:
        start(table.engine, "o-2")
        worker.commit(worker.take_workflow(), [COMPLETE])
    price = spent.each(1)
    ledger.state("start and finish", price)
    assert price.write_units <= 8


def test_a_step_costs_the_same_after_ten_thousand_events_as_after_ten(table: Metered) -> None:
    few = _price_after(table, "short", 10)
    many = _price_after(table, "long", 10_000)
    ledger.state("fused step after 10 events", few)
    ledger.state("fused step after 10,000 events", many)
    assert many.requests <= 1.2 * few.requests
    assert many.write_units <= 1.2 * few.write_units
    assert (few.read_units, many.read_units) == (0, 0)


def _price_after(table: Metered, run_id: str, events: int) -> Price:
    """What a fused step costs when the history is that long."""
    worker = ExchangeWorker(table)
    run = FusedRun(worker, grown(table, worker, run_id, events))
    with table.measured() as spent:
        _go_on(run, 40)
    return spent.each(40)
