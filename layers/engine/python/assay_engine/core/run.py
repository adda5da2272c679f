"""A run as it is stored: the hot head, and what stands beside it.

The head is record, lock and log tail in one item, so that nearly everything that happens
to a run is one conditional update. Field names here are for people; `store.tables` gives
each its short name, because write units follow bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from . import ids, keys
from .keys import Key


class Status(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"


TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.TIMED_OUT})

# In the head a status is one letter; PENDING is its absence.
STATUS_LETTERS: Mapping[Status, str] = {
    Status.RUNNING: "R",
    Status.WAITING: "W",
    Status.COMPLETED: "C",
    Status.FAILED: "F",
    Status.CANCELLED: "X",
    Status.TIMED_OUT: "T",
}
_STATUSES = {letter: status for status, letter in STATUS_LETTERS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    key: Key
    nonce: str
    """Random for each incarnation of an id."""
    type: str
    slot: str
    """The run's partition in the due index."""
    created_at: float
    version: int = 1
    """One more with every write."""
    open: int | None = 1
    """Absent once terminal."""
    status_letter: str | None = None
    running_at: float | None = None
    waiting_at: float | None = None
    completed_at: float | None = None

    length: int
    """Of the whole history; the seq of its last event."""
    base: int = 0
    """The seq of `tail[i]` is `base + i + 1`."""
    tail: tuple[str, ...] = ()
    tail_bytes: int = 0
    seen: int = 0
    """What the last commit had seen: below `length` there is something to think about."""

    lease_token: str | None = None
    lease_worker: str | None = None
    lease_until: float | None = None
    lease_taken: float | None = None
    lease_length: int | None = None
    """`length` when the task was shipped."""

    due: float | None = None
    """When somebody has to look; never later than `need`."""

    eager: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Activities run by the worker that scheduled them: seq -> a(ttempt) w(orker) x(expiry)
    r(eport) c(lose: start-to-close deadline)."""
    queued: frozenset[int] | None = None
    """Seqs of activities that wait in items of their own."""
    owed: frozenset[int] | None = None
    """Seqs of events whose items are still to be put."""
    timers: Mapping[str, float] = field(default_factory=dict)
    children: Mapping[str, str] = field(default_factory=dict)
    """Open children: seq of ChildWorkflowStarted -> nonce and hash of the child's id."""
    awaited: Mapping[str, int] = field(default_factory=dict)
    """Signals awaited since the last matching SignalReceived."""
    used_activities: str | None = None
    used_timers: str | None = None
    used_side_effects: str | None = None
    used_upserts: str | None = None
    used_calls: str | None = None
    used_replies: str | None = None
    watching: frozenset[int] | None = None
    """Seqs of the monitor and link calls whose other run has not ended."""
    watched: int | None = None
    """Somebody is to be told when the run ends; on a closed run: has still to be told."""

    report: str | None = None
    """Id of the last applied report."""
    cancel_after: int | None = None
    """Length of the history when cancel was first requested."""
    cancel_due: float | None = None
    refusals: int | None = None
    upsert: str | None = None
    """Hash and place of the last upsert a legacy client was woken for (the stall guard)."""
    snapshot: str | None = None
    check_children_at: float | None = None
    parent: Mapping[str, Any] | None = None
    """i(d of the parent), s(eq of the start event), n(once), c(hild's first id)."""
    continued_to: str | None = None
    cleanup: int | None = None
    """A closed run that still has to see to queued activities and children, see `core.settle`."""

    # Only there if the run was started with such an option, or its id used before.
    first: str | None = None
    """Nonce of the first incarnation of this id; absent: this is it."""
    attempt: int | None = None
    """Of a run that is tried again when it fails; absent: the first."""
    retried_as: str | None = None
    """Nonce of the next attempt."""
    retries: int | None = None
    """The record holds a retry policy."""
    has_context: int | None = None
    """The record holds a context."""
    start_at: float | None = None
    """Not to be handed out before."""
    run_until: float | None = None
    chain_until: float | None = None
    """The end of `execution_timeout`: goes on through continuations and retries."""
    cancel_until: float | None = None
    """When a run that was asked to end is closed, whatever it does."""
    task_secs: float | None = None
    """How long a worker may be silent, if not the engine's usual time."""
    close_policies: int | None = None
    """A child was started with a parent close policy."""
    earlier: Mapping[str, Any] | None = None
    """i(d) and n(once) of the run this one goes on for, if that left children with a policy."""
    problem: str | None = None
    """Why the run does not go on, see `core.problem`."""

    @property
    def namespace(self) -> str:
        return keys.run_of(self.key)[0]

    @property
    def id(self) -> str:
        return keys.run_of(self.key)[1]

    @property
    def queue(self) -> str:
        return keys.queue_of(self.slot)

    @property
    def status(self) -> Status:
        return _STATUSES[self.status_letter] if self.status_letter else Status.PENDING

    @property
    def incarnation_id(self) -> str:
        """The `run_id` of the wire: the first of an id is told by its time alone."""
        nonce = None if self.first is None else self.nonce
        return ids.run_id_text(self.id, self.created_at, nonce)

    @property
    def is_open(self) -> bool:
        return self.open is not None

    @property
    def updated_at(self) -> float:
        moments = (self.created_at, self.running_at, self.waiting_at, self.completed_at)
        return max(moment for moment in moments if moment is not None)

    def leased(self, now: float) -> bool:
        return self.lease_token is not None and (self.lease_until or 0) >= now


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The bulky part of a run: written once before the head, later changes follow history."""

    key: Key
    input: str | None = None
    """A stored value, see `core.values`."""
    search_attributes: str | None = None
    attributes_seq: int = 0
    """Seq of the last SearchAttributesUpserted merged into `search_attributes` and `memo`."""
    memo: str | None = None
    options: str | None = None
    """A stored value: what the run's successors need of `core.options`, and its context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Immutable older history: events base+1 .. base+len(events)."""

    key: Key
    events: tuple[str, ...]

    @property
    def base(self) -> int:
        return int(self.key.sk.rsplit(keys.SEPARATOR, 1)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A value too big for the head, a snapshot, or a reply."""

    key: Key
    text: str
    created_at: float | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Beside a run: something was done to it, and must not be done again. Never deleted."""

    key: Key
    created_at: float
    verdict: str | None = None
    """Why it could not be done; None: it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Beside a run: another one that is told how it ends. Never deleted."""

    key: Key
    run_id: str
    """Of the run that is told."""
    nonce: str
    origin: str
    """Nonce of the run whose call this comes from."""
    seq: int
    """Of that call's event."""
    call_seq: int | None = None
    """Absent: the run that is told is the other side of a link, it has not called."""
    name: str
    """What the run that is told calls the watched one."""
    link: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """Says that a run of this id exists outside `main`."""

    key: Key

    @property
    def namespace(self) -> str:
        return self.key.sk.removeprefix(keys.SEPARATOR)
