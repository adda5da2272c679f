"""What the engine in this process keeps of a run, and of the chain of runs that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay._history import Event
from assay._records import Status
from assay._testing.agenda import Appointment
from assay._testing.noted import NotedMachine
from assay._testing.options import Options
from assay.failure import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How an activity is tried; the defaults are the engine's."""

    max_attempts: int = 3
    initial_interval_secs: float = 1.0
    backoff_coefficient: float = 2.0
    start_to_close_secs: float = 300.0
    heartbeat_timeout_secs: float | None = None

    @classmethod
    def read(cls, command: Mapping[str, Any]) -> Policy:
        """Return the policy that a ScheduleActivity asks for."""
        return cls(**{name: command[name] for name in cls.__slots__ if name in command})


@dataclass(slots=True, kw_only=True)
class Pending:
    """An activity without an outcome."""

    seq: int
    name: str
    input: Any
    event_seq: int
    policy: Policy
    attempt: int = 1
    details: Any = None
    next_try: Appointment | None = None
    """Set while it waits between two attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """A run that wants to know how a chain ends."""

    run: RunState
    call_seq: int | None
    linked: bool


@dataclass(eq=False, slots=True, kw_only=True)
class Chain:
    """A run, its continuations and its further attempts: to its parent they are one child."""

    first_id: str
    parent: RunState | None = None
    close_policy: str | None = None
    ends_at: float | None = None
    runs: list[RunState] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    children: list[Chain] = field(default_factory=list)

    @property
    def latest(self) -> RunState:
        return self.runs[-1]


@dataclass(eq=False, slots=True, kw_only=True)
class RunState:
    """One run."""

    workflow_id: str
    run_id: str
    incarnation: str
    workflow_type: str
    task_queue: str
    input: Any
    options: Options
    chain: Chain
    attempt: int = 1
    status: Status = Status.PENDING
    ready: bool = True
    """Whether it may be handed to its code: not before its start delay is over."""
    waking: bool = False
    events: list[Event] = field(default_factory=list)
    seen: int = 0
    machine: NotedMachine | None = None
    problem: Exception | None = None
    """What keeps its code from going on."""
    timers: dict[int, Appointment] = field(default_factory=dict)
    deadlines: list[Appointment] = field(default_factory=list)
    activities: dict[int, Pending] = field(default_factory=dict)
    cancel_requested: bool = False
    ended_from_outside: bool = False
    result: Any = None
    error: str | None = None
    failure: Failure | None = None
    snapshot: dict[str, Any] = field(default_factory=dict)
    search_attributes: dict[str, Any] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    continued_to: RunState | None = None
    retried_as: RunState | None = None

    @property
    def open(self) -> bool:
        return not self.status.closed

    @property
    def parent_id(self) -> str | None:
        return None if self.chain.parent is None else self.chain.parent.workflow_id

    @property
    def open_children(self) -> list[Chain]:
        """Those that this very run has started."""
        children = (chain for chain in self.chain.children if chain.parent is self)
        return [chain for chain in children if chain.latest.open]
