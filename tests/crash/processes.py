"""Real processes: an engine that can be killed and started again, and workers beside it."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx

ROOT = Path(__file__).parents[2]
PATIENCE_SECS = 60.0
_LISTENING = re.compile(r"assay serve: listening on (http://\S+)")

T = TypeVar("T")


def until(look: Callable[[], T | None], what: str, patience: float = PATIENCE_SECS) -> T:
    """Look until there is something to see, and return it."""
    deadline = time.monotonic() + patience
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"{what}: not after {patience:g} s"
        time.sleep(0.02)
    return found


class Serve:
    """`assay serve`. Started again, it has the same address."""

    def __init__(self, log: Path, *options: str, lease_secs: float) -> None:
        self._log = log
        self._options = options
        self._lease_secs = lease_secs
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> Self:
        command = [sys.executable, "-m", "assay.cli.main", "serve", "--port", str(self._port)]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [*command, *self._options],
                env={**os.environ, "ASSAY_WF_DISPATCH_TIMEOUT_SECS": str(self._lease_secs)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        found = _LISTENING.match(self._process.stdout.readline())
        assert found, self._log.read_text()
        self.url = found[1]
        self._port = int(self.url.rpartition(":")[2])
        return self

    def kill(self) -> None:
        """As kill -9 does. Its store dies with it."""
        assert self._process is not None
        with self._process as process:
            process.kill()

    def stop(self) -> None:
        assert self._process is not None
        with self._process as process:
            process.terminate()


@contextmanager
def serving(log: Path, *options: str, lease_secs: float = 30.0) -> Iterator[Serve]:
    serve = Serve(log, *options, lease_secs=lease_secs).start()
    try:
        yield serve
    finally:
        serve.stop()


class WorkerProcess:
    """A worker of this folder (`exchange` or `legacy`), and what it wrote into its journal."""

    def __init__(self, kind: str, url: str, journal: Path, **environment: str) -> None:
        self.journal = journal
        with journal.with_suffix(f".{kind}.log").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"tests.crash.{kind}_worker", url, str(journal)],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def lines(self) -> list[list[Any]]:
        text = self.journal.read_text() if self.journal.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def working(kind: str, url: str, journal: Path, **environment: str) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(kind, url, journal, **environment)
    try:
        yield worker
    finally:
        worker.kill()


class Api:
    """The engine's HTTP interface, without any manners of a client: nothing is repeated."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=f"{url}/api/v1", timeout=30.0)

    def close(self) -> None:
        self._http.close()

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self._http.post(path, json=body)

    def get(self, path: str, **query: str | int) -> Any:
        return self._http.get(path, params=query).raise_for_status().json()

    def start(self, run_id: str, type_: str, queue: str, **rest: Any) -> httpx.Response:
        body = {"workflow_id": run_id, "workflow_type": type_, "task_queue": queue, **rest}
        return self.post("/workflows", body)

    def ended(self, run_id: str) -> Any:
        """The record of a run, once it has ended."""

        def look() -> Any:
            record = self.get(f"/workflows/{run_id}")
            return record if record["completed_at"] is not None else None

        return until(look, f"{run_id} has ended")

    def events(self, run_id: str) -> list[Any]:
        """The history, seen to be gapless, with payloads as values."""
        found = self.get(f"/workflows/{run_id}/events")
        assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
        return [{**event, "payload": json.loads(event["payload"] or "null")} for event in found]


@contextmanager
def calling(url: str) -> Iterator[Api]:
    api = Api(url)
    try:
        yield api
    finally:
        api.close()
