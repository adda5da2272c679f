"""A worker dies in the middle of its work; another one finishes it, and nothing counts twice."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.processes import Api, WorkerProcess, calling, serving, until, working


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("engine") / "log"
    with serving(log, "--memory", lease_secs=2.0) as serve:
        yield serve.url


@pytest.fixture
def api(url: str) -> Iterator[Api]:
    with calling(url) as api:
        yield api


@pytest.mark.parametrize("kind", ["exchange", "legacy"])
def test_a_worker_killed_in_a_workflow_task_is_succeeded_by_another(
    url: str, api: Api, kind: str, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    run = _start(api, f"{kind}-workflow-task")
    with working(kind, url, journal, HANG_IN="workflow task") as first:
        _wait_for_hang(first)
    with working(kind, url, journal) as second:
        record = api.ended(run)
    assert record["status"] == "COMPLETED"
    assert second.lines() == [["hangs", "workflow task"], ["charge", run, 1], ["ship", run, 1]]
    assert _counts(api, run) == ONCE


@pytest.mark.parametrize("kind", ["exchange", "legacy"])
def test_a_worker_killed_in_an_activity_is_succeeded_by_another(
    url: str, api: Api, kind: str, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    run = _start(api, f"{kind}-activity")
    with working(kind, url, journal, HANG_IN="activity") as first:
        _wait_for_hang(first)
    with working(kind, url, journal) as second:
        record = api.ended(run)
    assert record["status"] == "COMPLETED"
    assert second.lines() == [
        ["charge", run, 1],
        ["hangs", "activity"],
        ["charge", run, 2],
        ["ship", run, 1],
    ]
    assert _counts(api, run) == ONCE


# Whatever was tried twice, it is recorded once.
ONCE = {
    "WorkflowStarted": 1,
    "SignalReceived": 1,
    "SideEffectRecorded": 1,
    "ActivityScheduled": 2,
    "ActivityCompleted": 2,
    "WorkflowCompleted": 1,
}


def _start(api: Api, run: str) -> str:
    assert api.start(run, "Pay", "payments").status_code == 201
    assert api.post(f"/workflows/{run}/signal/go").status_code == 200
    return run


def _wait_for_hang(worker: WorkerProcess) -> None:
    until(lambda: "hangs" in [line[0] for line in worker.lines()] or None, "it hangs")


def _counts(api: Api, run: str) -> dict[str, int]:
    counted = Counter(event["event_type"] for event in api.events(run))
    # Only a worker that thought before the signal came says that it waits for it.
    counted.pop("WorkflowAwaitingSignal", None)
    return dict(counted)
