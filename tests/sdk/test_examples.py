"""The examples as a user runs them: real processes, a real engine, real time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TIMEOUT_SECS = 90


def _start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )


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


def _read_until(demo: subprocess.Popen[str], text: str) -> str:
    assert demo.stdout is not None
    said = ""
    for line in demo.stdout:
        said += line
        if text in line:
            return said
    pytest.fail(f"the demo ended without saying {text!r}: {said}")


def test_the_demo_shows_a_run_from_its_start_to_its_result() -> None:
    demo = _start(str(EXAMPLES / "approval" / "demo.py"))
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
    assert "result: {'approver': 'ada'" in said


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("moment", ["listening on", "started "])
def test_a_demo_that_is_interrupted_leaves_nothing_running(moment: str) -> None:
    demo = _start(str(EXAMPLES / "approval" / "demo.py"))
    said = _read_until(demo, moment)
    found = re.search(r"assay-demo-\w+", said)
    demo.send_signal(signal.SIGINT)
    _, complaint = demo.communicate(timeout=TIMEOUT_SECS)

    assert (demo.returncode, complaint) == (1, "demo: interrupted\n")
    assert found is not None
    assert _children_of_the_demo(found.group(0)) == []


def test_hello_greets_whom_it_is_told() -> None:
    engine = _start("-m", "assay.cli.main", "serve", "--memory", "--port", "0")
    workers: list[subprocess.Popen[str]] = []
    try:
        found = re.search(r"http://\S+", _read_until(engine, "listening on"))
        assert found is not None
        where = {"ASSAY_ENGINE_URL": found.group(0)}
        workers.append(_start(str(EXAMPLES / "hello" / "worker.py"), **where))
        said, complaint = _start(str(EXAMPLES / "hello" / "start.py"), "Ada", **where).communicate(
            timeout=TIMEOUT_SECS
        )
    finally:
        for process in (*workers, engine):
            process.terminate()
            process.communicate(timeout=TIMEOUT_SECS)

    assert (said, complaint) == ("Hello, Ada!\n", "")
    assert [worker.returncode for worker in workers] == [0]


@pytest.mark.parametrize("example", ["hello", "approval"])
def test_a_worker_without_an_engine_waits_and_stops_when_asked(example: str) -> None:
    worker = _start(str(EXAMPLES / example / "worker.py"), ASSAY_ENGINE_URL="http://127.0.0.1:9")
    assert worker.stderr is not None
    line = worker.stderr.readline()
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=TIMEOUT_SECS)

    assert "no tasks, trying again" in line
    assert worker.returncode == 0
