"""Starts what speaks DynamoDB on this machine: dynoxide, moto, AWS's own DynamoDB Local."""

import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"


class NotHereError(Exception):
    """This machine lacks the program; the text says what to do about it."""


@contextmanager
def dynoxide() -> Iterator[str]:
    cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"{platform.system().lower()}-{cpu}"
    binary = ROOT / "node_modules" / "@dynoxide" / package / "dynoxide"
    if not binary.exists():
        raise NotHereError(f"{binary} is missing: npm install")
    port = _free_port()
    with _running([str(binary), "--host", HOST, "--port", str(port)], port) as url:
        yield url


@contextmanager
def dynamodb_local() -> Iterator[str]:
    jars = Path(os.environ.get("ASSAY_DYNAMODB_LOCAL") or ROOT / ".cache/dynamodb-local/lib")
    java = shutil.which("java")
    if java is None or not jars.is_dir():
        raise NotHereError(f"needs java and DynamoDB Local's jars in {jars}")
    port = _free_port()
    main = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
    options = ["-sharedDb", "-inMemory", "-disableTelemetry", "-port", str(port)]
    command = [java, f"-Djava.library.path={jars}", "-cp", f"{jars}/*", main, *options]
    with _running(command, port) as url:
        yield url


@contextmanager
def moto() -> Iterator[str]:
    # Not threaded, so one request at a time: moto is not thread safe.
    limit = sys.getrecursionlimit()
    # It reads a long expression by recursion: the longest cut needs more than Python allows.
    sys.setrecursionlimit(4 * limit)
    server = make_server(HOST, 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        sys.setrecursionlimit(limit)


@contextmanager
def _running(command: list[str], port: int) -> Iterator[str]:
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        _wait_until_open(process, port)
        yield f"http://{HOST}:{port}"
    finally:
        process.kill()
        process.wait()


def _wait_until_open(process: subprocess.Popen[bytes], port: int, tries: int = 2400) -> None:
    for _ in range(tries):
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            try:
                code = process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            raise RuntimeError(f"{process.args!r} ended with {code}") from None
    raise RuntimeError(f"{process.args!r} never listened on {port}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])
