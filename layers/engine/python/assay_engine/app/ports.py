"""What the use cases need from outside: a store, blobs, wake-ups, time and entropy.

Every implementation of `Store` passes tests/store; `store.memory` is the specification.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..core.activity import Activity
from ..core.change import Change, Condition
from ..core.keys import Key
from ..core.run import Chunk, Head, Marker, Payload, Pointer, Record, Watcher
from ..core.worker import Namespace, QueueEntry, Worker

Stored = (
    Head
    | Record
    | Chunk
    | Payload
    | Marker
    | Watcher
    | Pointer
    | Activity
    | Worker
    | QueueEntry
    | Namespace
)
S = TypeVar(
    "S",
    Head,
    Record,
    Chunk,
    Payload,
    Marker,
    Watcher,
    Pointer,
    Activity,
    Worker,
    QueueEntry,
    Namespace,
)


class ConditionFailedError(Exception):
    """A write's condition did not hold. `image` is the record as it stands, if any."""

    def __init__(self, image: Stored | None) -> None:
        super().__init__("condition failed")
        self.image = image


class TransactionRefusedError(Exception):
    """A transaction did nothing: `failed` are the places of the writes that failed."""

    def __init__(self, failed: tuple[int, ...]) -> None:
        super().__init__(f"refused by writes {failed}")
        self.failed = failed


@dataclass(frozen=True, slots=True)
class DueEntry:
    """A line of the due index: a hint, the truth is `due` on the record itself."""

    key: Key
    type: str
    due: float


@dataclass(frozen=True, slots=True)
class PutIf:
    """Put a record; `when` empty means: only if there is none."""

    record: Stored
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    kind: type[Stored]
    key: Key
    change: Change


class Store(Protocol):
    """One table. Reads are consistent except `due` and `scan`, which may lag."""

    def get(self, kind: type[S], key: Key) -> S | None: ...

    def get_many(self, kind: type[S], keys: Sequence[Key]) -> dict[Key, S]:
        """Those that exist; any number of keys."""
        ...

    def put(self, record: Stored, when: tuple[Condition, ...] = ()) -> None:
        """Put if `when` holds for what is there; empty: if nothing is there.
        Raises ConditionFailedError with the image."""
        ...

    def update(self, kind: type[S], key: Key, change: Change) -> S:
        """Apply, and return the record afterwards. The item must exist.
        Raises ConditionFailedError with the image."""
        ...

    def delete(self, kind: type[S], key: Key, when: tuple[Condition, ...] = ()) -> None:
        """Delete if it exists and `when` holds; raises ConditionFailedError otherwise."""
        ...

    def transact(self, writes: Sequence[PutIf | Update]) -> None:
        """All or none; raises TransactionRefusedError."""
        ...

    def query(
        self,
        kind: type[S],
        prefix: Key,
        *,
        after: str | None = None,
        limit: int | None = None,
        descending: bool = False,
    ) -> Iterator[S]:
        """Records of one partition whose sort key begins with `prefix.sk`, in its order,
        beginning behind the sort key `after` (in the direction of travel)."""
        ...

    def due(self, slot: str, *, limit: int, after: DueEntry | None = None) -> list[DueEntry]:
        """Entries of one partition of the due index, earliest first, at most `limit`."""
        ...

    def heads(self) -> Iterator[Head]:
        """Every head in the table, in no order: a scan."""
        ...

    def activities(self) -> Iterator[Activity]:
        """Every queued activity in the table, in no order: a scan."""
        ...


class Blobs(Protocol):
    """Values too big for an item."""

    def put(self, name: str, data: bytes) -> None:
        """Safe to repeat: a name always stands for the same bytes."""
        ...

    def get(self, name: str) -> bytes: ...


class Wakeups(Protocol):
    """Lets a waiting call hear of a commit that made something due."""

    def notify(self, slot: str) -> None: ...

    def ticket(self, slots: Sequence[str]) -> int:
        """Taken before looking, so that nothing falls between the look and the wait."""
        ...

    def wait(self, slots: Sequence[str], ticket: int, timeout: float) -> bool:
        """Until this waiter is woken for one of `slots`, or `timeout` seconds."""
        ...

    def pass_on(self, slots: Sequence[str]) -> None:
        """A woken waiter could take nothing: wake the next, if there is one."""
        ...


class Clock(Protocol):
    def now(self) -> float: ...


class Entropy(Protocol):
    def token(self, length: int) -> str:
        """`length` random characters out of 64."""
        ...

    def below(self, limit: int) -> int:
        """A random number from 0 to `limit` - 1."""
        ...
