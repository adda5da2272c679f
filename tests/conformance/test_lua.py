"""The Lua client of the seeds, unchanged, against a real `assay serve`."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import engine_process
from tests.conformance.places import ABSENT, SHARED

LUA = "lua5.4"
RUN = SHARED / "lua" / "run.lua"
CALLS = Path(__file__).with_name("calls.lua")
FIRST_LINE_OF_WORKER = "-- nightly-report — cron"
DEADLINE_SECS = 60.0


@pytest.fixture(scope="module")
def engine_url() -> Iterator[str]:
    if not SHARED.exists():
        pytest.skip(ABSENT)
    if shutil.which(LUA) is None:
        pytest.skip("lua5.4 is not installed: apt-get install lua5.4 lua-socket lua-cjson")
    with engine_process.serve({"ASSAY_WF_DISPATCH_TIMEOUT_SECS": "3"}) as url:
        yield url


def _environment(url: str, **more: str) -> dict[str, str]:
    return {**os.environ, "ASSAY_ENGINE_URL": url, **more}


def _get(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}/api/v1{path}", timeout=10) as answer:
        return json.load(answer)


def _post(url: str, path: str, body: Any) -> Any:
    request = urllib.request.Request(
        f"{url}/api/v1{path}",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


@pytest.fixture
def worker(engine_url: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The worker of seed 000, cut out of its page as it stands."""
    (page,) = (SHARED / "seeds").glob("000*.txt")
    text = page.read_text("utf-8")
    script = tmp_path / "worker.lua"
    script.write_text(text[text.index(FIRST_LINE_OF_WORKER) :], "utf-8")
    process = subprocess.Popen(
        [LUA, RUN, script], env=_environment(engine_url), stderr=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def _ended(url: str, run: str, worker: subprocess.Popen[str]) -> Any:
    until = time.monotonic() + DEADLINE_SECS
    while time.monotonic() < until and worker.poll() is None:
        record = _get(url, f"/workflows/{run}")
        if record["completed_at"] is not None:
            return record
        time.sleep(0.2)
    worker.kill()
    raise AssertionError(f"{run} did not end; its worker said:\n{worker.communicate()[1]}")


def test_the_nightly_report_of_the_seeds_completes_with_its_children(
    engine_url: str, worker: subprocess.Popen[str]
) -> None:
    start = {
        "workflow_type": "NightlyReport",
        "workflow_id": "nightly-1",
        "task_queue": "default",
        "input": {"region": "eu-west-1"},
    }
    _post(engine_url, "/workflows", start)
    record = _ended(engine_url, "nightly-1", worker)
    result = json.loads(record["result"])
    report = result["report_id"]
    assert (record["status"], result) == (
        "COMPLETED",
        {"anomalies_handled": 3, "region": "eu-west-1", "report_id": report},
    )
    kinds = [event["event_type"] for event in _get(engine_url, "/workflows/nightly-1/events")]
    one_child = ["ChildWorkflowStarted", "ChildWorkflowCompleted"]
    assert kinds == [
        "WorkflowStarted",
        "SideEffectRecorded",
        "ActivityScheduled",
        "ActivityCompleted",
        *one_child * 3,
        "WorkflowCompleted",
    ]
    children = _get(engine_url, "/workflows/nightly-1/children")
    assert [(child["id"], child["parent_id"], child["status"]) for child in children] == [
        (f"{report}-anomaly-{number}", "nightly-1", "COMPLETED") for number in (1, 2, 3)
    ]
    names = [json.loads(one["workflows"] or "[]") for one in _get(engine_url, "/workers")]
    assert ["HandleAnomaly", "NightlyReport"] in [sorted(one) for one in names]


def test_every_call_of_the_seed_client_is_answered_as_it_expects(engine_url: str) -> None:
    ended = subprocess.run(
        [LUA, RUN, CALLS],
        env=_environment(engine_url, ASSAY_TEST_PREFIX="calls"),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECS,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "every call answered as it should\n"), (
        ended.stderr
    )
