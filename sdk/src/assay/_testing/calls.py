"""What a run does to another one: the calls of CallWorkflow, and how they come out."""

from __future__ import annotations

from typing import Any

from assay._history import Command
from assay._testing import endings
from assay._testing.state import RunState, Watcher
from assay._testing.world import World

_NOT_FOUND = {"kind": "NOT_FOUND", "message": "there is no such run"}
_WATCHING = ("monitor", "unmonitor", "link", "unlink")
_CLOSED = {"kind": "CLOSED", "message": "the run has ended"}


def perform(world: World, caller: RunState, command: Command) -> None:
    """Do what was asked, and tell the caller how it went."""
    target = world.newest.get(command["workflow_id"])
    if target is None:
        error: Any = _NOT_FOUND
    elif command["call"] in _WATCHING:
        error = None
    else:
        error = None if _change(world, caller, target, command) else _CLOSED
    ended = {"call_seq": command["seq"]} | ({} if error is None else {"error": error})
    world.tell(caller, "WorkflowCallEnded", ended)
    if target is not None and command["call"] in _WATCHING:
        _watching(world, caller, target, command)


def _change(world: World, caller: RunState, target: RunState, command: Command) -> bool:
    match command["call"]:
        case "signal":
            return _signal(world, caller, target, command)
        case "cancel":
            reason, deadline = command.get("reason"), command.get("deadline")
            return endings.request_cancel(world, target, reason, deadline)
        case _:
            return endings.terminate(world, target, command.get("reason"))


def _signal(world: World, caller: RunState, target: RunState, command: Command) -> bool:
    sender = {"workflow_id": caller.workflow_id, "run_id": caller.run_id}
    payload = {"signal": command["name"], "payload": command.get("payload"), "from": sender}
    if "request_id" in command:
        payload["request_id"] = command["request_id"]
    return world.tell(target, "SignalReceived", payload)


def _watching(world: World, caller: RunState, target: RunState, command: Command) -> None:
    call, seq = command["call"], command["seq"]
    linked = call in ("link", "unlink")
    if call in ("monitor", "link"):
        _watch(world, target, Watcher(run=caller, call_seq=seq, linked=linked))
        if linked and target.chain.latest.open:
            _watch(world, caller, Watcher(run=target, call_seq=None, linked=True))
        return
    _forget(target, caller, linked=linked)
    if linked:
        _forget(caller, target, linked=True)


def _watch(world: World, watched: RunState, watcher: Watcher) -> None:
    chain = watched.chain
    if chain.latest.open:
        chain.watchers.append(watcher)
    else:
        endings.tell_watcher(world, watcher, chain)


def _forget(watched: RunState, watching: RunState, *, linked: bool) -> None:
    chain = watched.chain
    chain.watchers = [
        watcher
        for watcher in chain.watchers
        if watcher.run is not watching or watcher.linked is not linked
    ]
