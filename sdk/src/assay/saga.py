"""Compensations: what was done is undone, the last thing first, when a later step fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

__all__ = ["Saga"]

# What ends the run or gives it up is none of its business.
_UNDO = (Exception, asyncio.CancelledError)


class Saga:
    """Runs the compensations that were noted if its block ends with an error or a cancellation::

    async with Saga() as saga:
        reservation = await ctx.execute_activity("reserve", order)
        saga.compensate(ctx.execute_activity, "release", reservation)
        await ctx.execute_activity("charge", order)

    One that fails does not keep the others from being run; all errors are then raised together.
    """

    def __init__(self) -> None:
        self._steps: list[Callable[[], Awaitable[Any]]] = []

    def compensate(
        self, function: Callable[..., Awaitable[Any]], /, *arguments: Any, **options: Any
    ) -> None:
        """Note what undoes the step that has just been done."""
        self._steps.append(lambda: function(*arguments, **options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, _UNDO):
            return
        failures: list[Exception] = []
        for undo in reversed(self._steps):
            try:
                await undo()
            except Exception as failure:  # noqa: BLE001  raised below, with the others
                failures.append(failure)
        if failures:
            text = "a step failed, and so did compensations"
            raise BaseExceptionGroup(text, [error, *failures])
