"""One history of the whole engine by seed: a time of trouble, then calm, then the checks.

To see one: `python -m tests.property.simulation SEED`.
"""

import sys
from dataclasses import dataclass
from random import Random

from tests.property import checks, clients
from tests.property.clients import Client, Stream
from tests.property.director import Director
from tests.property.exchange_worker import ExchangeWorker
from tests.property.faults import CALM, Rates
from tests.property.legacy_worker import LegacyWorker
from tests.property.programs import OTHER_QUEUE, QUEUE, Author
from tests.property.squeeze import squeezed
from tests.property.starts import Starts
from tests.property.world import SLOTS, World

CALM_STEPS = 30_000
CALM_SECS = 8 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What goes wrong in one history, and for how long."""

    steps: int = 700
    roots: int = 3
    rates: Rates = CALM
    lost_answers: float = 0.0
    jumps: float = 0.0
    deaths: float = 0.0
    meddling: bool = False
    lost_notices: float = 0.0
    legacy: float = 0.3
    """Share of legacy workers; if there are no others, every program is a serial one."""
    squeeze: float = 0.0
    """Share of the engine's limits that are made small."""
    lease_secs: float = 30.0
    options: float = 0.0
    """Share of starts with options."""
    skew_secs: float = 0.0
    """How far the clocks of the engine's processes may differ from the right time."""


class SimulationError(AssertionError):
    """An invariant did not hold. The text is the seed, and everything that led to it."""


class Simulation:
    def __init__(self, seed: int, trouble: Trouble) -> None:
        self.seed = seed
        self._trouble = trouble
        self.world = World(seed, skew_secs=trouble.skew_secs, lease_secs=trouble.lease_secs)
        self.director = Director(self.world)
        self._random = Random(self.world.random.random())
        self._workers: list[str] = []
        self._count = 0
        forked = 0.0 if trouble.legacy == 1 else 0.5
        policies = trouble.options > 0
        author = Author(Random(self.world.random.random()), forked=forked, policies=policies)
        roots = [author.program(f"r{number}") for number in range(trouble.roots)]
        starts = Starts(Random(seed), self.world.ledger, share=trouble.options)
        self.client = Client(self.director, roots, starts)
        self.stream = Stream(self.director, loses=trouble.lost_notices)
        self.director.spawn("tick", "tick", clients.ticking(self.world))

    def run(self) -> None:
        try:
            with squeezed(Random(self.seed), self._trouble.squeeze):
                self._in_trouble()
                self._in_calm()
            checks.check(self.world)
        except BaseException as error:
            raise SimulationError(self._story(error)) from error
        finally:
            self.world.lanes.close()

    def _in_trouble(self) -> None:
        trouble = self._trouble
        self.world.store.rates = trouble.rates
        self.director.lost_answers = trouble.lost_answers
        self.director.jumps = trouble.jumps
        for _ in range(4):
            self._hire()
        if trouble.meddling:
            self.client.interfere()
        for _ in range(trouble.steps):
            if self._at_rest():
                return
            self.director.step()
            if self._random.random() < trouble.deaths:
                self.director.kill(self._workers.pop(self._random.randrange(len(self._workers))))
                self._hire()

    def _hire(self, kind: type | None = None, queue: str | None = None) -> None:
        self._count += 1
        legacy = self._random.random() < self._trouble.legacy
        chosen = kind or (LegacyWorker if legacy else ExchangeWorker)
        name = f"{'x' if chosen is ExchangeWorker else 'l'}{self._count}"
        chosen(self.director, name, queue or self._random.choice([QUEUE, QUEUE, OTHER_QUEUE]))
        self._workers.append(name)

    def _in_calm(self) -> None:
        self.director.note("", "calm")
        self.director.kill("meddler")
        self.world.calm = True
        self.world.store.rates = CALM
        self.director.lost_answers = self.director.jumps = 0.0
        last = LegacyWorker if self._trouble.legacy == 1 else ExchangeWorker
        self._hire(last, QUEUE)
        self._hire(last, OTHER_QUEUE)
        since = self.world.now()
        for _ in range(CALM_STEPS):
            if self._at_rest():
                return
            assert self.world.now() < since + CALM_SECS, self._unfinished()
            self.director.step()
        raise AssertionError(self._unfinished())

    def _at_rest(self) -> bool:
        if self.client.starting or not self.stream.empty or self.world.lanes.under_way:
            return False
        if any(self.world.witness.due(slot, limit=1) for slot in SLOTS):
            return False
        heads = list(self.world.witness.heads())
        return not any(head.is_open or self.client.retryable(head) for head in heads)

    def _unfinished(self) -> str:
        heads = [str(head) for head in self.world.witness.heads() if head.is_open]
        entries = [str(entry) for slot in SLOTS for entry in self.world.witness.due(slot, limit=9)]
        return "\n".join(["never comes to rest:", *heads, *entries])

    def _story(self, error: BaseException) -> str:
        steps = "\n".join(self.director.trace)
        return f"seed {self.seed} with {self._trouble}\n{steps}\n{type(error).__name__}: {error}"


def troubles(seed: int) -> Trouble:
    """What goes wrong in the history of this seed."""
    random = Random(seed)
    scale = random.choice([0.0, 0.3, 1.0, 3.0])

    def some(rate: float) -> float:
        return rate * scale if random.random() < 0.5 else 0.0

    return Trouble(
        roots=random.choice([1, 2, 4, 6]),
        rates=Rates(
            busy_before=some(0.03),
            busy_after=some(0.03),
            killed=some(random.choice([0.03, 0.1])),
            interrupted=random.choice([0.0, 0.1, 0.4]),
            stale_index=some(0.3),
        ),
        lost_answers=some(0.1),
        jumps=some(0.03),
        deaths=some(0.02),
        meddling=random.random() < 0.5,
        lost_notices=random.choice([0.0, 0.0, 0.5, 1.0]),
        legacy=random.choice([0.0, 0.3, 0.3, 1.0]),
        lease_secs=random.choice([30.0, 30.0, 2.0]),
        skew_secs=random.choice([0.0, 0.0, 0.4]),
        squeeze=random.choice([0.0, 0.2, 0.7]),
        options=random.choice([0.0, 0.5, 1.0]),
    )


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    for number in numbers:
        simulation = Simulation(number, troubles(number))
        try:
            simulation.run()
        finally:
            sys.stdout.write("\n".join(simulation.director.trace) + "\n")
