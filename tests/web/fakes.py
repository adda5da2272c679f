"""An engine in memory, on a clock that only the test moves."""

from collections.abc import Sequence
from itertools import count

from assay_engine.app.engine import Engine, Memory, Options
from assay_engine.store.memory import MemoryStore


class HandClock:
    def __init__(self) -> None:
        self.time = 1_700_000_000.25

    def now(self) -> float:
        return self.time


class CountingEntropy:
    """A new token each time, the same ones in each test."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def token(self, length: int) -> str:
        return f"{next(self._numbers):0{length}d}"[-length:]


class DictBlobs:
    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> None:
        self._data[name] = data

    def get(self, name: str) -> bytes:
        return self._data[name]


class NoWaiting:
    """Nobody waits here: a call that would is answered at once."""

    def notify(self, slot: str) -> None:
        pass

    def pass_on(self, slots: Sequence[str]) -> None:
        pass

    def ticket(self, slots: Sequence[str]) -> int:
        return 0

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        return False


def memory_engine(clock: HandClock) -> Engine:
    return Engine(
        store=MemoryStore(),
        blobs=DictBlobs(),
        wakeups=NoWaiting(),
        clock=clock,
        entropy=CountingEntropy(),
        options=Options(),
        memory=Memory(),
    )
