"""The examples as a user runs them: real processes, a real engine, real time.

One engine and one worker of each example serve all tests of this file.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import mypy.api
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TIMEOUT_SECS = 90

ALL = sorted(folder.name for folder in EXAMPLES.iterdir() if (folder / "worker.py").is_file())
# Need replies to requests, and options of a start, that the engine does not have yet.
NOT_YET: tuple[str, ...] = ()

Program = subprocess.Popen[str]
Run = Callable[..., str]


def _start(*arguments: str | Path, **environment: str) -> Program:
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )


def _read_until(program: Program, text: str) -> str:
    assert program.stdout is not None
    said = ""
    for line in program.stdout:
        said += line
        if text in line:
            return said
    pytest.fail(f"it ended without saying {text!r}: {said}")


def _end(programs: list[Program]) -> list[str]:
    """Stop them at once; return what they complained about."""
    for program in programs:
        program.terminate()
    return [program.communicate(timeout=TIMEOUT_SECS)[1] for program in programs]


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    """The address of an engine with a worker of every example."""
    served = _start("-m", "assay.cli.main", "serve", "--memory", "--port", "0")
    workers: list[Program] = []
    try:
        found = re.search(r"http://\S+", _read_until(served, "listening on"))
        assert found is not None
        for name in ALL:
            url = found.group(0)
            workers.append(_start(EXAMPLES / name / "worker.py", ASSAY_ENGINE_URL=url))
        yield found.group(0)
    finally:
        complaints = _end(workers)
        _end([served])
    assert [worker.returncode for worker in workers] == [0] * len(workers), complaints


@pytest.fixture
def run(engine: str) -> Run:
    """Run a program of an example to its end; return what it prints."""

    def to_the_end(name: str, program: str, *arguments: str) -> str:
        started = _start(EXAMPLES / name / program, *arguments, ASSAY_ENGINE_URL=engine)
        said, complaint = started.communicate(timeout=TIMEOUT_SECS)
        assert (started.returncode, complaint) == (0, ""), said
        return said

    return to_the_end


def _shown_in_readme(name: str) -> str:
    """Return what the page of an example says that it prints."""
    page = (EXAMPLES / name / "README.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return next(str(text) for language, text in blocks if not language)


def test_hello_greets_whom_it_is_told(run: Run) -> None:
    assert run("hello", "start.py", "Ada") == "Hello, Ada!\n"


def test_the_nightly_report_handles_each_anomaly_in_a_child(run: Run) -> None:
    report, *children = run("nightly-report", "start.py", "eu-west-1").splitlines()
    found = re.fullmatch(
        r"Report\(report_id='(rep-[\d-]+)', region='eu-west-1', anomalies_handled=3\)", report
    )

    assert found is not None
    parents = {child.partition("parent ")[2] for child in children}
    assert [child.partition(",")[0] for child in children] == [
        f"{found.group(1)}-anomaly-{number}: COMPLETED" for number in (1, 2, 3)
    ]
    assert [parent.rpartition("-")[0] for parent in parents] == ["NightlyReport"]


def test_the_saga_undoes_what_was_done_as_its_page_says(run: Run) -> None:
    assert run("order-saga", "start.py") == _shown_in_readme("order-saga")


@pytest.mark.skipif("counter" in NOT_YET, reason="the engine has no replies yet")
def test_the_counter_replies_as_its_page_says(run: Run) -> None:
    assert run("counter", "start.py") == _shown_in_readme("counter")


def test_the_pool_does_every_job(run: Run) -> None:
    *lines, total = run("worker-pool", "start.py").splitlines()
    jobs = [line.partition(": ")[2] for line in lines]

    assert sorted(jobs) == sorted(f"job {job} -> {job * 2}" for job in range(1, 13))
    assert total == "total: 156"


def test_the_poller_goes_on_in_new_runs(run: Run) -> None:
    assert run("poller", "start.py").splitlines() == [
        "Ready(name='import', checks=5)",
        "COMPLETED, goes on in another run",
        "COMPLETED, 8 events",
    ]


def test_a_deployment_by_hand_goes_as_its_page_says(engine: str) -> None:
    page = (EXAMPLES / "approval" / "README.md").read_text()
    typed = page.partition("<<'PY'")[2].partition("\n")[2].partition("PY\n")[0]
    started = _start("-c", typed.replace("Client()", f"Client({engine!r})"))
    said, complaint = started.communicate(timeout=TIMEOUT_SECS)

    assert (started.returncode, complaint) == (0, "")
    result, log = map(ast.literal_eval, said.splitlines())
    assert result["approver"] == "ada"
    assert [entry["msg"] for entry in log] == [
        "built registry.example.com/app:abc123",
        "approved by ada",
        "deployed to staging",
    ]


def test_the_demo_shows_a_run_from_its_start_to_its_result() -> None:
    demo = _start(EXAMPLES / "approval" / "demo.py")
    said, complaint = demo.communicate(timeout=TIMEOUT_SECS)

    assert (demo.returncode, complaint) == (0, "")
    kinds = re.findall(r"^ +[\d.]+ s +\d+  (\w+)", said, re.MULTILINE)
    assert kinds == [
        "WorkflowStarted",
        "ActivityScheduled",
        "ActivityCompleted",
        "WorkflowAwaitingSignal",
        "SignalReceived",
        "SearchAttributesUpserted",
        "ActivityScheduled",
        "ActivityCompleted",
        "WorkflowCompleted",
    ]
    assert "result: Approved(deployed='registry.example.com/app:abc123'" in said


def _children_of_the_demo(data_dir: str) -> list[str]:
    """Return the command lines of processes that still use the demo's data directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if data_dir in line:
            found.append(line)
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("moment", ["listening on", "started "])
def test_a_demo_that_is_interrupted_leaves_nothing_running(moment: str) -> None:
    demo = _start(EXAMPLES / "approval" / "demo.py")
    said = _read_until(demo, moment)
    found = re.search(r"assay-demo-\w+", said)
    demo.send_signal(signal.SIGINT)
    _, complaint = demo.communicate(timeout=TIMEOUT_SECS)

    assert (demo.returncode, complaint) == (1, "demo: interrupted\n")
    assert found is not None
    assert _children_of_the_demo(found.group(0)) == []


def test_a_worker_without_an_engine_waits_and_stops_when_asked() -> None:
    worker = _start(EXAMPLES / "hello" / "worker.py", ASSAY_ENGINE_URL="http://127.0.0.1:9")
    assert worker.stderr is not None
    line = worker.stderr.readline()
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=TIMEOUT_SECS)

    assert "no tasks, trying again" in line
    assert worker.returncode == 0


def test_the_examples_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself, as a user has it: the modules of all are called the same."""
    monkeypatch.setenv("MYPYPATH", str(ROOT / "sdk" / "src"))
    # What the SDK itself imports need not be read for this, which is half of the time.
    options = ["--strict", "--config-file", "", "--follow-imports=silent", "--no-site-packages"]
    options += ["--cache-dir", str(tmp_path)]
    for name in ALL:
        files = sorted((EXAMPLES / name).glob("*.py"))
        said, complaint, status = mypy.api.run([*options, *map(str, files)])
        assert status == 0, said + complaint


@pytest.mark.parametrize("name", ALL)
def test_an_example_has_a_page_that_says_how_to_run_it(name: str) -> None:
    page = (EXAMPLES / name / "README.md").read_text()

    assert page.startswith(f"# {name}\n")
    assert set(re.findall(r"python (examples/\S+\.py)", page)) == {
        f"examples/{name}/{file.name}" for file in (EXAMPLES / name).glob("*.py")
    }
