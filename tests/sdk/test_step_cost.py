"""What a step costs a worker does not grow with the history behind it.

CPU time of this process, cheapest of several tries: what else the machine does hardly shows.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from assay import _loop, workflow
from assay._history import Event
from assay._replay import Machine

from .histories import machine

STEPS = 5_000
CHUNK = 50
TRIES = 12


async def chain(ctx: workflow.Context, input: Any) -> Any:
    total = 0
    for number in range(STEPS):
        total += await ctx.execute_activity("add", {"number": number})
    return total


def outcome(seq: int, step: int) -> Event:
    payload = {"activity_seq": step, "name": "add", "result": 1}
    return Event(seq, "ActivityCompleted", payload, float(seq))


def begun() -> Machine:
    run = machine(chain)
    run.feed([Event(1, "WorkflowStarted", None, 1.0)], seen=0)
    run.record()
    return run


def fuse(run: Machine, first: int, count: int) -> None:
    """Give a cached run the outcomes of some of its activities, as a fused step does."""
    for step in range(first, first + count):
        run.deliver(outcome(run.delivered + 1, step))
        assert len(run.commands()) == 1
        run.record()


def history(steps: int) -> list[Event]:
    events = [Event(1, "WorkflowStarted", None, 1.0)]
    for step in range(1, steps + 1):
        scheduled = {"activity_seq": step, "name": "add"}
        events.append(Event(2 * step, "ActivityScheduled", scheduled, float(2 * step)))
        events.append(outcome(2 * step + 1, step))
    return events


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds that something takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


@contextmanager
def collector_off() -> Iterator[None]:
    """The collector's work depends on what all other tests have left behind."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cheapest(costs: Callable[[], tuple[float, float]], ratio: float) -> tuple[float, float]:
    """Return the lowest of both costs over some tries; no more of them than it takes."""
    tries: list[tuple[float, float]] = []
    while True:
        tries.append(costs())
        low, high = (min(column) for column in zip(*tries, strict=True))
        if len(tries) >= TRIES or (len(tries) > 1 and high < ratio * low):
            return low, high


def cheapest_chunk(run: Machine, first: int, count: int) -> float:
    """Return the cost of the cheapest tenth of some steps, per step."""
    chunks = range(first, first + count, CHUNK)
    costs = sorted(cpu(lambda at=at: fuse(run, at, CHUNK)) for at in chunks)  # type: ignore[misc]
    return costs[len(costs) // 10] / CHUNK


def early_and_late() -> tuple[float, float]:
    """Return what a step costs at the beginning of a long run, and at its end."""
    with collector_off():
        run = begun()
        early = cheapest_chunk(run, 1, 500)
        fuse(run, 501, STEPS - 1_001)
        late = cheapest_chunk(run, STEPS - 500, 500)
    run.drop()
    return early, late


def test_a_step_at_the_end_of_a_long_run_costs_what_one_at_its_beginning_does() -> None:
    early, late = cheapest(early_and_late, 1.5)

    assert late < 1.5 * early, f"{early * 1e6:.0f} µs, then {late * 1e6:.0f} µs"


def replay(events: list[Event]) -> None:
    run = machine(chain)
    run.feed(events, seen=len(events))
    assert run.outstanding <= 1
    run.drop()


def test_replaying_twice_the_history_costs_about_twice_as_much() -> None:
    half_of_it, all_of_it = history(STEPS // 2)[:-1], history(STEPS)[:-1]

    def both() -> tuple[float, float]:
        with collector_off():
            return cpu(lambda: replay(half_of_it)), cpu(lambda: replay(all_of_it))

    half, whole = cheapest(both, 2.6)

    assert whole < 2.6 * half, f"{half:.3f} s, then {whole:.3f} s"


@contextmanager
def nothing() -> Iterator[None]:
    yield


def test_what_the_guard_costs_is_known(
    monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """Nothing is asserted of it; `pytest -s` shows it, and the junit report has it."""

    def cost() -> float:
        with collector_off():
            run = begun()
            costs = [cpu(lambda at=at: fuse(run, at, CHUNK)) for at in range(1, 1_001, CHUNK)]  # type: ignore[misc]
        run.drop()
        return min(costs) / CHUNK

    guarded = min(cost() for _ in range(4))
    monkeypatch.setattr(_loop, "guarded", nothing)
    free = min(cost() for _ in range(4))
    text = f"a step: {guarded * 1e6:.0f} µs, of which the guard {(guarded - free) * 1e6:.0f} µs"
    record_property("step_cost", text)
    print(text)  # noqa: T201
