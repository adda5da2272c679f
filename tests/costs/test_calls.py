"""What runs pay for doing something to each other, and that others pay nothing for it."""

from assay_engine.core import keys
from assay_engine.core.run import Head
from tests.costs import ledger
from tests.costs.metered import Metered
from tests.costs.workers import COMPLETE, Command, ExchangeWorker, FusedRun, Task, start, step

ROUNDS = 20
WAIT: Command = {"type": "WaitForSignal", "name": "go"}


def _call(seq: int, what: str, **fields: object) -> Command:
    named = {"seq": seq, "call": what, "workflow_id": "o-2"}
    return {"type": "CallWorkflow", **named, **fields}


def _two_runs(table: Metered) -> tuple[ExchangeWorker, Task]:
    """`o-2` waits, `o-1` is in its worker's hands."""
    worker = ExchangeWorker(table)
    start(table.engine, "o-2")
    worker.commit(worker.take_workflow(), [WAIT])
    start(table.engine, "o-1")
    return worker, worker.take_workflow()


def _events(table: Metered, run_id: str) -> int:
    head = table.engine.store.get(Head, keys.head("main", run_id))
    assert head is not None
    return head.length


def test_a_signal_between_runs_until_both_have_reacted(table: Metered) -> None:
    worker, task = _two_runs(table)
    with table.measured() as spent:
        for seq in range(1, ROUNDS + 1):
            worker.commit(task, [_call(seq, "signal", name="go", payload={"number": seq})])
            tasks = worker.take_workflows(room=2)
            by_run = {each["run"]["id"]: each for each in tasks}
            worker.commit(by_run["o-2"], [WAIT])
            task = by_run["o-1"]
    assert _events(table, "o-2") == 2 + 2 * ROUNDS
    price = spent.each(ROUNDS)
    ledger.state("signal between runs", price)
    assert price.write_units <= 28


def test_a_monitor_until_it_is_set_up(table: Metered) -> None:
    worker, task = _two_runs(table)
    with table.measured() as spent:
        worker.commit(task, [_call(1, "monitor")])
        head = table.engine.store.get(Head, keys.head("main", "o-2"))
        assert head is not None
        assert head.watched == 1
    ledger.state("monitor", spent.each(1))
    assert spent.each(1).write_units <= 16


def test_a_timer_cancelled_in_a_fused_step_costs_no_request_more(table: Metered) -> None:
    worker = ExchangeWorker(table)
    start(table.engine, "o-1")
    run = FusedRun(worker, worker.take_workflow())
    run.go_on([{"type": "ScheduleTimer", "seq": 1, "duration_secs": 9000}, step(2)])
    with table.measured() as spent:
        run.go_on([{"type": "CancelTimer", "seq": 1}, step(3)])
    assert spent.each(1).requests <= 2, "the write, and perhaps a chunk"
    assert spent.each(1).read_units <= 1
    run.go_on([COMPLETE])
