"""The worker's side of a program: an instance of the run that is kept, lost, crashed, fed twice.

Whatever an instance did on an event that a commit has covered is the truth, and every other
instance has to do, and see, the same on that event.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from assay import workflow
from assay._history import OWN, Command, Event
from assay._info import RunInfo
from assay._replay import Machine

from .programs import Node, Player
from .programs_world import World

INFO = RunInfo(
    workflow_id="w", workflow_type="Program", namespace="main", task_queue="q", parent_id=None
)
Move = tuple[str, int]
Activation = tuple[list[Command], list[Any]]


class Watched(Machine):
    """A machine that keeps what was issued and what was noted on each inbound event."""

    def __init__(self, player: Player) -> None:
        registry = workflow.Registry()
        registry.define("Program")(player.run)
        super().__init__(workflow.body(registry, INFO))
        self.activations: dict[int, Activation] = {}
        self.player = player

    def deliver(self, event: Event) -> None:
        issued, noted = self.outstanding, len(self.player.log)
        super().deliver(event)
        if event.event_type not in OWN:
            new = self.commands()[issued:]
            self.activations[event.seq] = (new, self.player.log[noted:])


class Worker:
    """Makes moves; each of them is something that can happen to a worker and its engine."""

    def __init__(self, program: list[Node]) -> None:
        self.world = World()
        self.world.append("WorkflowStarted", None)
        self.truth: dict[int, Activation] = {}
        self._program = program
        self._chance = itertools.count()
        self._machine: Watched | None = None

    def make(self, move: Move) -> None:
        kind, choice = move
        if not self.world.closed:
            getattr(self, f"_{kind}")(choice)

    def fresh(self) -> Watched:
        """Return an instance that has seen nothing."""
        return Watched(Player(self._program, self._chance))

    def agree(self, machine: Watched, up_to: int) -> None:
        """Compare what an instance did with what others did."""
        assert machine.player.mishaps == []
        for seq, activation in machine.activations.items():
            if seq <= up_to:
                expected = self.truth.setdefault(seq, activation)
                assert activation == expected, f"on event {seq}: {activation} != {expected}"

    def finish(self) -> None:
        """Let everything that is open end, and at last the run, without further disturbance."""
        for _ in range(60):
            self.make(("task", 0))
            if self.world.closed or not self.world.land_end():
                return

    def replay(self) -> Watched:
        """Run the whole history again, undisturbed, and compare; what waits is given up."""
        self._evict(0)
        machine = self._machine = self.fresh()
        machine.feed(self.world.history, self.world.seen)
        assert machine.closed == self.world.closed
        self._evict(0)
        return machine

    # -- moves -----------------------------------------------------------------------------------

    def _land(self, choice: int) -> None:
        self.world.land(choice)

    def _evict(self, choice: int) -> None:
        if self._machine is not None:
            self.agree(self._machine, self.world.seen)
            self._machine.drop()
        self._machine = None

    def _task(self, choice: int) -> None:
        """A task in its simplest form."""
        self._do_task(choice, lambda: None)

    def _task_landed(self, choice: int) -> None:
        """Something lands between claim and commit."""
        self._do_task(choice, lambda: self.world.land(choice))

    def _task_crash(self, choice: int) -> None:
        """The worker dies before its commit."""
        if self._claim(choice) is not None:
            self._evict(choice)

    def _task_lost(self, choice: int) -> None:
        """The worker dies behind its commit."""
        self._task(choice)
        self._evict(choice)

    def _task_parts(self, choice: int) -> None:
        """The batch is too big for one write, and something lands between its parts."""
        machine = self._claim(choice)
        if machine is None:
            return
        lease, commands = len(self.world.history), machine.commands()
        part = commands[: choice % 3] if len(commands) > 3 else []
        self.world.record(lease, part)
        lease = len(self.world.history)
        self.world.land(choice)
        self._settle(machine, lease, commands[len(part) :])

    def _fuse(self, choice: int) -> None:
        """An activity's outcome goes to the cached instance at once."""
        self._do_fuse(choice, landed=False)

    def _fuse_refused(self, choice: int) -> None:
        """Something has landed first: the outcome is kept, and the commands are dropped."""
        self._do_fuse(choice, landed=True)

    # -- how they are made -----------------------------------------------------------------------

    def _claim(self, choice: int) -> Watched | None:
        world = self.world
        if world.seen >= len(world.history):
            return None
        machine = self._machine = self._machine or self.fresh()
        overlap = 0 if choice % 2 else machine.delivered
        machine.feed(world.history[overlap:], world.seen)
        if choice % 3 == 0:  # the same delivery a second time
            machine.feed(world.history, world.seen)
        assert machine.delivered == len(world.history)
        return machine

    def _do_task(self, choice: int, meanwhile: Callable[[], None]) -> None:
        machine = self._claim(choice)
        if machine is not None:
            lease, commands = len(self.world.history), machine.commands()
            meanwhile()
            self._settle(machine, lease, commands)

    def _settle(self, machine: Watched, lease: int, commands: list[Command]) -> None:
        sighted = lease == len(self.world.history)
        if not self.world.commit(lease, commands):  # closing needs sight
            self._evict(0)
            return
        self.agree(machine, lease)
        if sighted:
            machine.record()
            if not machine.closed and machine.delivered < len(self.world.history):
                self._evict(0)  # something was answered with the commit itself

    def _do_fuse(self, choice: int, *, landed: bool) -> None:
        machine, world = self._machine, self.world
        if machine is None or machine.delivered < len(world.history) or machine.outstanding:
            return
        outcome = world.fused(choice)
        if outcome is None:
            return
        inbound, event = outcome
        if landed:
            machine.deliver(event)
            machine.activations.pop(event.seq)  # never happened
            world.append("SignalReceived", {"signal": "a", "payload": choice})
            world.take(inbound)
            self._evict(choice)
            return
        machine.deliver(event)
        lease = world.take(inbound, event.timestamp).seq
        self._settle(machine, lease, machine.commands())


MOVES = (
    *("land", "task", "land", "task", "fuse", "fuse"),
    *("task_landed", "task_parts", "task_crash", "task_lost", "evict", "fuse_refused"),
)


def told(events: list[Event]) -> str:
    """Return a history as a person can read it."""
    lines: list[Any] = [(event.seq, event.event_type, event.payload) for event in events]
    return "\n".join(" ".join(map(str, line)) for line in lines)
