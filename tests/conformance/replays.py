"""Replays recorded files against engines of their own, all at once, beside the other tests.

Run as a program it replays one file and writes what differs:

    python -m tests.conformance.replays VERSION FILE RESULT WATCHED_PID

The tests start one such process a file, early and once, and read the results last.
"""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from tests.conformance import engine_process
from tests.conformance.places import FILES, GOLDEN, ROOT, VERSIONS

# The recording of time-outs was made with this.
ENVIRONMENT = {"timeouts": {"ASSAY_WF_DISPATCH_TIMEOUT_SECS": "3"}}
DEADLINE_SECS = 300.0
FOLDER = "assay-replays-"
# Kept, because a process that is forgotten while it runs is complained about.
_STARTED: list[subprocess.Popen[bytes]] = []


def replay(version: str, file: str) -> dict[str, str | None]:
    """What each entry's answer differs in, None if it does not."""
    script = _script()
    seen: Counter[str] = Counter()
    found: dict[str, str | None] = {}
    with engine_process.serve(ENVIRONMENT.get(file)) as url:
        recording = GOLDEN / version / f"{file}.json"
        for name, difference in script.replay(urlsplit(url), recording, None, False):
            entry = name.strip()
            seen[entry] += 1
            found[entry if seen[entry] == 1 else f"{entry} #{seen[entry]}"] = difference
    return found


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_replay", GOLDEN / "replay.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Replays:
    """The replays of one test session, shared by all its processes through a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, watched: int) -> None:
        """Start all of them, unless another process of the session has. They end by themselves,
        and with the process `watched`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            (self._folder / "started").touch(exist_ok=False)
        except FileExistsError:
            return
        self._forget_earlier_sessions()
        for version in VERSIONS:
            for file in FILES:
                self._start(version, file, watched)

    def _forget_earlier_sessions(self) -> None:
        now = self._folder.stat().st_mtime
        for folder in self._folder.parent.glob(f"{FOLDER}*"):
            if folder.stat().st_mtime < now - 3600:
                shutil.rmtree(folder, ignore_errors=True)

    def _start(self, version: str, file: str, watched: int) -> None:
        result = self._result(version, file)
        command = [sys.executable, "-m", "tests.conformance.replays", version, file]
        with result.with_suffix(".log").open("w") as log:
            process = subprocess.Popen(
                [*command, str(result), str(watched)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        _STARTED.append(process)

    def differences(self, version: str, file: str) -> dict[str, str]:
        """Wait for a replay and return what differs."""
        result = self._result(version, file)
        until = time.monotonic() + DEADLINE_SECS
        while not result.exists():
            if time.monotonic() > until or result.with_suffix(".failed").exists():
                log = result.with_suffix(".log").read_text()
                raise AssertionError(f"the replay of {version}/{file} did not end:\n{log}")
            time.sleep(0.1)
        found: dict[str, Any] = json.loads(result.read_text())
        return {name: difference for name, difference in found.items() if difference is not None}

    def _result(self, version: str, file: str) -> Path:
        return self._folder / f"{version}-{file}.json"


def _watch(pid: int) -> None:
    """End this process, and its engine with it, when the test session is gone."""

    def look() -> None:
        while _alive(pid):
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, daemon=True).start()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main(version: str, file: str, result: str, watched: str) -> None:
    # Through the exit handlers, so that the engine is stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    _watch(int(watched))
    target = Path(result)
    try:
        found = replay(version, file)
    except BaseException:
        target.with_suffix(".failed").touch()
        raise
    part = target.with_suffix(".part")
    part.write_text(json.dumps(found, indent=1))
    part.rename(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
