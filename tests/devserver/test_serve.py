"""`assay serve` as a process: how it starts, what it says, how it ends, what survives."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 60
LISTENING = re.compile(r"assay serve: listening on (http://\S+) \(store: (.*)\)\n")


class Serve:
    """One `assay serve` with the fake engine; `start` returns once it listens."""

    def __init__(self, environment=(), **options):
        self.options = {"port": 0, **options}
        self.environment = {**os.environ, **dict(environment)}
        self.process = None

    def start(self):
        arguments = [sys.executable, "-m", "tests.devserver.fake_engine", json.dumps(self.options)]
        self.process = subprocess.Popen(
            arguments,
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        found = LISTENING.fullmatch(self.process.stdout.readline())
        assert found, self.process.communicate()
        self.url, self.store = found.groups()
        return self

    def refused(self):
        """The exit code and what was said, of one that cannot start."""
        arguments = [sys.executable, "-m", "tests.devserver.fake_engine", json.dumps(self.options)]
        done = subprocess.run(
            arguments,
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout, done.stderr

    def get(self, path):
        return httpx.get(f"{self.url}/{path}", timeout=PATIENCE).raise_for_status().json()

    def put(self, key):
        httpx.post(f"{self.url}/put", content=key, timeout=PATIENCE).raise_for_status()

    def until(self, path, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds(found := self.get(path)):
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
        return found

    def store_pid(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        (pid,) = children.read_text().split()
        return int(pid)

    def stop(self, number=signal.SIGTERM):
        """Exit code and what was said on stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


@pytest.fixture
def serves(binary):
    started = []

    def make(**options):
        serve = Serve(**options)
        started.append(serve)
        return serve

    yield make
    for serve in started:
        if serve.process is not None and serve.process.poll() is None:
            serve.process.kill()
        if serve.process is not None:
            serve.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly_and_leaves_nothing_running(serves, tmp_path, number):
    serve = serves(data_dir=str(tmp_path / "data")).start()
    store = os.pidfd_open(serve.store_pid())
    assert serve.stop(number) == (0, "")
    assert select.select([store], [], [], 0)[0]
    os.close(store)


def test_a_call_that_hangs_does_not_keep_it_from_ending(serves, tmp_path):
    serve = serves(data_dir=str(tmp_path)).start()
    host, port = serve.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as hanging:
        hanging.sendall(b"GET /hang HTTP/1.1\r\n\r\n")
        serve.get("ticks")
        started = time.monotonic()
        assert serve.stop() == (0, "")
        assert time.monotonic() - started < 10


def test_what_was_written_survives_kill_9_and_a_restart_at_once_on_the_same_port(serves, tmp_path):
    serve = serves(data_dir=str(tmp_path)).start()
    port = int(serve.url.rpartition(":")[2])
    for number in range(3):
        serve.put(f"before-{number}")
        serve.process.kill()
        serve.process.communicate()
        serve = serves(data_dir=str(tmp_path), port=port).start()
    assert serve.get("items") == [f"before-{number}" for number in range(3)]


def test_the_stream_goes_on_where_it_was_after_a_restart(serves, tmp_path):
    serve = serves(data_dir=str(tmp_path)).start()
    serve.put("first")
    serve.until("received", lambda received: received == ["first"])
    serve.stop()
    serve = serves(data_dir=str(tmp_path)).start()
    serve.put("second")
    assert serve.until("received", lambda received: received) == ["second"]


def test_the_tick_ticks(serves):
    serves(memory=True).start().until("ticks", lambda ticks: ticks >= 2)


def test_a_store_that_dies_alone_is_started_again(serves, tmp_path):
    serve = serves(data_dir=str(tmp_path)).start()
    serve.put("kept")
    first = serve.store_pid()
    os.kill(first, signal.SIGKILL)
    line = serve.process.stderr.readline()
    while "stream" in line or "tick" in line:
        line = serve.process.stderr.readline()
    assert line == "assay serve: the store died and is started again\n"
    deadline = time.monotonic() + PATIENCE
    while (found := httpx.get(f"{serve.url}/items", timeout=PATIENCE)).status_code != 200:
        assert time.monotonic() < deadline
    assert found.json() == ["kept"]
    assert serve.store_pid() != first


def test_memory_leaves_nothing_behind(serves, tmp_path):
    serve = serves(memory=True, data_dir=str(tmp_path / "unused")).start()
    assert serve.store == "dynoxide in memory"
    blobs = Path(serve.get("environment")["ASSAY_BLOBS"].removeprefix("file://"))
    assert blobs.is_dir()
    assert serve.stop() == (0, "")
    assert not blobs.exists()
    assert not (tmp_path / "unused").exists()


def test_the_functions_see_the_environment_that_a_deployment_gives_them(serves, tmp_path):
    serve = serves(data_dir=str(tmp_path)).start()
    environment = serve.get("environment")
    assert environment.pop("ASSAY_DYNAMODB_ENDPOINT").startswith("http://127.0.0.1:")
    assert environment == {
        "ASSAY_TABLE": "assay",
        "ASSAY_BLOBS": f"file://{tmp_path}/blobs",
        "ASSAY_WAKEUPS": "local",
    }


def test_without_a_binary_it_says_so_and_runs_in_memory(serves, tmp_path):
    serve = serves(environment={"ASSAY_DYNOXIDE": str(tmp_path / "missing")}.items()).start()
    assert serve.store == "moto in memory"
    serve.put("a")
    serve.until("received", lambda received: received == ["a"])
    line = "assay serve: no dynoxide binary was found: the store is in memory, and gone on exit\n"
    assert serve.stop() == (0, line)


def test_several_share_one_endpoint(serves, dynoxide, tmp_path):
    pair = [
        serves(dynamodb_endpoint=dynoxide.endpoint, data_dir=str(tmp_path)).start()
        for _ in range(2)
    ]
    for number, serve in enumerate(pair):
        assert serve.get("environment")["ASSAY_WAKEUPS"] == "shared"
        serve.put(str(number))
    for serve in pair:
        assert serve.get("items") == ["0", "1"]
    for serve in pair:
        assert serve.stop() == (0, "")


def test_a_taken_port_is_one_line_and_exit_code_1(serves, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = serves(port=port, data_dir=str(tmp_path)).refused()
    line = f"assay serve: cannot listen on 127.0.0.1:{port}: Address already in use\n"
    assert refused == (1, "", line)


def test_a_data_directory_that_is_a_file_is_one_line_and_exit_code_1(serves, tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        line = f"assay serve: the data directory {path} cannot be used: "
        code, said, complaint = serves(data_dir=str(path)).refused()
        assert (code, said, complaint.count("\n")) == (1, "", 1)
        assert complaint.startswith(line)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read and write everything")
def test_a_data_directory_without_permission_is_one_line_and_exit_code_1(serves, tmp_path):
    tmp_path.chmod(0o500)
    code, said, complaint = serves(data_dir=str(tmp_path)).refused()
    tmp_path.chmod(0o700)
    assert (code, said, complaint.count("\n")) == (1, "", 1)
    assert "cannot be used" in complaint


def test_a_data_directory_in_use_is_one_line_and_exit_code_1(serves, tmp_path):
    first = serves(data_dir=str(tmp_path)).start()
    refused = serves(data_dir=str(tmp_path)).refused()
    line = (
        f"assay serve: the data directory {tmp_path} is in use by another assay serve"
        f" (process {first.process.pid})\n"
    )
    assert refused == (1, "", line)


def test_a_damaged_database_is_one_line_and_exit_code_1(serves, tmp_path):
    (tmp_path / "assay.db").write_bytes(b"damaged " * 1000)
    code, said, complaint = serves(data_dir=str(tmp_path)).refused()
    assert (code, said, complaint.count("\n")) == (1, "", 1)
    assert complaint.startswith("assay serve: the store did not start: ")


def test_an_endpoint_where_nobody_listens_is_one_line_and_exit_code_1(serves, tmp_path):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{bound.getsockname()[1]}"
        refused = serves(dynamodb_endpoint=endpoint, data_dir=str(tmp_path)).refused()
    line = (
        f"assay serve: no DynamoDB endpoint at {endpoint}:"
        f' Could not connect to the endpoint URL: "{endpoint}"\n'
    )
    assert refused == (1, "", line)


def test_an_endpoint_that_is_not_dynamodb_is_one_line_and_exit_code_1(serves, tmp_path):
    other = serves(memory=True).start()
    refused = serves(dynamodb_endpoint=other.url, data_dir=str(tmp_path)).refused()
    line = "the answer is not DynamoDB's (HTTP status 500)\n"
    assert refused == (1, "", f"assay serve: no DynamoDB endpoint at {other.url}: {line}")


@pytest.mark.parametrize("endpoint", ["localhost:8000", "ftp://x", "http://", "http://a:b", ""])
def test_an_endpoint_that_is_no_address_is_one_line_and_exit_code_1(serves, tmp_path, endpoint):
    refused = serves(dynamodb_endpoint=endpoint, data_dir=str(tmp_path)).refused()
    line = f"assay serve: {endpoint} is not an http:// or https:// address\n"
    assert refused == (1, "", " ".join(line.split()) + "\n")
