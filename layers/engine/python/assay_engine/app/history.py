"""Reading a run's history, and moving its older part out of the head (the rows `cut`)."""

from ..core import keys, limits, values
from ..core.change import Change, DropFirst, Equals, Plus
from ..core.errors import BusyError
from ..core.history import OUTCOMES, Event, EventType, Numbered, size, unpack
from ..core.render import shipped
from ..core.run import Chunk, Head, Record
from . import incarnations, payloads
from .engine import Engine
from .ports import ConditionFailedError


def load(engine: Engine, head: Head, after: int = 0) -> list[Numbered]:
    """Events with seq above `after`, as stored. The head was read first: what was cut since
    stands in a chunk, what a chunk holds beyond its base stands in its tail."""
    found: list[Numbered] = []
    if after < head.base:
        for chunk in engine.store.query(
            Chunk, keys.chunks(head.key, head.nonce), after=_before(engine, head, after)
        ):
            if chunk.base >= head.base:
                break
            found += _numbered(chunk.events, chunk.base)
    found = [n for n in found if n.seq <= head.base]
    found += _numbered(head.tail, head.base)
    return [n for n in found if n.seq > after]


def _before(engine: Engine, head: Head, after: int) -> str | None:
    """Sort key of the chunk before the one that holds `after` + 1."""
    if after == 0:
        return None
    behind = keys.chunk(head.key, head.nonce, after + 1)
    earlier = engine.store.query(
        Chunk, keys.chunks(head.key, head.nonce), after=behind.sk, limit=2, descending=True
    )
    found = list(earlier)
    return found[1].key.sk if len(found) > 1 else None


def _numbered(texts: tuple[str, ...], base: int) -> list[Numbered]:
    return [Numbered(base + place, unpack(text)) for place, text in enumerate(texts, start=1)]


def read(engine: Engine, head: Head, after: int = 0) -> list[Numbered]:
    """Events with every payload in place, ready to be rendered."""
    return read_with_record(engine, head, after)[0]


def read_with_record(
    engine: Engine, head: Head, after: int
) -> tuple[list[Numbered], Record | None]:
    """The same, and the record, if the input in it was needed."""
    events = payloads.resolve(engine, head.key, head.nonce, load(engine, head, after))
    if not events or events[0].seq != 1:
        return events, None
    record = engine.store.get(Record, keys.record(head.key, head.nonce))
    events[0] = _with_input(engine, head, record, events[0])
    return events, record


def _with_input(engine: Engine, head: Head, record: Record | None, started: Numbered) -> Numbered:
    """The input is not copied into WorkflowStarted: it stands in the record."""
    text = payloads.text(engine, head.key, head.nonce, record.input if record else None)
    if text is None:
        return started
    event = Event(EventType.STARTED, started.event.at, {"v": values.parse(text)})
    return Numbered(1, event)


def find_schedule(engine: Engine, head: Head, seq: int) -> Numbered | None:
    """The last ActivityScheduled with this activity seq, sought from the end."""
    found = _last_schedule(_numbered(head.tail, head.base), seq)
    if found is not None:
        return found
    older = keys.chunk(head.key, head.nonce, head.base)
    for chunk in engine.store.query(
        Chunk, keys.chunks(head.key, head.nonce), after=older.sk, descending=True
    ):
        found = _last_schedule(_numbered(chunk.events, chunk.base), seq)
        if found is not None:
            return found
    return None


def _last_schedule(events: list[Numbered], seq: int) -> Numbered | None:
    for numbered in reversed(events):
        event = numbered.event
        if event.type is EventType.ACTIVITY_SCHEDULED and event.data["q"] == seq:
            return numbered
    return None


def find_outcome(engine: Engine, head: Head, seq: int) -> Numbered | None:
    """The outcome of the activity with this seq; one that a retry has undone is none."""
    for numbered in reversed(shipped(load(engine, head))):
        event = numbered.event
        if event.type in OUTCOMES and event.data["q"] == seq:
            return numbered
    return None


def flush_above(engine: Engine, head: Head, size_limit: int) -> Head:
    """Cut the tail while it is longer than `size_limit` bytes. Anybody may, without a lease."""
    for _ in range(100):
        # A closed run keeps its tail: result and error stand in the closing event.
        if head.tail_bytes <= size_limit or not head.tail or not head.is_open:
            return head
        head = flush(engine, head)
    return head


def flush(engine: Engine, head: Head) -> Head:
    """Put the oldest events of the tail into a chunk, then cut them. Returns the newer head."""
    count = len(put_chunk(engine, head).events)
    if count > len(head.tail):
        # Somebody flushed from a newer image; look again.
        return _again(engine, head)
    cut = size(head.tail[:count])
    change = Change(
        when=(Equals(("base",), head.base), Equals(("nonce",), head.nonce)),
        do=(
            DropFirst(("tail",), count),
            Plus(("base",), count),
            Plus(("tail_bytes",), -cut),
            Plus(("version",), 1),
        ),
    )
    try:
        return engine.store.update(Head, head.key, change)
    except ConditionFailedError:
        return _again(engine, head)


def put_chunk(engine: Engine, head: Head) -> Chunk:
    """The chunk at the head's base. Where it is there already, its own length counts."""
    key = keys.chunk(head.key, head.nonce, head.base)
    chunk = Chunk(key=key, events=head.tail[: limits.MAX_CUT])
    try:
        engine.store.put(chunk)
    except ConditionFailedError as failed:
        if isinstance(failed.image, Chunk):
            return failed.image
        raise BusyError("a chunk of the history is being replaced") from None
    return chunk


def _again(engine: Engine, head: Head) -> Head:
    newer = incarnations.find(engine, head.key, head.nonce)
    if newer is None:
        raise BusyError("the run was replaced while its history was moved")
    return newer
