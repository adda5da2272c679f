"""Both clients against a real local engine; the worker is played by hand over HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from assay.async_client import AsyncClient
from assay.client import Client, Status
from assay.errors import (
    ConflictError,
    NotFoundError,
    ResultTimeoutError,
    RunCancelledError,
    RunFailedError,
)
from tests.conformance.engine_process import serve


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve() as found:
        yield found


class Worker:
    """Answers the next task of a queue with the given commands."""

    def __init__(self, url: str, namespace: str) -> None:
        self._http = httpx.Client(base_url=f"{url}/api/v1", timeout=30)
        body = {"identity": "by-hand", "queue": "default", "namespace": namespace}
        kinds = {"workflows": ["Flow"], "activities": []}
        answer = self._http.post("/workers/register", json={**body, **kinds})
        self.id = answer.raise_for_status().json()["worker_id"]

    def do(self, *commands: dict[str, Any]) -> Any:
        poll = {"queue": "default", "worker_id": self.id}
        task = self._http.post("/workflow-tasks/poll", json=poll).raise_for_status().json()
        body = {"worker_id": self.id, "commands": list(commands)}
        which = {"id": task["workflow_id"]}
        self._http.post("/workflow-tasks/-/commands", params=which, json=body).raise_for_status()
        return task

    def close(self) -> None:
        self._http.close()


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """One of its own for every test: the engine is shared."""
    return str(request.node.name)[:60]


@pytest.fixture
def worker(url: str, namespace: str) -> Iterator[Worker]:
    worker = Worker(url, namespace)
    yield worker
    worker.close()


@pytest.fixture
def client(url: str, namespace: str) -> Iterator[Client]:
    with Client(url, namespace=namespace) as client:
        yield client


def complete(result: Any) -> dict[str, Any]:
    return {"type": "CompleteWorkflow", "result": result}


def test_a_run_from_its_start_to_its_result(client: Client, worker: Worker) -> None:
    handle = client.start("Flow", {"n": 1}, id="a/b?", search_attributes={"env": "test"})
    assert handle.signal("go", 5) is True
    worker.do({"type": "RecordSnapshot", "state": {"step": 3}}, complete([1, 2]))

    assert handle.result(timeout=10) == [1, 2]
    assert (handle.status, handle.describe().status) == (Status.PENDING, Status.COMPLETED)
    assert [event.event_type for event in handle.events()][:2] == [
        "WorkflowStarted",
        "SignalReceived",
    ]
    assert handle.query("step") == 3
    assert handle.children() == []
    assert [run.id for run in client.list(search_attrs={"env": "test"})] == ["a/b?"]
    assert handle.signal("go", 5) is False


def test_a_taken_id_and_an_unknown_one(client: Client) -> None:
    client.start("Flow", id="a")

    with pytest.raises(ConflictError) as taken:
        client.start("Flow", id="a")
    with pytest.raises(NotFoundError) as unknown:
        client.get_handle("z").result(timeout=1)
    assert (taken.value.code, unknown.value.code) == ("already_exists", "not_found")


def test_the_ends_that_are_no_result(client: Client, worker: Worker) -> None:
    handles = [client.start("Flow", id=name) for name in ("failed", "cancelled", "terminated")]
    failed, cancelled, terminated = handles
    cancelled.cancel("not wanted")
    terminated.terminate("it hangs")
    worker.do({"type": "FailWorkflow", "error": "boom"})

    with pytest.raises(RunFailedError, match="boom"):
        failed.result(timeout=10)
    with pytest.raises(RunCancelledError):
        cancelled.result(timeout=10)
    with pytest.raises(RunFailedError, match="it hangs"):
        terminated.result(timeout=10)


def test_a_run_that_goes_on_is_given_up_in_time(client: Client) -> None:
    with pytest.raises(ResultTimeoutError, match=r"PENDING after 0\.2 s"):
        client.execute("Flow", id="a", timeout=0.2)


def test_a_continuation_is_followed(client: Client, worker: Worker) -> None:
    handle = client.start("Flow", 1, id="a")
    successor = client.continue_as_new("a", 2)
    worker.do(complete("end"))

    assert handle.result(timeout=10) == "end"
    assert successor.workflow_id != "a"
    assert successor.describe().input == 2


def test_namespaces_workers_and_queues(client: Client, worker: Worker, namespace: str) -> None:
    client.namespaces.create(namespace)
    client.start("Flow", id="a")

    assert namespace in [found.name for found in client.namespaces.list()]
    assert client.namespaces.stats(namespace).total_workflows == 1
    [known] = client.workers.list()
    assert (known.id, known.identity, known.workflows) == (worker.id, "by-hand", ("Flow",))
    assert [(queue.queue, queue.workers) for queue in client.queues.stats()] == [("default", 1)]
    client.namespaces.delete(namespace)
    with pytest.raises(NotFoundError):
        client.namespaces.delete(namespace)


def test_the_asynchronous_client_waits_while_others_work(
    url: str, namespace: str, worker: Worker
) -> None:
    async def both(finish: Callable[[], None]) -> Any:
        async with AsyncClient(url, namespace=namespace) as client:
            handles = [await client.start("Flow", id=name) for name in "ab"]
            waiting = asyncio.gather(*(handle.result(timeout=10) for handle in handles))
            await asyncio.to_thread(finish)
            return await waiting, (await client.describe("a")).status

    def finish() -> None:
        assert threading.current_thread() is not threading.main_thread()
        for _ in "ab":
            worker.do(complete("done"))

    assert asyncio.run(both(finish)) == (["done", "done"], Status.COMPLETED)
