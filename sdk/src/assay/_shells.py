"""The two ways to carry out a procedure, and methods made from one, blocking or to be awaited.

A function of the core becomes a method of both clients, with its signature and its docstring, so
that the two cannot drift apart.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar

from assay._calls import Call
from assay._clock import Clock
from assay._procedure import Pause, Procedure, ask
from assay._transport import AsyncTransport, Request, Response, Transport
from assay.errors import ConnectionFailedError

P = ParamSpec("P")
T = TypeVar("T")
X = TypeVar("X")

Work: TypeAlias = Call[T] | Procedure[T]


class Driver:
    """Carries out requests and pauses in this thread."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    def run(self, work: Work[T]) -> T:
        procedure = ask(work) if isinstance(work, Call) else work
        try:
            step = next(procedure)
            while True:
                try:
                    answer = self._do(step)
                except ConnectionFailedError as error:
                    step = procedure.throw(error)
                else:
                    step = procedure.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def _do(self, step: Request | Pause) -> Response | None:
        if isinstance(step, Request):
            return self._transport.send(step)
        self._clock.pause(step.secs)
        return None


class AsyncDriver:
    """Carries them out on the running loop."""

    def __init__(self, transport: AsyncTransport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    async def run(self, work: Work[T]) -> T:
        procedure = ask(work) if isinstance(work, Call) else work
        try:
            step = next(procedure)
            while True:
                try:
                    answer = await self._do(step)
                except ConnectionFailedError as error:
                    step = procedure.throw(error)
                else:
                    step = procedure.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _do(self, step: Request | Pause) -> Response | None:
        if isinstance(step, Request):
            return await self._transport.send(step)
        await self._clock.wait(asyncio.Event(), step.secs)
        return None


class Blocking(Generic[X]):
    """Has methods that are made with `blocking`."""

    def __init__(self, core: X, driver: Driver) -> None:
        self._core = core
        self._driver = driver


class Awaiting(Generic[X]):
    """Has methods that are made with `awaiting`."""

    def __init__(self, core: X, driver: AsyncDriver) -> None:
        self._core = core
        self._driver = driver


def blocking(
    make: Callable[Concatenate[X, P], Work[T]],
) -> Callable[Concatenate[Blocking[X], P], T]:
    """Return a method that does the work `make` describes, and returns when it is done."""

    @functools.wraps(make)
    def method(self: Blocking[X], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._driver.run(make(self._core, *args, **kwargs))

    return method


def awaiting(
    make: Callable[Concatenate[X, P], Work[T]],
) -> Callable[Concatenate[Awaiting[X], P], Coroutine[Any, Any, T]]:
    """Return the same method for a loop."""

    @functools.wraps(make)
    async def method(self: Awaiting[X], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._driver.run(make(self._core, *args, **kwargs))

    return method
