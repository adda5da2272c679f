"""The engine in one process with everything around it ours: clock, entropy, table, processes."""

from collections.abc import Sequence
from random import Random

from assay_engine.app.engine import Engine, Memory, Options
from assay_engine.core import keys
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
    def __init__(self) -> None:
        self.moment = 1_000_000.0

    def now(self) -> float:
        return self.moment


class SeededEntropy:
    def __init__(self, random: Random) -> None:
        self._random = random

    def token(self, length: int) -> str:
        return "".join(self._random.choices(_ALPHABET, k=length))

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


class NoBlobs:
    """Nothing here is big enough for one."""

    def put(self, name: str, data: bytes) -> None:
        raise AssertionError("a blob")

    def get(self, name: str) -> bytes:
        raise AssertionError("a blob")


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
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = SimulatedClock()
        self.lanes = Lanes()
        self.witness = Witness(MemoryStore(), self.clock.now)
        self.store = FaultyStore(
            self.witness, Random(self.random.random()), self.lanes, self.clock.now
        )
        self.ledger = Ledger(self.witness)
        self._entropy = SeededEntropy(Random(self.random.random()))
        self.processes = [self._process() for _ in range(2)]
        self.calm = False

    def _process(self) -> Engine:
        return Engine(
            store=self.store,
            blobs=NoBlobs(),
            wakeups=NoWakeups(),
            clock=self.clock,
            entropy=self._entropy,
            options=Options(idle_poll_secs=0.0),
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
