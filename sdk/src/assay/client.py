"""The management client: start, look at and steer runs. It runs no workflow code."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, Unpack, overload

from assay import _calls, _calls_namespaces, _calls_schedules, _outcome, _start, _target
from assay._calls import EagerWorker, EventPage, ListFilter, Scope
from assay._calls_schedules import ScheduleOptions, SchedulePatch
from assay._connection import ClientOptions, Connection
from assay._handles import WorkflowHandle
from assay._options import RetryPolicy
from assay._records import (
    HistoryEvent,
    Namespace,
    NamespaceStats,
    Problem,
    QueueStats,
    Schedule,
    State,
    Status,
    WorkerInfo,
    Workflow,
)
from assay._shells import Blocking, Driver, blocking
from assay._start import ExecuteOptions, Message, StartOptions
from assay._target import Target
from assay._transport import HttpTransport
from assay._workflows import In, InputOnly, R, WithInput, WithoutInput, WorkflowRef

__all__ = [
    "Client",
    "ClientOptions",
    "EagerWorker",
    "EventPage",
    "ExecuteOptions",
    "HistoryEvent",
    "ListFilter",
    "Message",
    "Namespace",
    "NamespaceStats",
    "Problem",
    "QueueStats",
    "RetryPolicy",
    "Schedule",
    "ScheduleOptions",
    "SchedulePatch",
    "StartOptions",
    "State",
    "Status",
    "WorkerInfo",
    "Workflow",
    "WorkflowHandle",
]


class Schedules(Blocking[Scope]):
    """`client.schedules`: runs that are started by the clock."""

    create = blocking(_calls_schedules.create)
    list = blocking(_calls_schedules.listing)
    describe = blocking(_calls_schedules.describe)
    patch = blocking(_calls_schedules.patch)
    pause = blocking(_calls_schedules.pause)
    resume = blocking(_calls_schedules.resume)
    delete = blocking(_calls_schedules.delete)


class Namespaces(Blocking[Scope]):
    """`client.namespaces`: whatever the client's own namespace is."""

    create = blocking(_calls_namespaces.create)
    list = blocking(_calls_namespaces.listing)
    stats = blocking(_calls_namespaces.stats)
    describe = stats
    delete = blocking(_calls_namespaces.delete)


class Workers(Blocking[Scope]):
    """`client.workers`."""

    list = blocking(_calls_namespaces.workers)


class Queues(Blocking[Scope]):
    """`client.queues`."""

    stats = blocking(_calls_namespaces.queues)


class Client(Connection, Blocking[Scope]):
    """Calls one engine in one namespace.

    What a broken connection or a busy engine interrupts is tried again; a call that changes
    something carries the same `Idempotency-Key` each time::

        with Client("http://127.0.0.1:8080") as client:
            print(client.execute("Hello", "Ada", timeout=30))
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", **options: Unpack[ClientOptions]
    ) -> None:
        Connection.__init__(self, url, options)
        self._transport = options.get("transport") or HttpTransport(self.url, self._token)
        driver = Driver(self._transport, self._clock)
        Blocking.__init__(self, self._scope, driver)
        self.schedules = Schedules(self._scope, driver)
        self.namespaces = Namespaces(self._scope, driver)
        self.workers = Workers(self._scope, driver)
        self.queues = Queues(self._scope, driver)

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

    @overload
    def start(
        self, workflow: str, input: Any = None, **options: Unpack[StartOptions]
    ) -> WorkflowHandle[Any]: ...

    @overload
    def start(
        self,
        workflow: WithInput[In, R],
        input: In,
        **options: Unpack[StartOptions],
    ) -> WorkflowHandle[R]: ...

    @overload
    def start(
        self,
        workflow: InputOnly[In, R],
        input: In,
        **options: Unpack[StartOptions],
    ) -> WorkflowHandle[R]: ...

    @overload
    def start(
        self,
        workflow: WithoutInput[R],
        **options: Unpack[StartOptions],
    ) -> WorkflowHandle[R]: ...

    def start(
        self, workflow: WorkflowRef, input: Any = None, **options: Unpack[StartOptions]
    ) -> WorkflowHandle[Any]:
        """Start a run of a workflow function, or of a name; `StartOptions` has the options::

        handle = client.start(order, {"total": 5}, id="order-7", run_timeout="1h")
        """
        return self._handle(self._driver.run(_start.start(self._scope, workflow, input, options)))

    @overload
    def execute(
        self, workflow: str, input: Any = None, **options: Unpack[ExecuteOptions]
    ) -> Any: ...

    @overload
    def execute(
        self,
        workflow: WithInput[In, R],
        input: In,
        **options: Unpack[ExecuteOptions],
    ) -> R: ...

    @overload
    def execute(
        self,
        workflow: InputOnly[In, R],
        input: In,
        **options: Unpack[ExecuteOptions],
    ) -> R: ...

    @overload
    def execute(
        self,
        workflow: WithoutInput[R],
        **options: Unpack[ExecuteOptions],
    ) -> R: ...

    def execute(
        self, workflow: WorkflowRef, input: Any = None, **options: Unpack[ExecuteOptions]
    ) -> Any:
        """Start a run, wait for it and return its result::

        client.execute(order, {"total": 5}, id="order-7", timeout=60)
        """
        return self._driver.run(_outcome.execute(self._scope, workflow, input, options))

    def get_handle(self, workflow_id: str, run_id: str | None = None) -> WorkflowHandle[Any]:
        """Return a handle of a run that exists; the engine is not asked::

        client.get_handle("order-7").result(timeout=60)
        """
        target = Target(scope=self._scope, workflow_id=workflow_id, run_id=run_id)
        return self._handle(target)

    def continue_as_new(
        self, workflow_id: str, input: Any = None, *, new_workflow_id: str | None = None
    ) -> WorkflowHandle[Any]:
        """Close a run and start its successor with an empty history::

        successor = client.continue_as_new("counter", {"n": 0})
        """
        work = _target.continue_as_new(self._scope, workflow_id, input, new_workflow_id)
        return self._handle(self._driver.run(work))

    describe = blocking(_calls.describe)
    list = blocking(_calls.listing)
    get_events = blocking(_calls.get_events)
    get_state = blocking(_calls.get_state)
    list_children = blocking(_calls.list_children)
    signal = blocking(_calls.signal)
    cancel = blocking(_calls.cancel)
    terminate = blocking(_calls.terminate)
    wait_for_result = blocking(_outcome.wait_for_result)

    def _handle(self, target: Target) -> WorkflowHandle[Any]:
        return WorkflowHandle(target, self._driver)
