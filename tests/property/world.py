"""The engine in one process with everything around it ours: clock, entropy, table, processes."""

from collections.abc import Sequence
from random import Random
from typing import Any

from assay_engine.app.engine import Engine, Memory, Options
from assay_engine.core import keys, values
from assay_engine.core.run import Head, Payload
from assay_engine.store.memory import MemoryStore
from tests.property.faults import FaultyStore
from tests.property.lanes import Lanes
from tests.property.ledger import Ledger
from tests.property.programs import OTHER_QUEUE, QUEUE
from tests.property.witness import Witness

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
SLOTS = [
    keys.slot("main", queue, kind)
    for queue in (QUEUE, OTHER_QUEUE)
    for kind in (keys.WORKFLOWS, keys.ACTIVITIES)
]


class SimulatedClock:
    """The right time; `ahead` by some seconds for a process whose clock is off."""

    def __init__(self) -> None:
        self.moment = 1_000_000.0

    def now(self) -> float:
        return self.moment

    def ahead(self, secs: float) -> "SkewedClock":
        return SkewedClock(self, secs)


class SkewedClock:
    def __init__(self, right: SimulatedClock, secs: float) -> None:
        self._right = right
        self._secs = secs

    def now(self) -> float:
        return self._right.moment + self._secs


class SeededEntropy:
    def __init__(self, random: Random) -> None:
        self._random = random

    def token(self, length: int) -> str:
        return "".join(self._random.choices(_ALPHABET, k=length))

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


class KeptBlobs:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> None:
        assert self.kept.setdefault(name, data) == data, "two values under one name"

    def get(self, name: str) -> bytes:
        return self.kept[name]


class NoWakeups:
    """Nobody here waits inside a call."""

    def notify(self, slot: str) -> None:
        pass

    def pass_on(self, slots: Sequence[str]) -> None:
        pass

    def ticket(self, slots: Sequence[str]) -> int:
        return 0

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        raise AssertionError("a call that waits would stop the world")


class World:
    def __init__(self, seed: int, *, skew_secs: float = 0.0, lease_secs: float = 30.0) -> None:
        self.random = Random(seed)
        self.clock = SimulatedClock()
        self.skew_secs = skew_secs
        self._options = Options(idle_poll_secs=0.0, lease_secs=lease_secs)
        self.lanes = Lanes()
        # Two processes may differ by twice the skew, and a deadline be off by as much.
        self.witness = Witness(MemoryStore(), self.clock.now, slack_secs=2 * skew_secs)
        self.store = FaultyStore(
            self.witness, Random(self.random.random()), self.lanes, self.clock.now
        )
        self.ledger = Ledger(self.witness)
        self.blobs = KeptBlobs()
        self._entropy = SeededEntropy(Random(self.random.random()))
        self.processes = [self._process() for _ in range(2)]
        self.calm = False

    def _process(self) -> Engine:
        return Engine(
            store=self.store,
            blobs=self.blobs,
            wakeups=NoWakeups(),
            clock=self.clock.ahead(self.random.uniform(-self.skew_secs, self.skew_secs)),
            entropy=self._entropy,
            options=self._options,
            memory=Memory(),
        )

    def replace(self, dead: Engine) -> None:
        """A process died: another one takes its place, and remembers nothing."""
        self.processes = [self._process() if each is dead else each for each in self.processes]

    def now(self) -> float:
        return self.clock.now()

    def next_due(self, queue: str | None = None) -> float | None:
        """The earliest entry of the true index."""
        slots = [slot for slot in SLOTS if queue in (None, keys.queue_of(slot))]
        found = [entry.due for slot in slots for entry in self.witness.due(slot, limit=1)]
        return min(found, default=None)

    def value(self, head: Head, stored: str) -> Any:
        """A stored value, wherever it stands."""
        if values.inline(stored):
            return values.parse(stored[1:])
        if stored.startswith(values.BLOB):
            return values.parse(self.blobs.kept[stored])
        payload = self.witness.get(Payload, keys.payload(head.key, head.nonce, stored))
        assert payload is not None, f"{head.id} names a payload that is not there"
        return values.parse(payload.text)
