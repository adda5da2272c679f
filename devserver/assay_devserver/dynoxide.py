"""The embedded store: finds the dynoxide binary, runs it beside this process, and keeps it running.

It dies with this process, whatever ends that, and comes back on the same port if it dies alone.
Must be started and revived by the main thread: the kernel ties a child to the thread that made it.
"""

import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from . import bound_process, stream_table
from .options import ServeError

BINARY_VARIABLE = "ASSAY_DYNOXIDE"
START_SECS = 15.0
STOP_SECS = 3.0
_CPUS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def find_binary(start: Path | None = None) -> Path | None:
    """The binary named by ASSAY_DYNOXIDE, else that of the npm package, else one on the PATH."""
    if named := os.environ.get(BINARY_VARIABLE):
        return _executable(Path(named))
    cpu = _CPUS.get(platform.machine().lower(), platform.machine().lower())
    package = Path("node_modules", "@dynoxide", f"{sys.platform}-{cpu}", "dynoxide")
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents, *Path(__file__).parents):
        if found := _executable(folder / package):
            return found
    on_path = shutil.which("dynoxide")
    return Path(on_path) if on_path else None


def _executable(path: Path) -> Path | None:
    return path if path.is_file() and os.access(path, os.X_OK) else None


class Dynoxide:
    """One store process on one loopback port."""

    def __init__(
        self, binary: Path, database: Path, *, died: Callable[[], None] = lambda: None
    ) -> None:
        """`died` is called, in another thread, when the process ends unasked."""
        self._binary = binary
        self._database = database
        self._died = died
        self._stopping = False
        self._said = ""
        self._process: subprocess.Popen[str] | None = None
        self._reserved, self.port = _reserve_port()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        self._process = process = self._spawn()
        watcher = threading.Thread(target=self._watch, args=(process,), daemon=True)
        watcher.start()
        deadline = time.monotonic() + START_SECS
        while not _answers(self.port):
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                watcher.join(STOP_SECS)  # its last words
                raise ServeError(f"the store did not start: {self._said or 'it gave no reason'}")
            time.sleep(0.005)
        stream_table.add_index(self._database)

    # Dying alone and coming back is the same as starting: the database is a file.
    revive = start

    def stop(self) -> None:
        """End the process as it wants to be ended, or else as the kernel does."""
        self._stopping = True
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._reserved.close()

    def trim(self, table: str, before: int) -> None:
        stream_table.trim(self._database, table, before)

    def _spawn(self) -> subprocess.Popen[str]:
        program = [str(self._binary), "--host", "127.0.0.1", "--port", str(self.port)]
        program += ["--db-path", str(self._database)]
        launcher = [sys.executable, "-I", "-S", bound_process.__file__, str(os.getpid())]
        return subprocess.Popen(
            launcher + program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Its own session: Ctrl-C is for this process, which still needs the store to finish.
            start_new_session=True,
        )

    def _watch(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._said = line.strip() or self._said
        process.wait()
        if not self._stopping:
            self._died()


def _reserve_port() -> tuple[socket.socket, int]:
    """A free port, kept for the store as long as the socket is open, restarts included.

    Bound but never listening, and reusable only afterwards: the kernel gives the port to nobody
    else who asks for any, and lets the store, which asks for this one, listen on it.
    """
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return reserved, reserved.getsockname()[1]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
