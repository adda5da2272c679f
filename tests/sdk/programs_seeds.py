"""Replays one history in a process of its own and prints what came of it; see test_programs_seeds.

Reads the events as JSON from standard input. The argument says how many objects are made first,
so that everything else lies elsewhere in memory.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from assay import workflow
from assay._history import Event

from .histories import machine


def stepper(ctx: workflow.Context, log: list[Any]) -> Callable[[str], Coroutine[Any, Any, str]]:
    async def attempt(name: str) -> None:
        try:
            await ctx.execute_activity(name)
        except workflow.ActivityError as error:
            log.append(str(error))

    async def step(name: str) -> str:
        try:
            await attempt(name)
        except asyncio.CancelledError:
            log.append(f"{name} cancelled")
            await attempt(f"undo {name}")
        return name

    return step


async def crowd(ctx: workflow.Context, input: Any) -> Any:
    """Everything in which asyncio, or the code, keeps tasks and futures in sets."""
    log: list[Any] = []
    step = stepper(ctx, log)
    tasks = {asyncio.create_task(step(f"set-{number}")) for number in range(12)}
    for task in list(tasks)[::3]:
        task.cancel()
    done, pending = await asyncio.wait(tasks, timeout=5)
    log += [[task.get_name() for task in some] for some in (done, pending)]
    for task in pending:
        task.cancel()
    gathered = [asyncio.gather(step(f"gather-{number}")) for number in range(6)]
    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(step(f"group-{number}"))
        await asyncio.sleep(0)
        for task in asyncio.all_tasks():
            log.append(task.get_name())
            if "task" in task.get_name():
                task.cancel()
    await asyncio.sleep(1)
    done_gathers, open_gathers = await asyncio.wait(set(gathered), timeout=0.1)
    log += [len(done_gathers), len(open_gathers)]
    for gathering in (*done_gathers, *open_gathers):
        log.append(gathered.index(gathering))
        gathering.cancel()
        await asyncio.gather(gathering, return_exceptions=True)
    for each in asyncio.as_completed([step(f"done-{number}") for number in range(6)]):
        log.append(await each)
    return log


def main() -> None:
    chance = random.Random()
    kept = [bytearray(chance.randrange(1, 900)) for _ in range(int(sys.argv[1]))]
    chance.shuffle(kept)
    del kept[::2]
    events = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Event])
    run = machine(crowd)
    run.feed(events)
    json.dump([run.delivered, run.history_size, run.commands()], sys.stdout)


if __name__ == "__main__":
    main()
