"""The context of a workflow: its only way to the outside, to time and to chance."""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NoReturn, TypedDict, TypeVar, Unpack, overload

from assay import _json, _message
from assay._children import ChildHandle, ChildOptions
from assay._durations import Duration, seconds
from assay._functions import ACTIVITY_NAME, BaseContext, convert, name_of, result_type
from assay._info import Info, RunInfo
from assay._message import REPLIES, Message
from assay._replay import Exited, Machine
from assay._signals import Received
from assay.activity import Context as ActivityContext
from assay.channel import Channel, select
from assay.errors import ActivityError, RequestRejectedError, ResultTimeoutError
from assay.failure import Failure

I = TypeVar("I")  # noqa: E741
R = TypeVar("R")
T = TypeVar("T")

_LONG_LENGTH = 10_000  # events
_LONG_SIZE = 4 * 1024 * 1024  # bytes


class ActivityOptions(TypedDict, total=False):
    """How an activity is run; what is left out is the engine's to decide.

    Three attempts, the first retry after one second, doubling, 300 s for each attempt, no
    heartbeat time-out. The queue is that of the workflow. Times are seconds, or text like "5m".
    """

    task_queue: str
    max_attempts: int
    initial_interval_secs: Duration
    backoff_coefficient: float
    start_to_close_secs: Duration
    heartbeat_timeout_secs: Duration


@dataclass(frozen=True, slots=True)
class ActivityCall:
    """One member of `Context.execute_parallel`."""

    activity: str | Callable[..., Any]
    input: Any = None
    options: ActivityOptions = field(default_factory=ActivityOptions)


class Context(BaseContext):
    """What a workflow is given; everything that could come out differently goes through it."""

    def __init__(self, machine: Machine, info: RunInfo) -> None:
        self._machine = machine
        self._info = info
        self.context = MappingProxyType(dict(info.context))
        """Values that came with the start; activities and children have them too."""
        self.random = random.Random(f"{info.namespace}/{info.workflow_id}/{info.incarnation}")
        """Random numbers that come out the same in every replay."""

    # -- who and when ----------------------------------------------------------------------------

    @property
    def info(self) -> Info:
        """Which run this is, and how much history lies behind it."""
        known = {name: getattr(self._info, name) for name in RunInfo.__slots__}
        return Info(**known, history_length=self.history_length, history_size=self.history_size)

    @property
    def workflow_id(self) -> str:
        """The id of this run."""
        return self._info.workflow_id

    @property
    def history_length(self) -> int:
        """How many events lie behind the workflow."""
        return self._machine.delivered

    @property
    def history_size(self) -> int:
        """About how many bytes of history lie behind the workflow."""
        return self._machine.history_size

    @property
    def should_continue_as_new(self) -> bool:
        """Whether the history has grown so long that a fresh run would be better."""
        return self.history_length >= _LONG_LENGTH or self.history_size >= _LONG_SIZE

    @property
    def is_cancelled(self) -> bool:
        """Whether the cancellation of this run was requested."""
        return self._machine.cancel_requested

    @property
    def cancel_reason(self) -> str | None:
        """The reason given with the request to cancel."""
        return self._machine.cancel_reason

    def now(self) -> datetime:
        """Return the time of the event being looked at, in UTC; the same in every replay."""
        return datetime.fromtimestamp(self._machine.now, UTC)

    def time(self) -> float:
        """Return the same moment as seconds since the epoch."""
        return self._machine.now

    def uuid4(self) -> uuid.UUID:
        """Return a random id that comes out the same in every replay."""
        return uuid.UUID(int=self.random.getrandbits(128), version=4)

    def random_bytes(self, count: int) -> bytes:
        """Return bytes fit for keys; they are recorded, and stand in the history."""
        return bytes.fromhex(self._machine.side_effect("random", lambda: os.urandom(count).hex()))

    def version(self, change: str, min_supported: int, max_supported: int) -> int:
        """Return which version of a change this run goes by.

        A run that came past this point before the change was made gets `min_supported`, every
        other `max_supported`, for good::

            if ctx.version("payment-v2", 1, 2) == 1:
                await ctx.execute_activity("old_payment", order)
            else:
                await ctx.execute_activity("new_payment", order)
        """
        return self._machine.version(change, min_supported, max_supported)

    # -- activities ------------------------------------------------------------------------------

    @overload
    async def execute_activity(
        self,
        activity: Callable[[ActivityContext, I], Coroutine[Any, Any, R]],
        input: I,
        **options: Unpack[ActivityOptions],
    ) -> R: ...
    @overload
    async def execute_activity(
        self,
        activity: Callable[[ActivityContext, I], R],
        input: I,
        **options: Unpack[ActivityOptions],
    ) -> R: ...
    @overload
    async def execute_activity(
        self,
        activity: Callable[[ActivityContext], Coroutine[Any, Any, R]],
        **options: Unpack[ActivityOptions],
    ) -> R: ...
    @overload
    async def execute_activity(
        self, activity: Callable[[ActivityContext], R], **options: Unpack[ActivityOptions]
    ) -> R: ...
    @overload
    async def execute_activity(
        self,
        activity: Callable[[I], Coroutine[Any, Any, R]],
        input: I,
        **options: Unpack[ActivityOptions],
    ) -> R: ...
    @overload
    async def execute_activity(
        self, activity: Callable[[I], R], input: I, **options: Unpack[ActivityOptions]
    ) -> R: ...
    @overload
    async def execute_activity(
        self,
        activity: Callable[[], Coroutine[Any, Any, R]],
        **options: Unpack[ActivityOptions],
    ) -> R: ...
    @overload
    async def execute_activity(
        self, activity: Callable[[], R], **options: Unpack[ActivityOptions]
    ) -> R: ...
    @overload
    async def execute_activity(
        self, activity: str, input: Any = None, **options: Unpack[ActivityOptions]
    ) -> Any: ...

    async def execute_activity(
        self,
        activity: str | Callable[..., Any],
        input: Any = None,
        **options: Unpack[ActivityOptions],
    ) -> Any:
        """Run an activity and return its result; raise `ActivityError` if it failed for good."""
        name = name_of(activity, ACTIVITY_NAME)
        wire = {"task_queue": self._info.task_queue, **_activity_options(options)}
        result = await self._machine.schedule_activity(name, input, wire)
        return convert(result, result_type(activity), f"the result of {name}")

    async def execute_parallel(
        self,
        calls: Sequence[ActivityCall | tuple[str | Callable[..., Any], Any]],
        *,
        limit: int | None = None,
        tolerated_failures: int = 0,
    ) -> list[Any]:
        """Run activities at the same time; return their results in the order of `calls`.

        At most `limit` are under way at once. A failure that is tolerated stands in the list as
        its `ActivityError`. One too many is raised when those under way have ended; what had not
        begun is not begun any more.
        """
        failures: list[ActivityError] = []
        places = asyncio.Semaphore(limit or max(len(calls), 1))

        async def run(call: ActivityCall) -> Any:
            async with places:
                if len(failures) > tolerated_failures:
                    return None
                try:
                    return await self.execute_activity(
                        call.activity,
                        call.input,
                        **call.options,
                    )
                except ActivityError as failure:
                    failures.append(failure)
                    return failure

        listed = [call if isinstance(call, ActivityCall) else ActivityCall(*call) for call in calls]
        results = await asyncio.gather(*(run(call) for call in listed))
        if len(failures) > tolerated_failures:
            raise next(result for result in results if isinstance(result, ActivityError))
        return results

    async def side_effect(self, name: str, run: Callable[[], T]) -> T:
        """Return what `run` returns; it is recorded, and every replay gets the same value.

        What it raises comes as an `ApplicationError`, recorded as well.
        """
        value: T = self._machine.side_effect(name, run)
        return value

    # -- time and signals ------------------------------------------------------------------------

    async def sleep(self, duration: Duration) -> None:
        """Wait; the timer is the engine's, so the wait survives any process."""
        await asyncio.sleep(seconds(duration))

    async def wait_for_signal(self, name: str, timeout: Duration | None = None) -> Any:
        """Return the payload of the next signal of that name, or None when `timeout` is over.

        Signals that came before anybody waited are kept, in their order.
        """
        topic = self._machine.signals.topic(name)
        if not topic.ready:
            self._machine.await_signal(name)
        try:
            async with asyncio.timeout(None if timeout is None else seconds(timeout)):
                return (await topic.receive()).payload
        except TimeoutError:
            return None

    def inbox(self) -> Channel[Message[Any]]:
        """Return a channel of every signal that no topic has claimed."""
        return _message.messages(self._machine.signals.inbox(), Any, self._answer)

    @overload
    def channel(self, name: str, type: type[T]) -> Channel[T]: ...
    @overload
    def channel(self, name: str, type: Any = Any) -> Channel[Any]: ...

    def channel(self, name: str, type: Any = Any) -> Channel[Any]:
        """Return a channel of the payloads of one signal, those that came before included."""
        return _message.payloads(self._machine.signals.topic(name), type)

    @overload
    def messages(self, name: str, type: type[T]) -> Channel[Message[T]]: ...
    @overload
    def messages(self, name: str, type: Any = Any) -> Channel[Message[Any]]: ...

    def messages(self, name: str, type: Any = Any) -> Channel[Message[Any]]:
        """Return the same channel with senders, for signals that want a reply."""
        return _message.messages(self._machine.signals.topic(name), type, self._answer)

    async def select(
        self, *channels: Channel[Any], timeout: Duration | None = None
    ) -> tuple[Channel[Any] | None, Any]:
        """Take from the first of the channels that has something; see `channel.select`."""
        return await select(*channels, timeout=None if timeout is None else seconds(timeout))

    # -- other runs ------------------------------------------------------------------------------

    @overload
    async def start_child_workflow(
        self,
        workflow: str,
        input: Any = None,
        *,
        workflow_id: str | None = None,
        **options: Unpack[ChildOptions],
    ) -> Any: ...
    @overload
    async def start_child_workflow(
        self,
        workflow: Callable[..., Coroutine[Any, Any, R]],
        input: Any = None,
        *,
        workflow_id: str | None = None,
        **options: Unpack[ChildOptions],
    ) -> R: ...

    async def start_child_workflow(
        self,
        workflow: str | Callable[..., Coroutine[Any, Any, Any]],
        input: Any = None,
        *,
        workflow_id: str | None = None,
        **options: Unpack[ChildOptions],
    ) -> Any:
        """Start a child and return its result; raise `ChildWorkflowError` if it did not complete.

        An id that is given must be the same in every replay; without one it gets a random one
        that is.
        """
        child = self.spawn_child_workflow(workflow, input, workflow_id=workflow_id, **options)
        return await child.result()

    @overload
    def spawn_child_workflow(
        self,
        workflow: str,
        input: Any = None,
        *,
        workflow_id: str | None = None,
        **options: Unpack[ChildOptions],
    ) -> ChildHandle[Any]: ...
    @overload
    def spawn_child_workflow(
        self,
        workflow: Callable[..., Coroutine[Any, Any, R]],
        input: Any = None,
        *,
        workflow_id: str | None = None,
        **options: Unpack[ChildOptions],
    ) -> ChildHandle[R]: ...

    def spawn_child_workflow(
        self,
        workflow: str | Callable[..., Coroutine[Any, Any, Any]],
        input: Any = None,
        *,
        workflow_id: str | None = None,
        **options: Unpack[ChildOptions],
    ) -> ChildHandle[Any]:
        """Start a child and go on; the handle waits for it, signals it, cancels it."""
        child_id = workflow_id or f"{self.workflow_id}-{self.uuid4().hex[:12]}"
        queue = options.get("task_queue") or self._info.task_queue
        return ChildHandle.start(
            self._machine, workflow, child_id, input, {**options, "task_queue": queue}
        )

    async def signal(self, workflow_id: str, name: str, payload: Any = None) -> None:
        """Send a signal to another run, once; raise `CallError` if there is no such open run."""
        await self._machine.call(workflow_id, "signal", {"name": name, "payload": payload})

    async def request(
        self,
        workflow_id: str,
        name: str,
        payload: Any = None,
        timeout: Duration | None = None,
    ) -> Any:
        """Send a signal and return the reply; raise `RequestRejectedError` if that is an error."""
        request_id = self.uuid4().hex
        replies = self._machine.signals.topic(REPLIES + request_id)
        fields = {"name": name, "payload": payload, "request_id": request_id}
        await self._machine.call(workflow_id, "signal", fields)
        try:
            async with asyncio.timeout(None if timeout is None else seconds(timeout)):
                reply = (await replies.receive()).payload
        except TimeoutError:
            raise ResultTimeoutError(f"{workflow_id} has not replied to {name} in time") from None
        if reply.get("error") is not None:
            raise RequestRejectedError(workflow_id, Failure.read(reply["error"]))
        return reply.get("payload")

    async def cancel_workflow(
        self, workflow_id: str, reason: str | None = None, deadline: Duration | None = None
    ) -> None:
        """Ask another run to stop; after the deadline it is stopped."""
        secs = None if deadline is None else seconds(deadline)
        await self._machine.call(workflow_id, "cancel", {"reason": reason, "deadline": secs})

    async def terminate_workflow(self, workflow_id: str, reason: str | None = None) -> None:
        """End another run at once."""
        await self._machine.call(workflow_id, "terminate", {"reason": reason})

    async def monitor(self, workflow_id: str) -> None:
        """Be told in `exits` when that run has ended."""
        await self._machine.call(workflow_id, "monitor", {})

    async def unmonitor(self, workflow_id: str) -> None:
        """Be told no longer."""
        await self._machine.call(workflow_id, "unmonitor", {})

    async def link(self, workflow_id: str) -> None:
        """Tie this run to another: when one ends abnormally, the other fails too.

        With `trap_links` set it is told in `exits` instead.
        """
        await self._machine.call(workflow_id, "link", {})

    async def unlink(self, workflow_id: str) -> None:
        """Untie them."""
        await self._machine.call(workflow_id, "unlink", {})

    @property
    def exits(self) -> Channel[Exited]:
        """Runs that were monitored, or linked to with `trap_links`, as they end."""
        return self._machine.exits

    @property
    def trap_links(self) -> bool:
        """Whether the end of a linked run is told in `exits`, instead of failing this one."""
        return self._machine.trap_links

    @trap_links.setter
    def trap_links(self, on: bool) -> None:
        self._machine.trap_links = on

    # -- itself ----------------------------------------------------------------------------------

    def register_query(self, name: str, query: Callable[[], Any]) -> None:
        """Let clients see what `query` returns; it is asked whenever the workflow has gone on."""
        self._machine.register_query(name, query)

    def upsert_search_attributes(self, patch: Mapping[str, Any]) -> Awaitable[None]:
        """Merge `patch` into the run's search attributes, at once; it may be awaited or not."""
        return self.attrs(search=patch)

    def attrs(
        self, *, search: Mapping[str, Any] | None = None, memo: Mapping[str, Any] | None = None
    ) -> Awaitable[None]:
        """Merge into search attributes, which can be searched for, and memo, which cannot."""
        self._machine.upsert(search or {}, memo)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def continue_as_new(self, input: Any = None) -> NoReturn:
        """End this run and start its successor, of the same type, with an empty history."""
        given = {} if input is None else {"input": _json.plain(input)}
        self._machine.close_with({"type": "ContinueAsNew", **given})

    def cancel(self, reason: str | None = None) -> NoReturn:
        """End this run as CANCELLED by the workflow's own decision."""
        given = {} if reason is None else {"reason": reason}
        self._machine.close_with({"type": "CancelWorkflow", **given})

    def _answer(self, request: Received, answer: dict[str, Any]) -> None:
        assert request.request_id is not None
        if request.sender is None:
            self._machine.reply(request.request_id, answer)
            return
        name = REPLIES + request.request_id
        self._machine.call(request.sender, "signal", {"name": name, "payload": answer})


def _activity_options(options: ActivityOptions) -> dict[str, Any]:
    timed = {name for name in options if name.endswith("_secs")}
    return {
        name: seconds(value) if name in timed and value is not None else value  # type: ignore[arg-type]
        for name, value in options.items()
    }
