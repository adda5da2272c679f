"""Whatever happens in whatever order: replaying a history does what was done live.

A program is a list of steps; the simulation decides at random when events land, when the worker
gets a task, whether an outcome is fused, and when the cache is lost.
"""

from __future__ import annotations

import itertools
from asyncio import CancelledError
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from assay import workflow
from assay._history import Command, Event
from assay._replay import Machine
from assay.errors import ActivityError, ChildWorkflowError

from .fake_runs import RECORDED

INFO = workflow.RunInfo(
    workflow_id="w", workflow_type="Program", namespace="main", task_queue="q", parent_id=None
)
STEPS = st.lists(
    st.one_of(
        st.just(("activity",)),
        st.tuples(st.just("parallel"), st.integers(0, 3)),
        st.just(("sleep",)),
        st.tuples(st.just("signal"), st.sampled_from("ab")),
        st.tuples(st.just("timed_signal"), st.sampled_from("ab")),
        st.just(("side_effect",)),
        st.just(("upsert",)),
        st.tuples(st.just("child"), st.sampled_from("xy")),
    ),
    max_size=8,
)


class Program:
    """Runs the steps and notes what it sees; `chance` never says the same thing twice."""

    def __init__(self, steps: list[Any], chance: Iterator[int]) -> None:
        self.steps = steps
        self.chance = chance
        self.seen: list[Any] = []

    def machine(self) -> Machine:
        self.seen = []
        registry = workflow.Registry()
        registry.define("Program")(self.run)
        return Machine(workflow.body(registry, INFO))

    async def run(self, ctx: workflow.Context, input: Any) -> Any:
        for number, step in enumerate(self.steps):
            try:
                self.seen.append(await self.step(ctx, number, step))
            except (ActivityError, ChildWorkflowError) as error:
                self.seen.append(str(error))
            except CancelledError:
                self.seen.append("cancelled")
            self.seen.append((ctx.now(), ctx.history_length, ctx.history_size))
        return len(self.seen)

    async def step(self, ctx: workflow.Context, number: int, step: Any) -> Any:
        kind, *rest = step
        doing = {
            "activity": lambda: ctx.execute_activity(f"act-{number}"),
            "parallel": lambda count: ctx.execute_parallel([(f"par-{n}", n) for n in range(count)]),
            "sleep": lambda: ctx.sleep(1),
            "signal": ctx.wait_for_signal,
            "timed_signal": lambda name: ctx.wait_for_signal(name, timeout=1),
            "side_effect": lambda: ctx.side_effect("chance", lambda: next(self.chance)),
            "upsert": lambda: ctx.upsert_search_attributes({"at": number}),
            "child": lambda name: ctx.start_child_workflow("Child", workflow_id=f"child-{name}"),
        }
        return await doing[kind](*rest)


@dataclass
class World:
    """The engine's side: a history, and what may still happen to it."""

    history: list[Event] = field(default_factory=list)
    open: list[Command] = field(default_factory=list)
    issued: list[tuple[int, list[Command]]] = field(default_factory=list)

    def append(self, kind: str, payload: Any) -> Event:
        seq = len(self.history) + 1
        self.history.append(Event(seq, kind, payload, float(seq * 7 % 11)))
        return self.history[-1]

    def record(self, seen: int, commands: list[Command]) -> None:
        self.issued.append((seen, [_comparable(command) for command in commands]))
        for command in commands:
            if command["type"] not in RECORDED:
                continue
            if command["type"] == "StartChildWorkflow":  # a repeat would leave no event either
                assert command["workflow_id"] not in [each.get("workflow_id") for each in self.open]
            kind, names = RECORDED[command["type"]]
            self.append(kind, {theirs: command[ours] for ours, theirs in names.items()})
            self.open.append(command)

    def outcome(self, draw: Any) -> tuple[str, Any] | None:
        """Return something that may land now: an end of what is open, a signal, a cancel."""
        ends = [end for command in self.open for end in _ends(command)]
        ends += [(None, "SignalReceived", {"signal": name, "payload": 1}) for name in "ab"]
        ends += [(None, "WorkflowCancelRequested", None)]
        command, kind, payload = draw(st.sampled_from(ends))
        if command is not None:
            self.open.remove(command)
        return kind, payload


def _ends(command: Command) -> list[tuple[Command | None, str, Any]]:
    match command["type"]:
        case "ScheduleActivity":
            seq = {"activity_seq": command["seq"]}
            failed = {**seq, "error": "no", "final_attempt": 1}
            return [
                (command, "ActivityCompleted", {**seq, "result": command["seq"]}),
                (command, "ActivityFailed", failed),
            ]
        case "ScheduleTimer":
            return [(command, "TimerFired", {"timer_seq": command["seq"]})]
        case "StartChildWorkflow":
            child = {"child_workflow_id": command["workflow_id"]}
            return [
                (command, "ChildWorkflowCompleted", {**child, "result": 1}),
                (command, "ChildWorkflowFailed", {**child, "error": "no"}),
            ]
    return []


def _comparable(command: Command) -> Command:
    # What a side effect returns before it is recorded is anybody's guess: that is its point.
    return {key: value for key, value in command.items() if key != "value"}


class Simulation:
    """A worker and an engine, driven by chance."""

    def __init__(self, steps: list[Any], draw: Any) -> None:
        self.steps = steps
        self.draw = draw
        self.live = Program(steps, itertools.count())
        self.machine = self.live.machine()
        self.world = World()
        self.world.append("WorkflowStarted", None)

    def land(self) -> None:
        self.world.append(*self.world.outcome(self.draw))

    def task(self) -> None:
        self.machine.feed(self.world.history)
        self.world.record(len(self.world.history), self.machine.commands())
        self.machine.record()

    def landed_during_task(self) -> None:
        self.machine.feed(self.world.history)
        seen, commands = len(self.world.history), self.machine.commands()
        self.land()
        if self.machine.closed:  # closing needs sight: it is refused, and the worker starts afresh
            self.evict()
        else:
            self.world.record(seen, commands)

    def fuse(self) -> None:
        up_to_date = self.machine.delivered == len(self.world.history)
        if up_to_date and not self.machine.outstanding:
            self.machine.deliver(self.world.append(*self.world.outcome(self.draw)))
            self.world.record(len(self.world.history), self.machine.commands())
            self.machine.record()

    def evict(self) -> None:
        self.machine = self.live.machine()

    def go_on(self) -> None:
        moves = [self.land, self.task, self.landed_during_task, self.fuse, self.evict]
        self.draw(st.sampled_from(moves))()

    def replay(self, length: int) -> tuple[list[Command], Program]:
        """Do the first `length` events again, with other chances."""
        program = Program(self.steps, itertools.count(1000))
        machine = program.machine()
        machine.feed(self.world.history[:length])
        return [_comparable(command) for command in machine.commands()], program


@settings(max_examples=400, deadline=None)
@given(STEPS, st.data())
def test_replay_issues_and_sees_what_was_issued_and_seen_live(steps: Any, data: Any) -> None:
    simulation = Simulation(steps, data.draw)
    for _ in range(data.draw(st.integers(1, 30))):
        if not simulation.machine.closed:
            simulation.go_on()
    machine, world = simulation.machine, simulation.world
    ended = machine.closed
    if not ended:
        machine.feed(world.history)

    for seen, commands in world.issued:
        assert simulation.replay(seen)[0] == commands
    left, replayed = simulation.replay(len(world.history))
    if ended or not machine.outstanding:  # else side effects are still open
        assert replayed.seen == simulation.live.seen
    if not ended:
        assert left == [_comparable(command) for command in machine.commands()]
