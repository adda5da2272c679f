"""An asyncio event loop that knows no clock and no I/O: what runs on it runs the same each time.

Callbacks run in the order in which they were asked for, until none is left. Its time is that of
the workflow's history, and a timer is handed to whoever drives the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import logging
import sys
from asyncio import events, tasks
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple, Unpack

from assay._guard import guarded
from assay.errors import ForbiddenCallError, UsageError

logger = logging.getLogger("assay.workflow")

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_MOST_STEPS = 1_000_000  # between two waits: more is a loop that never ends
_MOST_THROWS = 100  # into a task that is given up: each `finally` that waits survives one


class Timers(Protocol):
    """What keeps the loop's time."""

    @property
    def now(self) -> float:
        """Seconds since the epoch, as the history has them."""

    def start_timer(self, handle: asyncio.TimerHandle, secs: float) -> None:
        """Run `handle` when `secs` are over."""

    def stop_timer(self, handle: asyncio.TimerHandle) -> None:
        """Do not."""


class _Abandoned(BaseException):
    """Thrown through workflow code that is given up."""


class _Numbered:
    """Hashed by its number: the order of a set of tasks must not depend on memory addresses."""

    number: int

    def __hash__(self) -> int:
        return self.number


class LoopFuture(_Numbered, asyncio.Future[Any]):
    """A future of this loop."""

    def __init__(self, *, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self.number = number
        super().__init__(loop=loop)


class LoopTask(_Numbered, asyncio.Task[Any]):
    """A task of this loop."""

    def __init__(self, coro: Coroutine[Any, Any, Any], *, number: int, **rest: Any) -> None:
        self.number = number
        super().__init__(coro, **rest)
        self._log_destroy_pending = False  # a run that is thrown away need not have ended

    def abandon(self) -> None:
        """End it; its `finally` blocks run, and whatever they wait for is not waited for.

        Not by `close()`: where that meets a `finally` that waits, the inner coroutines are left
        to the garbage collector, and their errors go to stderr.
        """
        coro = self.get_coro()
        for _ in range(_MOST_THROWS):
            try:
                coro.throw(_Abandoned())
            except _Abandoned:
                return
            except BaseException:
                logger.debug("a workflow did not end quietly when it was given up", exc_info=True)
                return
        logger.warning("a workflow that was given up does not let itself be ended")


class WorkflowLoop(asyncio.AbstractEventLoop):
    """Runs the tasks of one workflow."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._ready: deque[asyncio.Handle] = deque()
        self._numbers = itertools.count(1)
        self._tasks: set[LoopTask] = set()
        self._closed = False

    # -- what the machine does with it -----------------------------------------------------------

    def run_until_blocked(self) -> None:
        """Run what is ready, and what becomes ready by it, until everything waits."""
        with self._running(), guarded():
            for _ in range(_MOST_STEPS):
                if not self._ready:
                    return
                handle = self._ready.popleft()
                if not handle.cancelled():
                    try:  # noqa: SIM105  each call costs, while the guard looks at them
                        handle._run()
                    except SystemExit:
                        pass  # its task keeps it: a workflow ends nothing else
        raise UsageError("the workflow goes round without ever waiting for anything")

    def fire(self, handle: asyncio.TimerHandle) -> None:
        """Let a timer's callback run."""
        self._ready.append(handle)

    def drop(self) -> None:
        """Give up everything that still waits."""
        self._closed = True
        self._ready.clear()
        with self._running():
            while self._tasks:  # a `finally` may have started others
                for task in sorted(self._tasks, key=hash):
                    self._tasks.discard(task)
                    task.abandon()
        self._ready.clear()

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Be the running loop, also where another one runs already."""
        outer = events._get_running_loop()
        swap = getattr(tasks, "_swap_current_task", None)  # from 3.12 on: a task is per thread
        current = swap(outer, None) if swap and outer is not None else None
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._close_generator)
        events._set_running_loop(self)
        try:
            yield
        finally:
            events._set_running_loop(outer)
            sys.set_asyncgen_hooks(*hooks)
            if swap and outer is not None:
                swap(outer, current)

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Close a generator that nobody iterates any more; not when chance has found it."""
        if self.is_running() and not self._closed:
            self.create_task(generator.aclose())

    # -- what asyncio asks of a loop -------------------------------------------------------------

    def time(self) -> float:
        return self._timers.now

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        # Whole microseconds: the difference of two clock readings is not 5.0 again.
        delay = round(when - self.time(), 6)
        if delay <= 0:
            self._ready.append(handle)
        elif not self._closed:  # what is being given up may wait for ever
            self._timers.start_timer(handle, delay)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if not self._closed:
            self._timers.stop_timer(handle)

    def create_future(self) -> asyncio.Future[Any]:
        return LoopFuture(number=next(self._numbers), loop=self)

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **rest: Any,
    ) -> asyncio.Task[Any]:
        if _is_out_of_order(sys._getframe(1)):
            coro.close()
            raise UsageError(_OUT_OF_ORDER)
        number = next(self._numbers)
        rest = {"loop": self, "name": name or f"task-{number}", "context": context, **rest}
        task = LoopTask(coro, number=number, **rest)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def number(self) -> int:
        """Return the next number for what may stand in a set."""
        return next(self._numbers)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._closed

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None or isinstance(error, Exception):  # else the run was ended by it
            logger.warning("%s", context.get("message"), exc_info=error)

    call_exception_handler = default_exception_handler

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: generators end with their tasks."""


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise ForbiddenCallError(f"{name} in a workflow: {_INSTEAD[name]}")

    return refuse


_IO = "do the input and output in an activity, and await ctx.execute_activity(...)"
_THREAD = "run what blocks in an activity, and await ctx.execute_activity(...)"
_INSTEAD = {
    "run_in_executor": _THREAD,
    "call_soon_threadsafe": _THREAD,
    "set_default_executor": _THREAD,
    "add_signal_handler": "send the workflow a signal instead",
    "run_forever": "the worker runs the workflow",
    "run_until_complete": "use await",
} | dict.fromkeys(
    (
        "getaddrinfo",
        "getnameinfo",
        "create_connection",
        "create_server",
        "create_unix_connection",
        "create_unix_server",
        "create_datagram_endpoint",
        "connect_read_pipe",
        "connect_write_pipe",
        "subprocess_exec",
        "subprocess_shell",
        "add_reader",
        "add_writer",
        "sock_connect",
        "sock_accept",
        "sock_recv",
        "sock_recv_into",
        "sock_recvfrom",
        "sock_recvfrom_into",
        "sock_sendall",
        "sock_sendfile",
        "sock_sendto",
        "connect_accepted_socket",
        "sendfile",
        "start_tls",
    ),
    _IO,
)
for _name in _INSTEAD:
    setattr(WorkflowLoop, _name, _refusing(_name))


# -- what asyncio itself puts in sets ------------------------------------------------------------

_as_completed = tasks.as_completed
_OUT_OF_ORDER = (
    "as_completed takes coroutines in no fixed order: call it as asyncio.as_completed(...), "
    "or give it tasks"
)
_ITS_NAMES = ("as_completed", "_AsCompletedIterator.__init__")  # the latter from 3.13 on


def _is_out_of_order(frame: FrameType | None) -> bool:
    """Say whether asyncio is making tasks of a set of coroutines: by `as_completed`, as it was."""
    for _ in range(4):
        if frame is None or frame.f_globals is not tasks.__dict__:
            return False
        if frame.f_code.co_qualname in _ITS_NAMES:
            return True
        frame = frame.f_back
    return False


@functools.wraps(_as_completed)
def _in_order(fs: Iterable[Any], **rest: Any) -> Iterator[Any]:
    if isinstance(events._get_running_loop(), WorkflowLoop):
        fs = [asyncio.ensure_future(each) for each in dict.fromkeys(fs)]
    return _as_completed(fs, **rest)


def _number_of_gathering(self: Any) -> int:
    loop = self.get_loop()
    if not isinstance(loop, WorkflowLoop):
        return object.__hash__(self)
    if not hasattr(self, "number"):
        self.number = loop.number()
    return int(self.number)


# Outside of workflows both do what they have always done.
asyncio.as_completed = tasks.as_completed = _in_order
tasks._GatheringFuture.__hash__ = _number_of_gathering  # type: ignore[attr-defined]
