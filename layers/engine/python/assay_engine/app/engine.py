"""What every use case is given: the ports and the few options. Made by `runtime`."""

from dataclasses import dataclass

from ..core.keys import Key
from ..core.worker import Worker
from .ports import Blobs, Clock, Entropy, Store, Wakeups


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    lease_secs: float = 30.0
    """How long a workflow task, or an activity taken by exchange, may go without a sign of life."""
    shared: bool = True
    """Other processes write to this table: a waiting call looks again now and then."""
    idle_poll_secs: float = 3.6
    """What an idle worker is told to wait where a waiting call would be paid for."""
    max_wait_secs: float = 20.0
    mark_key: bytes = b"local"
    """Signs the marks that exchange answers carry."""


class Memory:
    """What one process remembers between calls, to save requests. Never the truth."""

    def __init__(self) -> None:
        self.queues: set[tuple[str, str, str]] = set()
        self.queue_lists: dict[tuple[str, str], tuple[float, frozenset[str]]] = {}
        self.last_tick: float | None = None
        self.last_sweep: float | None = None
        self._held: dict[Key, tuple[float, float]] = {}
        self.workers: dict[str, tuple[float, Worker | None]] = {}

    def hold(self, key: Key, due: float, until: float) -> None:
        """The index entry of `key` at `due` leads to something taken; do not try before `until`."""
        if len(self._held) > _REMEMBERED:
            self._held.clear()
        self._held[key] = (due, until)

    def held(self, key: Key, due: float, now: float) -> bool:
        found = self._held.get(key)
        return found is not None and found[0] == due and now < found[1]

    def let_go(self, key: Key) -> None:
        self._held.pop(key, None)


_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    store: Store
    blobs: Blobs
    wakeups: Wakeups
    clock: Clock
    entropy: Entropy
    options: Options
    memory: Memory

    def now(self) -> float:
        return self.clock.now()
