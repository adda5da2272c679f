"""The SDK's worker on an engine in this process: its transport calls the use case itself."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread

import msgspec

from assay import Client, Worker
from assay._transport import Request, Response
from assay.workflow import Registry
from assay_engine.app import exchange
from assay_engine.app.engine import Engine
from tests.costs.workers import QUEUE


class InProcess:
    """An `AsyncTransport`; what the worker says and hears still goes through JSON."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(8)

    async def send(self, request: Request) -> Response:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._answer, request)

    def _answer(self, request: Request) -> Response:
        answer = exchange.exchange(self._engine, json.loads(request.body or b"{}"))
        return Response(status=200, body=msgspec.json.encode(answer))

    async def close(self) -> None:
        self._threads.shutdown()


@contextmanager
def working(engine: Engine, registry: Registry) -> Iterator[None]:
    """A worker of its own process's threads for as long as the block lasts."""
    client = Client("http://nowhere.invalid", worker_transport=InProcess(engine))
    worker = Worker(client, queue=QUEUE, registry=registry, wait_secs=0.5)
    thread = Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()
        client.close()
