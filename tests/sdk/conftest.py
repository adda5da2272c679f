"""A worker against the engine in memory, on a clock that the test moves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay import Client, Worker, activity, workflow
from assay._transport import AsyncTransport

from .fake_clock import FakeClock, settle
from .fake_engine import FakeEngine
from .fake_runs import Run


@dataclass
class Stage:
    """One engine, one clock, and as many workers as a test starts."""

    clock: FakeClock = field(default_factory=FakeClock)
    registry: workflow.Registry = field(default_factory=workflow.Registry)

    def __post_init__(self) -> None:
        self.engine = FakeEngine(self.clock)

    @asynccontextmanager
    async def worker(
        self, transport: AsyncTransport | None = None, **options: Any
    ) -> AsyncIterator[Worker]:
        client = Client("http://engine", worker_transport=transport or self.engine)
        worker = Worker(client, registry=self.registry, clock=self.clock, **options)
        running = asyncio.create_task(worker.run_async())
        await settle()
        try:
            yield worker
        finally:
            worker.stop()
            while not running.done():
                await self.clock.advance(1)
            client.close()
            running.result()

    async def ended(self, run: Run) -> Any:
        """Return the payload of the last event when the run has ended."""
        async with asyncio.timeout(20):
            await run.closed.wait()
        await settle()
        return run.events[-1]["payload"]


def charge_and_ship(stage: Stage) -> None:
    @stage.registry.define("Order")
    async def order(ctx: workflow.Context, input: Any) -> Any:
        paid = await ctx.execute_activity("charge", input)
        return await ctx.execute_activity("ship", paid)

    @stage.registry.activity("charge")
    async def charge(ctx: activity.Context, input: Any) -> Any:
        return {"paid": input}

    @stage.registry.activity("ship")
    def ship(ctx: activity.Context, input: Any) -> Any:
        return [input, threading.current_thread() is threading.main_thread()]


Scenario = Callable[[Stage], Awaitable[None]]


@pytest.fixture
def play() -> Callable[[Scenario], None]:
    """Run a scenario on a loop of its own."""

    def run(scenario: Scenario) -> None:
        async def main() -> None:
            await scenario(Stage())

        asyncio.run(main())

    return run
