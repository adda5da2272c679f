"""Counts what the table is asked for and what it charges. Every number in
docs/performance.md about requests and units comes from here.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import Any

from .sizes import item_bytes

_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})


def is_read(operation: str) -> bool:
    return operation in _READS or operation.startswith(("Describe", "List"))


@dataclass(frozen=True, slots=True)
class Usage:
    requests: Counter[str] = field(default_factory=Counter)
    read_units: float = 0.0
    write_units: float = 0.0

    @property
    def total(self) -> int:
        return self.requests.total()

    def __sub__(self, earlier: "Usage") -> "Usage":
        return Usage(
            self.requests - earlier.requests,
            self.read_units - earlier.read_units,
            self.write_units - earlier.write_units,
        )


class Meter:
    """Shared by all threads of a store; read it with `usage()`, twice for a difference."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[str] = Counter()
        self._read_units = 0.0
        self._write_units = 0.0

    def usage(self) -> Usage:
        with self._lock:
            return Usage(Counter(self._requests), self._read_units, self._write_units)

    def request(self, operation: str) -> None:
        with self._lock:
            self._requests[operation] += 1

    def answer(self, operation: str, answer: dict[str, Any]) -> None:
        consumed = answer.get("ConsumedCapacity") or ()
        tables = [consumed] if isinstance(consumed, dict) else consumed
        self._charge(operation, sum(table.get("CapacityUnits", 0.0) for table in tables))

    def refusal(self, operation: str, image: dict[str, Any] | None) -> None:
        """A failed condition is charged by the size of the item that is there, but the
        answer does not say so."""
        self._charge(operation, float(max(1, ceil(item_bytes(image or {}) / 1024))))

    def _charge(self, operation: str, units: float) -> None:
        with self._lock:
            if is_read(operation):
                self._read_units += units
            else:
                self._write_units += units
