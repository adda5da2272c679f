"""Hundreds of waiting workers keep nobody from being answered."""

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.crash.processes import Api, calling, serving, until

WAITING = 300


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("engine") / "log", "--memory") as serve:
        yield serve.url


@pytest.fixture
def api(url: str) -> Iterator[Api]:
    with calling(url) as api:
        yield api


def _wait_for_work(stack: ExitStack, url: str, queue: str, number: int) -> socket.socket:
    """Send an exchange that waits for a task, and do not read its answer."""
    address = urlsplit(url)
    body = json.dumps(
        {
            "protocol": 1,
            "worker_id": f"{queue}-{number}",
            "queue": queue,
            "room": {"workflows": 1, "activities": 1},
            "wait_secs": 20,
        }
    ).encode()
    connection = stack.enter_context(socket.create_connection((address.hostname, address.port)))
    lines = (
        "POST /api/v1/workers/exchange HTTP/1.1",
        f"host: {address.netloc}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "connection: close",
    )
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    return connection


def _answer(connection: socket.socket) -> Any:
    text = b""
    while some := connection.recv(65536):
        text += some
    return json.loads(text.partition(b"\r\n\r\n")[2])


@contextmanager
def _waiting(url: str, api: Api, queue: str) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        connections = [_wait_for_work(stack, url, queue, number) for number in range(WAITING)]
        until(lambda: _listed(api, queue) == WAITING or None, "all of them are waiting")
        yield connections


def _listed(api: Api, queue: str) -> int:
    """A worker is listed from its first exchange on."""
    return sum(worker["task_queue"] == queue for worker in api.get("/workers"))


def test_three_hundred_waiting_exchanges_keep_no_other_call_from_its_answer(
    url: str, api: Api
) -> None:
    with _waiting(url, api, "quiet") as waiting:
        begun = time.monotonic()
        assert api.start("elsewhere", "Pay", "elsewhere").status_code == 201
        poll = {"queue": "elsewhere", "worker_id": "somebody"}
        task = api.post("/workflow-tasks/poll", poll).json()
        took = time.monotonic() - begun
        assert task["workflow_id"] == "elsewhere"
        assert took < 1
        assert _answered(waiting) == []


def test_a_run_is_given_to_one_of_three_hundred_waiting_exchanges(url: str, api: Api) -> None:
    with _waiting(url, api, "crowded") as waiting:
        begun = time.monotonic()
        assert api.start("here", "Pay", "crowded").status_code == 201
        (connection,) = until(lambda: _answered(waiting) or None, "somebody got it")
        took = time.monotonic() - begun
        (task,) = _answer(connection)["workflow_tasks"]
        assert task["run"]["id"] == "here"
        assert took < 1


def test_exchanges_whose_workers_have_died_are_given_nothing(url: str, api: Api) -> None:
    with _waiting(url, api, "deserted"):
        pass
    with ExitStack() as stack:
        living = _wait_for_work(stack, url, "deserted", WAITING)
        until(lambda: _listed(api, "deserted") == WAITING + 1 or None, "it is waiting")
        assert api.start("there", "Pay", "deserted").status_code == 201
        (task,) = _answer(living)["workflow_tasks"]
        assert task["run"]["id"] == "there"


def _answered(connections: list[socket.socket]) -> list[socket.socket]:
    return select.select(connections, [], [], 0)[0]
