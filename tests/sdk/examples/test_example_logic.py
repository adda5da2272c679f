"""The workflows of the examples, in process and in skipped time."""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assay import errors, testing, workflow

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
Load = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Import the worker of an example; what it registers is forgotten afterwards."""
    monkeypatch.setattr(workflow, "default_registry", workflow.Registry())

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(
            "example_worker", EXAMPLES / name / "worker.py"
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["example_worker"] = module
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("example_worker", None)


@pytest.fixture
def env(load: Load) -> Iterator[testing.Environment]:
    with testing.Environment(replay_each_step=True) as env:
        yield env


def kinds(run: testing.Run[Any]) -> list[str]:
    return [event.event_type for event in run.history]


def activities(run: testing.Run[Any]) -> list[str]:
    done = [event for event in run.history if event.event_type == "ActivityCompleted"]
    return [event.payload["name"] for event in done]


def test_hello_greets_whom_it_is_told(env: testing.Environment, load: Load) -> None:
    assert env.start(load("hello").hello, "Ada").result() == "Hello, Ada!"


# -- nightly-report ------------------------------------------------------------------------------


def test_a_report_handles_each_anomaly_in_a_child(env: testing.Environment, load: Load) -> None:
    example = load("nightly-report")
    run = env.start(example.nightly_report, example.Request("eu-west-1"))
    report = run.result()

    assert (report.region, report.anomalies_handled) == ("eu-west-1", 3)
    assert [child.workflow_id for child in run.children] == [
        f"{report.report_id}-anomaly-{number}" for number in (1, 2, 3)
    ]


def test_the_history_of_a_report_is_the_one_on_its_page(
    env: testing.Environment, load: Load
) -> None:
    example = load("nightly-report")
    run = env.start(example.nightly_report, example.Request("eu-west-1"))
    run.result()

    assert kinds(run) == [
        "WorkflowStarted",
        "SideEffectRecorded",
        "ActivityScheduled",
        "ActivityCompleted",
        *["ChildWorkflowStarted"] * 3,
        *["ChildWorkflowCompleted"] * 3,
        "WorkflowCompleted",
    ]


def test_a_report_keeps_its_id_when_the_worker_of_its_scan_dies(
    env: testing.Environment, load: Load
) -> None:
    example = load("nightly-report")
    attempts: list[str] = []

    def scan(region: str) -> list[Any]:
        attempts.append(region)
        if len(attempts) == 1:
            raise testing.WorkerDiedError
        return []

    env.activity("scan_anomalies", scan)
    run = env.start(example.nightly_report, example.Request("eu-west-1"))

    assert run.result().report_id == run.history[1].payload["value"]
    assert len(attempts) == 2


# -- approval ------------------------------------------------------------------------------------


def decide(env: testing.Environment, example: ModuleType, action: str) -> testing.Run[Any]:
    run = env.start(example.approve_and_deploy, example.Request("abc123", "staging"))
    env.advance("1h")
    run.signal("step_action", {"step": "Approval", "action": action, "user": "ada"})
    return run


def steps(run: testing.Run[Any]) -> list[tuple[str, str]]:
    return [(step["name"], step["status"]) for step in run.query("pipeline_state")["steps"]]


def test_what_was_approved_is_deployed(env: testing.Environment, load: Load) -> None:
    example = load("approval")
    run = decide(env, example, "approve")

    assert run.result() == example.Approved("registry.example.com/app:abc123", "staging", "ada")
    assert run.search_attributes == {"approver": "ada"}
    assert steps(run) == [("Build", "done"), ("Approval", "done"), ("Deploy", "done")]
    state = run.query("pipeline_state")
    assert (state["status"], state["current_step"]) == ("done", 3)
    assert [(entry["time"], entry["step"], entry["msg"]) for entry in state["log"]] == [
        ("00:00:00", 1, "built registry.example.com/app:abc123"),
        ("01:00:00", 2, "approved by ada"),
        ("01:00:00", 3, "deployed to staging"),
    ]


def test_a_run_that_waits_for_approval_offers_the_actions(
    env: testing.Environment, load: Load
) -> None:
    example = load("approval")
    run = env.start(example.approve_and_deploy, example.Request("abc123", "staging"))
    state = run.query("pipeline_state")

    assert (state["status"], state["current_step"]) == ("running", 2)
    assert state["steps"][1]["actions"] == ["approve", "reject"]
    assert steps(run) == [("Build", "done"), ("Approval", "running"), ("Deploy", "waiting")]


def test_what_was_rejected_is_cancelled(env: testing.Environment, load: Load) -> None:
    run = decide(env, load("approval"), "reject")

    with pytest.raises(errors.RunCancelledError):
        run.result()
    assert steps(run) == [("Build", "done"), ("Approval", "cancelled"), ("Deploy", "skipped")]
    assert activities(run) == ["build"]


# -- order-saga ----------------------------------------------------------------------------------


def test_an_order_is_shipped(env: testing.Environment, load: Load) -> None:
    example = load("order-saga")
    run = env.start(example.order, example.Order("1", 20, "Main St 5"))

    assert run.result() == example.Receipt("payment of 20", "parcel 1")
    assert activities(run) == ["reserve_inventory", "charge_payment", "ship_order"]


@pytest.mark.parametrize(
    ("total", "address", "kind", "done"),
    [
        (2000, "Main St 5", "CARD_DECLINED", ["reserve_inventory", "release_inventory"]),
        (
            20,
            "nowhere",
            "NOT_FOUND",
            ["reserve_inventory", "charge_payment", "refund_payment", "release_inventory"],
        ),
    ],
)
def test_an_order_that_fails_undoes_what_was_done(
    total: int, address: str, kind: str, done: list[str], env: testing.Environment, load: Load
) -> None:
    example = load("order-saga")
    run = env.start(example.order, example.Order("1", total, address))

    with pytest.raises(errors.RunFailedError) as failed:
        run.result()
    assert failed.value.failure.kind == kind
    assert activities(run) == done


def test_an_order_that_is_cancelled_undoes_what_was_done(
    env: testing.Environment, load: Load
) -> None:
    example = load("order-saga")
    env.activity("ship_order", lambda: "parcel", takes="4m")
    run = env.start(example.order, example.Order("1", 20, "Main St 5"))
    env.advance("1m")
    run.cancel()

    with pytest.raises(errors.RunCancelledError):
        run.result()
    assert activities(run)[-2:] == ["refund_payment", "release_inventory"]


# -- counter -------------------------------------------------------------------------------------


def test_the_counter_replies_and_rejects(env: testing.Environment, load: Load) -> None:
    example = load("counter")
    run = env.start(example.counter, example.Start(0), messages=[("increment", {"amount": 3})])

    def rejected(name: str, payload: Any) -> str:
        with pytest.raises(errors.RequestRejectedError) as error:
            run.request(name, payload)
        return error.value.kind

    assert run.request("increment", {"amount": 4}) == {"value": 7}
    assert rejected("decrement", {"amount": 10}) == "OUT_OF_RANGE"
    assert rejected("increment", {"amount": "four"}) == "INVALID"
    assert rejected("double", None) == "NOT_FOUND"
    assert run.request("decrement", {"amount": 5}) == {"value": 2}
    assert run.request("finish") == {"message": "finishing"}
    assert run.result() == example.Final(2)


def test_a_second_start_of_a_counter_reaches_the_first(
    env: testing.Environment, load: Load
) -> None:
    example = load("counter")
    first = env.start(example.counter, example.Start(1), id="my-counter")
    env.start(
        example.counter,
        example.Start(999),
        id="my-counter",
        id_conflict_policy="use_existing",
        messages=[("increment", {"amount": 2})],
    )
    first.signal("finish")

    assert first.result() == example.Final(3)


# -- worker-pool ---------------------------------------------------------------------------------


def test_the_pool_does_every_job(env: testing.Environment, load: Load) -> None:
    example = load("worker-pool")
    summary = env.start(example.worker_pool, example.Plan(workers=3, jobs=25)).result()

    assert summary.total == 2 * sum(range(1, 26))
    assert sorted(done.job for done in summary.processed) == list(range(1, 26))


def test_no_more_jobs_run_at_once_than_there_are_workers(
    env: testing.Environment, load: Load
) -> None:
    example = load("worker-pool")
    env.activity("double", lambda job: job * 2, takes="1m")
    began = env.now
    summary = env.start(example.worker_pool, example.Plan(workers=3, jobs=6)).result()

    assert (env.now - began).total_seconds() == 120
    assert sorted(done.worker for done in summary.processed) == [1, 1, 2, 2, 3, 3]


# -- poller --------------------------------------------------------------------------------------


def test_the_poller_looks_until_it_is_ready(
    env: testing.Environment, load: Load, caplog: pytest.LogCaptureFixture
) -> None:
    example = load("poller")
    caplog.set_level(logging.INFO, "poller")
    began = env.now
    run = env.start(example.poller, example.Job("import", ready_after=8))

    assert run.result() == example.Ready("import", 8)
    assert (env.now - began).total_seconds() == 7 * 60
    assert len(env.runs) == 3
    assert caplog.messages[-1] == "looking at import, time 8"


def test_the_history_of_a_poller_stays_short(env: testing.Environment, load: Load) -> None:
    example = load("poller")
    env.start(example.poller, example.Job("import", ready_after=300)).result()

    assert max(len(run.history) for run in env.runs) <= 14
