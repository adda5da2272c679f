"""A queued activity as it is stored: an item of its own, made ready, never deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from . import keys
from .keys import Key


class ActivityStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


# In the item a status is one letter.
READY, RUNNING, COMPLETED, FAILED, CANCELLED = "r", "u", "c", "f", "x"
# Scheduled by a branch that a retry of the run has undone; readers do not see it.
INVALIDATED = "v"
STATUSES: Mapping[str, ActivityStatus] = {
    READY: ActivityStatus.PENDING,
    RUNNING: ActivityStatus.RUNNING,
    COMPLETED: ActivityStatus.COMPLETED,
    FAILED: ActivityStatus.FAILED,
    CANCELLED: ActivityStatus.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How often, how soon and for how long an activity is tried."""

    max_attempts: int = 3
    initial_interval_secs: float = 1.0
    backoff_coefficient: float = 2.0
    start_to_close_secs: float = 300.0
    heartbeat_timeout_secs: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    key: Key
    run_pk: str
    """Partition of the run it belongs to."""
    seq: int
    type: str
    slot: str
    status_letter: str = READY
    attempt: int = 1
    input: str | None = None
    policy: Mapping[str, Any] | None = None
    """What differs from the defaults, by the short names of `core.history`."""
    due: float | None = None
    worker: str | None = None
    lease_until: float | None = None
    """While running: until when its worker may be silent. While ready: for how long a legacy
    worker may be, so that its claim need not know the policy."""
    by_exchange: int | None = None
    """Taken by exchange: its worker is held to the engine's lease."""
    scheduled_at: float
    started_at: float | None = None
    completed_at: float | None = None
    last_heartbeat: float | None = None
    details: str | None = None
    result: str | None = None
    error: str | None = None
    retried: int | None = None
    """Seq of the ActivityRetryRequested that made it ready once more."""
    has_context: int | None = None
    """Its run's record holds a context."""
    version: int = 1

    @property
    def id(self) -> int:
        return int(self.key.pk.split(keys.SEPARATOR)[1])

    @property
    def nonce(self) -> str:
        return self.key.sk.split(keys.SEPARATOR)[0]

    @property
    def event_seq(self) -> int:
        return int(self.key.sk.split(keys.SEPARATOR)[1])

    @property
    def run(self) -> tuple[str, str]:
        return keys.run_of(Key(self.run_pk, keys.HEAD))

    @property
    def head_key(self) -> Key:
        return Key(self.run_pk, keys.HEAD)

    @property
    def queue(self) -> str:
        return keys.queue_of(self.slot)

    @property
    def status(self) -> ActivityStatus:
        return STATUSES[self.status_letter]
