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
    with subprocess.Popen(
        [sys.executable, *COMMAND],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        # Read to the end, or a full pipe would stop the engine.
        rest = threading.Thread(target=process.stdout.read, daemon=True)
        try:
            url = _url(process)
            rest.start()
            yield url
        finally:
            _stop(process)
            if rest.is_alive():
                rest.join()


def _url(process: subprocess.Popen[str]) -> str:
    said: list[str] = []
    for line in process.stdout or ():
        said.append(line)
        if found := _LISTENING.search(line):
            return found[1]
    raise RuntimeError("assay serve did not start:\n" + "".join(said))


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
