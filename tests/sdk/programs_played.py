"""Plays a workflow against an engine that lets events land one by one, live and in replay."""

from __future__ import annotations

from typing import Any

from assay._history import Command

from .histories import STARTED, Code, machine
from .programs_world import World


def played(code: Code, *inbound: tuple[str, Any]) -> list[list[Command]]:
    """Let events land one by one; return what was issued on each, the same live and in replay."""
    world, live = World(), machine(code)
    issued = []
    for kind, payload in (STARTED, *inbound):
        world.append(kind, payload)
        live.feed(world.history, world.seen)
        issued.append(live.commands())
        world.commit(len(world.history), live.commands())
        live.record()
    again = machine(code)
    again.feed(world.history, world.seen)
    assert again.closed == live.closed
    assert not live.closed or again.commands() == issued[-1][-1:]  # the rest is in history
    for each in (live, again):
        each.drop()
    return issued


def result(code: Code, *inbound: tuple[str, Any]) -> Any:
    """Return the result that a workflow comes to."""
    [*_, last] = played(code, *inbound)
    assert last[-1]["type"] == "CompleteWorkflow", last
    return last[-1].get("result")


def fired(seq: int) -> tuple[str, Any]:
    return "TimerFired", {"timer_seq": seq}


def named(commands: list[Command]) -> list[Any]:
    return [command.get("name", command["type"]) for command in commands]
