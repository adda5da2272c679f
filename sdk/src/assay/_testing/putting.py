"""Putting a new run, whoever starts it: a test, a parent, or the run that it goes on for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay import _json
from assay._testing.options import Options
from assay._testing.state import Chain, RunState
from assay._testing.world import World

_CONTINUED = re.compile(r"-continued-\d+(\.\d+)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run that is to be."""

    workflow_id: str
    workflow_type: str
    task_queue: str
    input: Any
    options: Options
    attempt: int = 1
    messages: Sequence[tuple[str, Any]] = ()


def new_chain(world: World, new: NewRun, parent: RunState | None = None) -> Chain:
    """Return the chain that begins with a run."""
    ends_in = new.options.execution_timeout
    return Chain(
        first_id=new.workflow_id,
        parent=parent,
        close_policy=new.options.parent_close_policy,
        ends_at=None if ends_in is None else world.now + ends_in,
    )


def start_child(world: World, parent: RunState, command: Mapping[str, Any]) -> None:
    """Start a child, or tell its parent that its id is in use."""
    child_id = command["workflow_id"]
    known = world.newest.get(child_id)
    if known is not None and (known.open or not _of_an_earlier_parent(known, parent)):
        error = f"a run with the id {child_id} exists already and is not this run's child"
        payload = {"child_workflow_id": child_id, "error": error}
        # Behind the events of all the commands that came with this one.
        world.agenda.soon(lambda: world.tell(parent, "ChildWorkflowFailed", payload))
        return
    new = NewRun(
        workflow_id=child_id,
        workflow_type=command["workflow_type"],
        task_queue=command["task_queue"],
        input=command.get("input"),
        options=Options.read({"context": parent.options.context, **command}),
    )
    chain = new_chain(world, new, parent)
    parent.chain.children.append(chain)
    put(world, new, chain)


def _of_an_earlier_parent(known: RunState, parent: RunState) -> bool:
    starter = known.chain.parent
    same_id = starter is not None and starter.workflow_id == parent.workflow_id
    return same_id and starter is not parent


def put(world: World, new: NewRun, chain: Chain) -> RunState:
    """Put a run into the world; its code begins when its start delay is over."""
    if new.workflow_type not in world.code.stubs:
        world.code.workflows(new.workflow_type)  # raises where nobody could ever run it
    incarnation = f"test-{len(world.runs) + 1}"
    run_id = f"run-{new.workflow_id}-{int(world.now)}"
    run = RunState(
        workflow_id=new.workflow_id,
        run_id=f"{run_id}-{incarnation}" if new.workflow_id in world.newest else run_id,
        incarnation=incarnation,
        workflow_type=new.workflow_type,
        task_queue=new.task_queue,
        input=_json.plain(new.input),
        options=new.options,
        chain=chain,
        attempt=new.attempt,
        ready=new.options.start_delay <= 0,
        memo=dict(new.options.memo),
        search_attributes=dict(new.options.search_attributes),
    )
    chain.runs.append(run)
    world.runs.append(run)
    world.newest[run.workflow_id] = run
    world.append(run, "WorkflowStarted", run.input)
    deliver(world, run, new.messages)
    _set_deadlines(world, run)
    if run.ready:
        world.wake(run)
    else:
        run.deadlines.append(
            world.agenda.later(new.options.start_delay, lambda: _begin(world, run))
        )
    return run


def deliver(world: World, run: RunState, messages: Sequence[tuple[str, Any]]) -> None:
    """Let a run find signals."""
    for name, payload in messages:
        world.tell(run, "SignalReceived", {"signal": name, "payload": payload})


def _begin(world: World, run: RunState) -> None:
    run.ready = True
    world.wake(run)


def _set_deadlines(world: World, run: RunState) -> None:
    options, ends_at = run.options, run.chain.ends_at
    if options.run_timeout is not None:
        _set_deadline(world, run, "run_timeout", options.start_delay + options.run_timeout)
    if ends_at is not None:
        _set_deadline(world, run, "execution_timeout", ends_at - world.now)


def _set_deadline(world: World, run: RunState, ending: str, secs: float) -> None:
    over = world.agenda.later(secs, lambda: world.time_out(world, run, ending))
    run.deadlines.append(over)


def continue_as_new(world: World, run: RunState, input: Any) -> RunState:
    """Put the run that goes on where this one has ended."""
    base = f"{_CONTINUED.sub('', run.workflow_id)}-continued-{int(world.now)}"
    names = (base if n == 0 else f"{base}.{n}" for n in itertools.count())
    workflow_id = next(name for name in names if name not in world.newest)
    return _go_on(world, run, replace(_again(run, 0.0), workflow_id=workflow_id, input=input))


def try_again(world: World, run: RunState, delay: float) -> RunState:
    """Put the next attempt of a run that failed."""
    return _go_on(world, run, replace(_again(run, delay), attempt=run.attempt + 1))


def _again(run: RunState, delay: float) -> NewRun:
    return NewRun(
        workflow_id=run.workflow_id,
        workflow_type=run.workflow_type,
        task_queue=run.task_queue,
        input=run.input,
        options=replace(run.options, start_delay=delay),
    )


def _go_on(world: World, run: RunState, new: NewRun) -> RunState:
    following = put(world, new, run.chain)
    following.memo, following.search_attributes = dict(run.memo), dict(run.search_attributes)
    return following
