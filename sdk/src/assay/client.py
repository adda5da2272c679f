"""The management client: start, look at and steer runs. It runs no workflow code."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

from assay import _calls, _json
from assay._calls import Call, EventPage, ListFilter
from assay._clock import Backoff, Clock, SystemClock
from assay._records import HistoryEvent, Started, State, Status, Workflow
from assay._transport import (
    AsyncHttpTransport,
    AsyncTransport,
    HttpTransport,
    Request,
    Response,
    Transport,
    error_of,
)
from assay.errors import (
    ApiError,
    ConnectionFailedError,
    ResultTimeoutError,
    RunCancelledError,
    RunFailedError,
    UnavailableError,
)

_TRIES = 8
_FIRST_LOOK_SECS = 0.05
_LAST_LOOK_SECS = 2.0

T = TypeVar("T")


class ClientOptions(TypedDict, total=False):
    """What a client can be told besides its address."""

    token: str | None
    namespace: str
    transport: Transport
    worker_transport: AsyncTransport
    clock: Clock


class StartOptions(TypedDict, total=False):
    """What a start can be told besides its type."""

    workflow_id: str
    input: Any
    task_queue: str
    search_attributes: Mapping[str, Any]


class Client:
    """Calls one engine in one namespace.

    What a broken connection or a busy engine interrupts is tried again; a call that changes
    something carries the same `Idempotency-Key` each time::

        with Client("http://127.0.0.1:8080") as client:
            run = client.start("Hello", input={"name": "Ada"})
            print(client.wait_for_result(run.workflow_id, timeout=30))
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", **options: Unpack[ClientOptions]
    ) -> None:
        self.url = url.rstrip("/")
        self.namespace = options.get("namespace", "main")
        self._token = options.get("token")
        self._clock: Clock = options.get("clock") or SystemClock()
        self._transport = options.get("transport") or HttpTransport(self.url, self._token)
        self._worker_transport = options.get("worker_transport")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()

    def worker_transport(self) -> AsyncTransport:
        """Return the transport for a worker that talks to the same engine."""
        return self._worker_transport or AsyncHttpTransport(self.url, self._token)

    def start(self, workflow_type: str, **options: Unpack[StartOptions]) -> Started:
        """Start a run; without a `workflow_id` it gets a random one."""
        body: dict[str, Any] = {
            "workflow_type": workflow_type,
            "workflow_id": f"{workflow_type}-{uuid.uuid4().hex}",
            "namespace": self.namespace,
            "task_queue": "default",
            **options,
        }
        return self._send(_calls.start(body))

    def describe(self, workflow_id: str) -> Workflow:
        """Return the record of a run."""
        return self._send(_calls.describe(workflow_id, self.namespace))

    def list(self, **narrowed: Unpack[ListFilter]) -> _Workflows:
        """Return runs, the newest first."""
        return self._send(_calls.listing(self.namespace, narrowed))

    def get_events(self, workflow_id: str, **page: Unpack[EventPage]) -> _Events:
        """Return the history of a run, or the given page of it."""
        return self._send(_calls.events(workflow_id, self.namespace, page))

    def get_state(self, workflow_id: str, name: str | None = None) -> State:
        """Return what a run's query said last; without a name all of them."""
        return self._send(_calls.state(workflow_id, self.namespace, name))

    def list_children(self, workflow_id: str) -> _Workflows:
        """Return the runs that this run has started, the oldest first."""
        return self._send(_calls.children(workflow_id, self.namespace))

    def signal(self, workflow_id: str, name: str, payload: Any = None) -> bool:
        """Send a signal; return False if the run had ended and did not take it."""
        return self._send(_calls.signal(workflow_id, self.namespace, name, payload))

    def cancel(self, workflow_id: str, reason: str | None = None) -> None:
        """Ask a run to stop; its code may clean up first."""
        self._send(_calls.cancel(workflow_id, self.namespace, reason))

    def terminate(self, workflow_id: str, reason: str | None = None) -> None:
        """End a run at once; its code is not asked."""
        self._send(_calls.terminate(workflow_id, self.namespace, reason))

    def continue_as_new(
        self, workflow_id: str, input: Any = None, *, new_workflow_id: str | None = None
    ) -> Started:
        """Close a run and start its successor with an empty history."""
        body: dict[str, Any] = {} if input is None else {"input": input}
        if new_workflow_id is not None:
            body["workflow_id"] = new_workflow_id
        return self._send(_calls.continue_as_new(workflow_id, self.namespace, body))

    def wait_for_result(self, workflow_id: str, timeout: float | None = None) -> Any:
        """Wait until a run has ended and return its result, or raise how else it ended.

        With a `timeout`, an engine that is away is waited for as long as that lasts.
        """
        until = None if timeout is None else self._clock.monotonic() + timeout
        pause = _FIRST_LOOK_SECS
        while True:
            run = self._look(workflow_id, until)
            if run is not None and run.status.closed:
                return _result(run)
            if until is not None:
                left = until - self._clock.monotonic()
                if left <= 0:
                    status = "out of reach" if run is None else run.status
                    text = f"run {workflow_id} is {status} after {timeout} s"
                    raise ResultTimeoutError(text)
                pause = min(pause, left)
            self._clock.pause(pause)
            pause = min(pause * 1.5, _LAST_LOOK_SECS)

    def _look(self, workflow_id: str, until: float | None) -> Workflow | None:
        try:
            return self.describe(workflow_id)
        except (ConnectionFailedError, UnavailableError):
            if until is None:
                raise
            return None

    def _send(self, call: Call[T]) -> T:
        request = Request(
            method=call.method,
            path=_calls.PREFIX + call.path,
            query=call.query,
            headers={"idempotency-key": uuid.uuid4().hex} if call.changes else {},
            body=None if call.body is None else _json.encode(call.body),
        )
        response = self._until_answered(request)
        return call.read(_json.decode(response.body) if response.body else None)

    def _until_answered(self, request: Request) -> Response:
        backoff = Backoff()
        for left in reversed(range(_TRIES)):
            try:
                return self._attempt(request)
            except (ConnectionFailedError, ApiError) as error:
                repeatable = isinstance(error, ConnectionFailedError) or error.retryable
                if not (repeatable and left):
                    raise
            self._clock.pause(backoff.next())
        raise AssertionError("the last try returns or raises")

    def _attempt(self, request: Request) -> Response:
        response = self._transport.send(request)
        if response.status >= 400:
            raise error_of(response)
        return response


def _result(run: Workflow) -> Any:
    if run.status is Status.COMPLETED:
        return run.result
    if run.status is Status.CANCELLED:
        raise RunCancelledError(run.id)
    raise RunFailedError(run.id, run.status, run.error)


# `list` is a method of the client, so its annotations cannot name the builtin.
_Events = list[HistoryEvent]
_Workflows = list[Workflow]
