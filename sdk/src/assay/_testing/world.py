"""All runs of one test environment, the time they live in, and the code they are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from assay import _json
from assay._functions import Function, Registry
from assay._history import Event
from assay._info import RunInfo
from assay._testing.agenda import Agenda
from assay._testing.loops import BackgroundLoop
from assay._testing.state import RunState
from assay.errors import UsageError

NAMESPACE = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What is run for an activity, and how long it takes of the skipped time."""

    function: Function
    takes_secs: float = 0.0


@dataclass(slots=True, kw_only=True)
class Code:
    """The user's functions: what a test has put in their place comes first."""

    registry: Registry
    own: Registry = field(default_factory=Registry)
    activities: dict[str, Activity] = field(default_factory=dict)
    stubs: dict[str, Function] = field(default_factory=dict)

    def activity(self, name: str) -> Activity:
        """Return what is run for an activity."""
        if name in self.activities:
            return self.activities[name]
        if name in self.registry.activities:
            return Activity(function=self.registry.activities[name])
        hint = f"register it, or put something in its place: env.activity({name!r}, ...)"
        raise UsageError(f"there is no activity {name!r}: {hint}")

    def workflows(self, workflow_type: str) -> Registry:
        """Return the registry that has the workflow."""
        for registry in (self.own, self.registry):
            if workflow_type in registry.workflows:
                return registry
        hint = f"define it, or put something in its place: env.workflow({workflow_type!r}, ...)"
        raise UsageError(f"there is no workflow {workflow_type!r}: {hint}")


@dataclass(eq=False, slots=True, kw_only=True)
class World:
    """What the parts of the engine in this process share."""

    agenda: Agenda
    code: Code
    think: Callable[[World, RunState], None]
    """Lets a run's code see what is new."""
    time_out: Callable[[World, RunState, str], None]
    """Ends a run whose time is over."""
    replay_each_step: bool = False
    driving: bool = False
    """Whether something is being done: what is asked for meanwhile waits for its turn."""
    loop: BackgroundLoop = field(default_factory=BackgroundLoop)
    runs: list[RunState] = field(default_factory=list)
    newest: dict[str, RunState] = field(default_factory=dict)

    @property
    def now(self) -> float:
        return self.agenda.now

    def append(self, run: RunState, event_type: str, payload: Any = None) -> int:
        """Add an event to a run's history; return its seq."""
        seq = len(run.events) + 1
        run.events.append(Event(seq, event_type, _json.plain(payload), self.now))
        return seq

    def tell(self, run: RunState, event_type: str, payload: Any = None) -> bool:
        """Add an event that the run's code is to see; False if the run has ended."""
        if not run.open:
            return False
        self.append(run, event_type, payload)
        self.wake(run)
        return True

    def wake(self, run: RunState) -> None:
        """Let a run's code go on, when it may."""
        if run.ready and not run.waking:
            run.waking = True
            self.agenda.soon(lambda: self.think(self, run))


def info_of(run: RunState) -> RunInfo:
    """Return what the code may know of its run."""
    return RunInfo(
        workflow_id=run.workflow_id,
        workflow_type=run.workflow_type,
        namespace=NAMESPACE,
        task_queue=run.task_queue,
        run_id=run.run_id,
        incarnation=run.incarnation,
        attempt=run.attempt,
        parent_id=run.parent_id,
        started_at=run.events[0].timestamp,
        context=run.options.context or {},
    )
