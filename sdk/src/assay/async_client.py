"""The management client on an event loop: `Client`, to be awaited."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, Unpack, overload

from assay import _calls, _calls_namespaces, _calls_schedules, _outcome, _start, _target
from assay._calls import Scope
from assay._connection import AsyncClientOptions, Connection
from assay._handles import AsyncWorkflowHandle
from assay._shells import AsyncDriver, Awaiting, awaiting
from assay._start import ExecuteOptions, StartOptions
from assay._target import Target
from assay._transport import AsyncHttpTransport
from assay._workflows import In, InputOnly, R, WithInput, WithoutInput, WorkflowRef

__all__ = ["AsyncClient", "AsyncClientOptions", "AsyncWorkflowHandle"]


class AsyncSchedules(Awaiting[Scope]):
    """`client.schedules`: runs that are started by the clock."""

    create = awaiting(_calls_schedules.create)
    list = awaiting(_calls_schedules.listing)
    describe = awaiting(_calls_schedules.describe)
    patch = awaiting(_calls_schedules.patch)
    pause = awaiting(_calls_schedules.pause)
    resume = awaiting(_calls_schedules.resume)
    delete = awaiting(_calls_schedules.delete)


class AsyncNamespaces(Awaiting[Scope]):
    """`client.namespaces`: whatever the client's own namespace is."""

    create = awaiting(_calls_namespaces.create)
    list = awaiting(_calls_namespaces.listing)
    stats = awaiting(_calls_namespaces.stats)
    describe = stats
    delete = awaiting(_calls_namespaces.delete)


class AsyncWorkers(Awaiting[Scope]):
    """`client.workers`."""

    list = awaiting(_calls_namespaces.workers)


class AsyncQueues(Awaiting[Scope]):
    """`client.queues`."""

    stats = awaiting(_calls_namespaces.queues)


class AsyncClient(Connection, Awaiting[Scope]):
    """Calls one engine in one namespace.

    What a broken connection or a busy engine interrupts is tried again; a call that changes
    something carries the same `Idempotency-Key` each time::

        async with AsyncClient("http://127.0.0.1:8080") as client:
            print(await client.execute("Hello", "Ada", timeout=30))
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", **options: Unpack[AsyncClientOptions]
    ) -> None:
        Connection.__init__(self, url, options)
        self._transport = options.get("transport") or AsyncHttpTransport(self.url, self._token)
        driver = AsyncDriver(self._transport, self._clock)
        Awaiting.__init__(self, self._scope, driver)
        self.schedules = AsyncSchedules(self._scope, driver)
        self.namespaces = AsyncNamespaces(self._scope, driver)
        self.workers = AsyncWorkers(self._scope, driver)
        self.queues = AsyncQueues(self._scope, driver)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._transport.close()

    @overload
    async def start(
        self, workflow: str, input: Any = None, **options: Unpack[StartOptions]
    ) -> AsyncWorkflowHandle[Any]: ...

    @overload
    async def start(
        self,
        workflow: WithInput[In, R],
        input: In,
        **options: Unpack[StartOptions],
    ) -> AsyncWorkflowHandle[R]: ...

    @overload
    async def start(
        self,
        workflow: InputOnly[In, R],
        input: In,
        **options: Unpack[StartOptions],
    ) -> AsyncWorkflowHandle[R]: ...

    @overload
    async def start(
        self,
        workflow: WithoutInput[R],
        **options: Unpack[StartOptions],
    ) -> AsyncWorkflowHandle[R]: ...

    async def start(
        self, workflow: WorkflowRef, input: Any = None, **options: Unpack[StartOptions]
    ) -> AsyncWorkflowHandle[Any]:
        """Start a run of a workflow function, or of a name; `StartOptions` has the options::

        handle = await client.start(order, {"total": 5}, id="order-7", run_timeout="1h")
        """
        return self._handle(
            await self._driver.run(_start.start(self._scope, workflow, input, options))
        )

    @overload
    async def execute(
        self, workflow: str, input: Any = None, **options: Unpack[ExecuteOptions]
    ) -> Any: ...

    @overload
    async def execute(
        self,
        workflow: WithInput[In, R],
        input: In,
        **options: Unpack[ExecuteOptions],
    ) -> R: ...

    @overload
    async def execute(
        self,
        workflow: InputOnly[In, R],
        input: In,
        **options: Unpack[ExecuteOptions],
    ) -> R: ...

    @overload
    async def execute(
        self,
        workflow: WithoutInput[R],
        **options: Unpack[ExecuteOptions],
    ) -> R: ...

    async def execute(
        self, workflow: WorkflowRef, input: Any = None, **options: Unpack[ExecuteOptions]
    ) -> Any:
        """Start a run, wait for it and return its result::

        await client.execute(order, {"total": 5}, id="order-7", timeout=60)
        """
        return await self._driver.run(_outcome.execute(self._scope, workflow, input, options))

    def get_handle(self, workflow_id: str, run_id: str | None = None) -> AsyncWorkflowHandle[Any]:
        """Return a handle of a run that exists; the engine is not asked::

        await client.get_handle("order-7").result(timeout=60)
        """
        target = Target(scope=self._scope, workflow_id=workflow_id, run_id=run_id)
        return self._handle(target)

    async def continue_as_new(
        self, workflow_id: str, input: Any = None, *, new_workflow_id: str | None = None
    ) -> AsyncWorkflowHandle[Any]:
        """Close a run and start its successor with an empty history::

        successor = await client.continue_as_new("counter", {"n": 0})
        """
        work = _target.continue_as_new(self._scope, workflow_id, input, new_workflow_id)
        return self._handle(await self._driver.run(work))

    describe = awaiting(_calls.describe)
    list = awaiting(_calls.listing)
    get_events = awaiting(_calls.get_events)
    get_state = awaiting(_calls.get_state)
    list_children = awaiting(_calls.list_children)
    signal = awaiting(_calls.signal)
    cancel = awaiting(_calls.cancel)
    terminate = awaiting(_calls.terminate)
    wait_for_result = awaiting(_outcome.wait_for_result)

    def _handle(self, target: Target) -> AsyncWorkflowHandle[Any]:
        return AsyncWorkflowHandle(target, self._driver)
