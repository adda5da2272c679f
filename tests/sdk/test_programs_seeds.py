"""A history means the same in every process: no hash seed and no memory address shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from .histories import machine
from .programs_seeds import crowd
from .programs_world import World

ROOT = Path(__file__).parents[2]
PROCESSES: tuple[dict[str, str], ...] = (
    {"PYTHONHASHSEED": "0"},
    {"PYTHONHASHSEED": "1"},
    {"PYTHONMALLOC": "malloc"},
    {},
)


def _recorded() -> tuple[World, Any]:
    """Let the workflow run to its end on an engine that ends the last thing first."""
    world, run = World(), machine(crowd)
    world.append("WorkflowStarted", None)
    for _ in range(200):
        run.feed(world.history, world.seen)
        if run.closed:
            return world, run.commands()[-1]
        world.commit(len(world.history), run.commands())
        run.record()
        world.take(world.ends()[-1])
    raise AssertionError("it does not end")


def test_processes_with_other_hashes_and_addresses_replay_to_the_same_end() -> None:
    world, end = _recorded()
    history = msgspec.json.encode(world.history)
    came_to = set()
    for number, settings in enumerate(PROCESSES):
        command = [sys.executable, "-m", f"{__package__}.programs_seeds", str(number * 4_000)]
        done = subprocess.run(
            command,
            input=history,
            capture_output=True,
            check=False,
            cwd=ROOT,
            env={**os.environ, **settings},
        )
        assert done.returncode == 0, done.stderr.decode()
        came_to.add(done.stdout)

    assert len(came_to) == 1
    delivered, _, commands = msgspec.json.decode(came_to.pop())
    assert (delivered, commands[-1]) == (len(world.history), end)
