"""A write in the making: events and changes to a head, gathered, then turned into actions.

Works on an image of the head, or on an assumed one (the fused step reads nothing): every
action is absolute or additive, so both give the same expression.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import limits, seqs
from .change import Action, Drop, Exclude, Extend, Include, Plus, Put, apply
from .history import Event, EventType, Numbered, pack, size
from .need import need
from .options import NextAttempt
from .run import STATUS_LETTERS, Head, Status
from .values import Parcels

_MANY = 40
_OF_OPEN = (
    *("cancel_due", "refusals", "upsert", "check_children_at", "problem"),
    *("cancel_until", "chain_until", "run_until"),
)
LEASE = ("lease_token", "lease_worker", "lease_until", "lease_taken", "lease_length")


@dataclass(kw_only=True)
class Draft:
    head: Head
    now: float
    parcels: Parcels = field(default_factory=Parcels)
    events: list[Numbered] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    bytes: int = 0
    """Of the texts."""
    sets: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """Path -> new value; None drops it."""
    queued: set[int] = field(default_factory=set)
    owed: set[int] = field(default_factory=set)
    watching: set[int] = field(default_factory=set)
    unqueued: set[int] = field(default_factory=set)
    paid: set[int] = field(default_factory=set)
    successor: NextAttempt | None = None
    """The attempt that follows on the one this write closes."""
    cut_to: int | None = None
    """The tail up to this seq stands in a chunk, and goes with this write."""

    @property
    def length(self) -> int:
        return self.head.length + len(self.texts)

    def append(self, kind: EventType, data: Mapping[str, Any], at: float | None = None) -> int:
        """Add an event, and return its seq."""
        event = Event(kind, self.now if at is None else at, data)
        text = pack(event)
        self.texts.append(text)
        self.bytes += size((text,))
        self.events.append(Numbered(self.length, event))
        return self.length

    def put(self, *path: str, value: Any) -> None:
        self.sets[path] = value

    def get(self, *path: str) -> Any:
        if path in self.sets:
            return self.sets[path]
        found: Any = getattr(self.head, path[0])
        for key in path[1:]:
            found = found.get(key)
        return found

    def use(self, kind: str, seq: int) -> bool:
        """Mark a seq of a kind as used; False if it was used before."""
        used = self.get(kind)
        if seqs.contains(used, seq):
            return False
        self.put(kind, value=seqs.add(used, seq))
        return True

    def drop_lease(self) -> None:
        for name in LEASE:
            self.put(name, value=None)

    def close(self, status: Status) -> None:
        """Freeze the run. What it still owes keeps its index key."""
        self.put("open", value=None)
        self.put("status_letter", value=STATUS_LETTERS[status])
        self.put("completed_at", value=self.now)
        for name in ("timers", "eager", "awaited"):
            self._forget(name)
            self.put(name, value={})
        for name in _OF_OPEN:
            self.put(name, value=None)
        self.drop_lease()

    def _forget(self, name: str) -> None:
        """A map and something inside it cannot be set in one expression."""
        for path in [path for path in self.sets if path[0] == name]:
            del self.sets[path]

    def actions(self) -> tuple[Action, ...]:
        """Everything but `due`; see `finish`."""
        done: list[Action] = [Plus(("version",), 1)]
        if self.texts:
            done += self._appended()
            done.append(Put(("length",), self.length))
        for path, value in self._compact().items():
            done.append(Drop(path) if value is None else Put(path, value))
        done += self._set_changes("queued", self.queued, self.unqueued)
        done += self._set_changes("owed", self.owed, self.paid)
        done += self._set_changes("watching", self.watching, set())
        return tuple(done)

    def _appended(self) -> tuple[Action, ...]:
        texts = tuple(self.texts)
        if self.cut_to is None:
            return (Extend(("tail",), texts), Plus(("tail_bytes",), self.bytes))
        # REMOVE and list_append on one list in one expression are an error.
        return (
            Put(("tail",), texts),
            Put(("tail_bytes",), self.bytes),
            Put(("base",), self.cut_to),
        )

    def _compact(self) -> dict[tuple[str, ...], Any]:
        """The sets, with a map that changes in many places set as a whole: an expression is
        at most 4 KB. Only for an image that was read, which the condition then names."""
        inner = Counter(path[0] for path in self.sets if len(path) > 1)
        crowded = [name for name, count in inner.items() if count > _MANY]
        compact = dict(self.sets)
        for name in crowded:
            whole = dict(getattr(self.head, name))
            for path in [path for path in compact if path[0] == name]:
                value = compact.pop(path)
                whole.pop(path[1], None)
                if value is not None:
                    whole[path[1]] = value
            compact[(name,)] = whole
        return compact

    @staticmethod
    def _set_changes(name: str, added: set[int], removed: set[int]) -> list[Action]:
        both = added & removed
        changes: list[Action] = []
        if added - both:
            changes.append(Include((name,), frozenset(added - both)))
        elif removed - both:
            # One expression cannot both ADD to a set and DELETE from it.
            changes.append(Exclude((name,), frozenset(removed - both)))
        return changes

    def finish(self, due: float | None = None, *, at_once: bool = False) -> tuple[Action, ...]:
        """The actions, with `due` set to what the run will need (or to `due`, or now)."""
        actions = self.actions()
        moment = self.now if at_once else (due if due is not None else self.need())
        if moment != self.head.due:
            actions += (Drop(("due",)) if moment is None else Put(("due",), moment),)
        return actions

    def need(self) -> float | None:
        return need(apply(self.head, self.actions()), self.now)

    def too_big(self) -> bool:
        return self.bytes > limits.MAX_BATCH_BYTES
