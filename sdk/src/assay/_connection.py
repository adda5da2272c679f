"""What both clients are given and keep: where the engine is, and who works for it here."""

from __future__ import annotations

from typing import TypedDict

from assay._calls import EagerWorker, Scope
from assay._clock import Clock, SystemClock
from assay._transport import AsyncHttpTransport, AsyncTransport, Transport


class ConnectionOptions(TypedDict, total=False):
    """What a client can be told besides its address."""

    token: str | None
    namespace: str
    worker_transport: AsyncTransport
    clock: Clock


class ClientOptions(ConnectionOptions, total=False):
    """What `Client` can be told besides its address."""

    transport: Transport


class AsyncClientOptions(ConnectionOptions, total=False):
    """What `AsyncClient` can be told besides its address."""

    transport: AsyncTransport


class Connection:
    """An engine and a namespace."""

    def __init__(self, url: str, options: ConnectionOptions) -> None:
        self.url = url.rstrip("/")
        self.namespace = options.get("namespace", "main")
        self._token = options.get("token")
        self._clock: Clock = options.get("clock") or SystemClock()
        self._worker_transport = options.get("worker_transport")
        self._scope = Scope(namespace=self.namespace, clock=self._clock)

    def worker_transport(self) -> AsyncTransport:
        """Return the transport for a worker that talks to the same engine."""
        return self._worker_transport or AsyncHttpTransport(self.url, self._token)

    def attach(self, worker: EagerWorker) -> None:
        """Let starts with `enable_eager_start` hand the first task of a run to this worker."""
        if worker not in self._scope.workers:
            self._scope.workers.append(worker)

    def detach(self, worker: EagerWorker) -> None:
        """Hand nothing to this worker any more."""
        if worker in self._scope.workers:
            self._scope.workers.remove(worker)
