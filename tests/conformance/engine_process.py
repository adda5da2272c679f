"""A real `assay serve` on a memory store and a free port, for as long as a block lasts."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_LISTENING = re.compile(r"listening on (http://\S+)")
COMMAND = ("-m", "assay.cli.main", "serve", "--memory", "--port", "0")


@contextmanager
def serve(environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the engine's URL."""
    process = subprocess.Popen(
        [sys.executable, *COMMAND],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield _url(process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _url(process: subprocess.Popen[str]) -> str:
    said: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if found := _LISTENING.search(line):
            # Read on, or a full pipe would stop the engine.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return found[1]
    raise RuntimeError("assay serve did not start:\n" + "".join(said))
