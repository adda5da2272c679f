"""What workflow code is written with: decorators to name it, and the context it is given.

A workflow is an `async def` of a context and an input. It may use what asyncio has for waiting
(`gather`, `timeout`, `TaskGroup`, `Queue`, ...), and compute what it likes, but everything that
could come out differently the next time goes through the context.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from assay._children import ChildHandle, ChildOptions
from assay._context import ActivityCall, ActivityOptions, Context
from assay._functions import Registry
from assay._guard import unguarded
from assay._info import Info, RunInfo
from assay._message import Message
from assay._replay import Body, Exited, Machine
from assay.channel import Channel, ChannelClosedError, select
from assay.errors import ActivityError, ApplicationError, ChildWorkflowError, UsageError
from assay.saga import Saga

if TYPE_CHECKING:
    from assay.client import Client
    from assay.worker import WorkerOptions

__all__ = [
    "ActivityCall",
    "ActivityError",
    "ActivityOptions",
    "ApplicationError",
    "Channel",
    "ChannelClosedError",
    "ChildHandle",
    "ChildOptions",
    "ChildWorkflowError",
    "Context",
    "Exited",
    "Info",
    "Message",
    "Registry",
    "Saga",
    "activity",
    "connect",
    "define",
    "listen",
    "select",
    "unguarded",
]

F = TypeVar("F", bound=Callable[..., Any])

default_registry = Registry()
_connected: list[Client] = []


@overload
def define(name: str) -> Callable[[F], F]: ...
@overload
def define(name: str, function: F) -> F: ...
@overload
def define(name: F) -> F: ...


def define(name: Any, function: Any = None) -> Any:
    """Register an `async def` as the workflow `name` of this process::

    @workflow.define("Hello")
    async def hello(ctx: workflow.Context, name: str) -> str:
        return await ctx.execute_activity(greet, name)

    Without a name it has that of the function; `workflow.define("Hello", hello)` does the same.
    """
    return _register(default_registry.define, name, function)


@overload
def activity(name: str) -> Callable[[F], F]: ...
@overload
def activity(name: str, function: F) -> F: ...
@overload
def activity(name: F) -> F: ...


def activity(name: Any, function: Any = None) -> Any:
    """Register a function, sync or async, as the activity `name` of this process::

    @workflow.activity("greet")
    def greet(name: str) -> str:
        return f"Hello, {name}!"

    A first parameter that is called `ctx`, or annotated as `activity.Context`, gets the context.
    """
    return _register(default_registry.activity, name, function)


def _register(register: Callable[[str], Any], name: Any, function: Any) -> Any:
    if callable(name):
        return register(name.__name__)(name)
    return register(name) if function is None else register(name)(function)


def connect(url: str, *, token: str | None = None, namespace: str = "main") -> Client:
    """Say where the engine is, for `listen`; return the client."""
    from assay.client import Client  # noqa: PLC0415  only who listens needs one

    client = Client(url, token=token, namespace=namespace)
    _connected[:] = [client]
    return client


def listen(*, queue: str = "default", **options: Unpack[WorkerOptions]) -> None:
    """Work off a queue of the connected engine until SIGTERM or SIGINT::

    workflow.connect("http://127.0.0.1:8080")
    workflow.listen(queue="deploys")
    """
    from assay.worker import Worker  # noqa: PLC0415  it imports this module

    if not _connected:
        raise UsageError("say where the engine is: workflow.connect(url), then workflow.listen()")
    Worker(_connected[0], queue=queue, **options).run()


def body(registry: Registry, info: RunInfo) -> Body:
    """Return what a machine needs to run a workflow of a registry."""
    bound = registry.workflows[info.workflow_type]

    async def run(machine: Machine, input: Any) -> Any:
        return await bound.function(*bound.arguments(Context(machine, info), input))

    return run
