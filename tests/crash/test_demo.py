"""What `make demo` runs ends well and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from tests.crash.processes import ROOT

_MARK = "ASSAY_TEST_MARK"


def test_the_demo_exits_with_0_and_leaves_no_process_behind() -> None:
    mark = uuid4().hex
    done = subprocess.run(
        [sys.executable, "examples/approval/demo.py"],
        cwd=ROOT,
        env={**os.environ, _MARK: mark},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    events = [line.split()[3] for line in done.stdout.splitlines() if " s  " in line]
    assert events == [
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
    assert "result: Approved(" in done.stdout
    assert _processes_with(f"{_MARK}={mark}") == []


def _processes_with(variable: str) -> list[str]:
    """Command lines of processes that inherited it, however they were started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if variable.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue  # somebody else's, or gone
    return found
