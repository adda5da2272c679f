"""The whole of it on one screen: an engine, a worker, one run, its events, its result.

Everything it starts it also stops, whether it ends well, badly or by Ctrl-C.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from worker import QUEUE, Request, approve_and_deploy

from assay import Client
from assay.errors import AssayError

HERE = Path(__file__).resolve().parent
TIMEOUT_SECS = 60.0
LISTENING = re.compile(r"assay serve: listening on (http://\S+)")
APPROVAL = {"step": "Approval", "action": "approve", "user": "ada"}
CLOSED = ("WorkflowCompleted", "WorkflowFailed", "WorkflowCancelled")


class DemoError(Exception):
    """Why the demo did not get to its end."""


class Deadline:
    """What is left of the time that the demo may take."""

    def __init__(self, secs: float) -> None:
        self._at = time.monotonic() + secs

    def left(self) -> float:
        left = self._at - time.monotonic()
        if left <= 0:
            raise DemoError(f"not finished after {TIMEOUT_SECS:.0f} s")
        return left


@contextmanager
def process(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python program beside the demo, and stop it afterwards whatever happens."""
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        start_new_session=True,  # Ctrl-C is for the demo, which stops the others in order
    )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(timeout=8)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def lines_of(child: subprocess.Popen[str]) -> Queue[str]:
    """Return a queue of what a program prints; an empty text stands for its end."""
    lines: Queue[str] = Queue()

    def read() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    return lines


def engine_url(child: subprocess.Popen[str], deadline: Deadline) -> str:
    """Wait until the engine says where it listens."""
    lines = lines_of(child)
    said: list[str] = []
    while True:
        try:
            line = lines.get(timeout=deadline.left())
        except Empty:
            continue
        found = LISTENING.search(line)
        if found:
            print(line.strip())
            return found.group(1)
        if not line:
            raise DemoError("the engine did not start: " + (" ".join(said).strip() or "no reason"))
        said.append(line.strip())


def follow(client: Client, workflow_id: str) -> Iterator[None]:
    """Print each event as it lands, and approve when the workflow waits for it."""
    seen, started = 0, time.monotonic()
    while True:
        yield
        for event in client.get_events(workflow_id, cursor=seen, limit=100, order="asc"):
            seen = event.seq
            elapsed = time.monotonic() - started
            print(f"{elapsed:7.3f} s  {event.seq:3}  {event.event_type:24} {short(event.payload)}")
            if event.event_type == "WorkflowAwaitingSignal":
                client.signal(workflow_id, "step_action", APPROVAL)
            if event.event_type in CLOSED:
                return
        time.sleep(0.02)


def short(payload: Any) -> str:
    """Return what a payload says, on one line; ids and empty fields say nothing here."""
    if isinstance(payload, dict):
        said = {key: value for key, value in payload.items() if value is not None}
        said.pop("activity_id", None)
        payload = " ".join(f"{key}={value}" for key, value in said.items())
    text = "" if payload is None else str(payload)
    return text if len(text) <= 100 else f"{text[:97]}..."


def play(deadline: Deadline) -> None:
    with ExitStack() as stage:
        data = stage.enter_context(tempfile.TemporaryDirectory(prefix="assay-demo-"))
        serve = ("-m", "assay.cli.main", "serve", "--port", "0", "--data-dir", data)
        url = engine_url(stage.enter_context(process(*serve)), deadline)
        worker = stage.enter_context(process(str(HERE / "worker.py"), ASSAY_ENGINE_URL=url))
        said = lines_of(worker)
        client = stage.enter_context(Client(url))
        run = client.start(approve_and_deploy, Request("abc123", "staging"), task_queue=QUEUE)
        print(f"started {run.workflow_id}\n")
        for _ in follow(client, run.workflow_id):
            deadline.left()
            if worker.poll() is not None:
                raise DemoError("the worker has ended: " + " ".join(said.queue).strip())
        print(f"\nresult: {run.result(timeout=deadline.left())}")


def interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    signal.signal(signal.SIGTERM, interrupt)
    try:
        play(Deadline(TIMEOUT_SECS))
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 1
    except (DemoError, AssayError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
