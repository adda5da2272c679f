"""What workflow code is written with: decorators to name it, and the context it is given.

A workflow is an `async def` of a context and an input. Between two awaits it may compute what it
likes, but everything that could come out differently the next time goes through the context.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypedDict, TypeVar, Unpack

from assay import _json
from assay._replay import Body, Closing, Machine, Pending
from assay.errors import ActivityError, Cancelled, ChildWorkflowError, UsageError

__all__ = [
    "ActivityCall",
    "ActivityError",
    "ActivityOptions",
    "Cancelled",
    "ChildWorkflowError",
    "Context",
    "Registry",
    "activity",
    "define",
]

Workflow = Callable[..., Coroutine[Any, Any, Any]]
Activity = Callable[..., Any]
W = TypeVar("W", bound=Workflow)
A = TypeVar("A", bound=Activity)


class ActivityOptions(TypedDict, total=False):
    """How an activity is run; what is left out is the engine's to decide.

    Three attempts, the first retry after one second, doubling, 300 s for each attempt, no
    heartbeat time-out. The queue is that of the workflow.
    """

    task_queue: str
    max_attempts: int
    initial_interval_secs: float
    backoff_coefficient: float
    start_to_close_secs: float
    heartbeat_timeout_secs: float


@dataclass(frozen=True, slots=True)
class ActivityCall:
    """One member of `Context.execute_parallel`."""

    name: str
    input: Any = None
    options: ActivityOptions = field(default_factory=ActivityOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Which run a context belongs to."""

    workflow_id: str
    workflow_type: str
    namespace: str
    task_queue: str
    parent_id: str | None = None


class Context:
    """The workflow's only way to the outside, and to time."""

    def __init__(self, machine: Machine, info: RunInfo) -> None:
        self._machine = machine
        self.info = info

    @property
    def workflow_id(self) -> str:
        """The id of this run."""
        return self.info.workflow_id

    @property
    def history_length(self) -> int:
        """How many events lie behind the workflow; a reason to continue as new."""
        return self._machine.delivered

    def now(self) -> float:
        """Return the time of the event being looked at: seconds since the epoch, same in replay."""
        return self._machine.now

    async def execute_activity(
        self, name: str, input: Any = None, **options: Unpack[ActivityOptions]
    ) -> Any:
        """Run an activity and return its result; raise `ActivityError` if it failed for good."""
        return await self._schedule(name, input, options)

    async def execute_parallel(self, calls: Sequence[ActivityCall | tuple[str, Any]]) -> list[Any]:
        """Run activities at the same time; return their results in the order of `calls`.

        It goes on when all of them have ended, and raises the first failure in that order.
        """
        listed = [call if isinstance(call, ActivityCall) else ActivityCall(*call) for call in calls]
        waits = [self._schedule(call.name, call.input, call.options) for call in listed]
        results, failures = [], []
        for wait in waits:
            try:
                results.append(await wait)
            except ActivityError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
        return results

    async def sleep(self, seconds: float) -> None:
        """Wait; the timer is the engine's, so the wait survives any process."""
        await self._machine.schedule_timer(seconds)[1]

    async def wait_for_signal(self, name: str, timeout: float | None = None) -> Any:
        """Return the payload of the next signal of that name, or None when `timeout` is over.

        Signals that came before anybody waited are kept, in their order.
        """
        return await self._machine.wait_for_signal(name, timeout)

    async def side_effect(self, name: str, run: Callable[[], Any]) -> Any:
        """Return what `run` returns; it is recorded, and every replay gets the same value."""
        return self._machine.side_effect(name, run)

    async def start_child_workflow(
        self,
        workflow_type: str,
        *,
        workflow_id: str,
        input: Any = None,
        task_queue: str | None = None,
    ) -> Any:
        """Start a child and return its result; raise `ChildWorkflowError` if it did not complete.

        The id must be the same in every replay.
        """
        rest = {"input": input, "task_queue": task_queue or self.info.task_queue}
        return await self._machine.start_child(workflow_type, workflow_id, rest)

    def register_query(self, name: str, query: Callable[[], Any]) -> None:
        """Let clients see what `query` returns; it is asked whenever the workflow has gone on."""
        self._machine.register_query(name, query)

    def upsert_search_attributes(self, patch: Mapping[str, Any]) -> Awaitable[None]:
        """Merge `patch` into the run's search attributes, at once; it may be awaited or not."""
        self._machine.upsert(patch)
        done = Pending()
        done.settle()
        return done

    def continue_as_new(self, input: Any = None) -> NoReturn:
        """End this run and start its successor, of the same type, with an empty history."""
        given = {} if input is None else {"input": _json.plain(input)}
        raise Closing({"type": "ContinueAsNew", **given})

    def cancel(self, reason: str | None = None) -> NoReturn:
        """End this run as CANCELLED by the workflow's own decision."""
        given = {} if reason is None else {"reason": reason}
        raise Closing({"type": "CancelWorkflow", **given})

    def _schedule(self, name: str, input: Any, options: ActivityOptions) -> Pending:
        chosen = {"task_queue": self.info.task_queue, **options}
        return self._machine.schedule_activity(name, input, chosen)


class Registry:
    """The workflows and activities that a worker can run, by name."""

    def __init__(self) -> None:
        self.workflows: dict[str, Workflow] = {}
        self.activities: dict[str, Activity] = {}

    def define(self, name: str) -> Callable[[W], W]:
        """Register an `async def` of context and input as the workflow `name`."""

        def register(function: W) -> W:
            if not inspect.iscoroutinefunction(function):
                raise UsageError(f"workflow {name} must be an async def")
            _put(self.workflows, "workflow", name, function)
            return function

        return register

    def activity(self, name: str) -> Callable[[A], A]:
        """Register a function of context and input, sync or async, as the activity `name`."""

        def register(function: A) -> A:
            _put(self.activities, "activity", name, function)
            return function

        return register

    def body(self, info: RunInfo) -> Body:
        """Return what a machine needs to run a workflow of this registry."""
        function = self.workflows[info.workflow_type]

        async def run(machine: Machine, input: Any) -> Any:
            return await function(Context(machine, info), input)

        return run


def _put(known: dict[str, Any], what: str, name: str, function: Callable[..., Any]) -> None:
    if known.setdefault(name, function) is not function:
        raise UsageError(f"{what} {name} is defined twice")


default_registry = Registry()


def define(name: str) -> Callable[[W], W]:
    """Register an `async def` as the workflow `name` of this process::

    @workflow.define("Hello")
    async def hello(ctx: workflow.Context, name: str) -> str:
        return await ctx.execute_activity("greet", name)
    """
    return default_registry.define(name)


def activity(name: str) -> Callable[[A], A]:
    """Register a function as the activity `name` of this process::

    @workflow.activity("greet")
    def greet(ctx: activity.Context, name: str) -> str:
        return f"Hello, {name}!"
    """
    return default_registry.activity(name)
