"""Sees every write that was applied, and holds it against the invariants at once.

Knows the heads' own bookkeeping and nothing of workers: what was written must be right
whoever wrote it, in whatever order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay_engine.app.ports import DueEntry, PutIf, S, Store, Stored, Update
from assay_engine.core import activity as states
from assay_engine.core import limits
from assay_engine.core.activity import Activity
from assay_engine.core.change import Change, Condition
from assay_engine.core.history import Event, EventType, unpack
from assay_engine.core.keys import Key
from assay_engine.core.need import need
from assay_engine.core.run import Head

_ACTIVITY_ENDS = (EventType.ACTIVITY_COMPLETED, EventType.ACTIVITY_FAILED)
_CHILD_ENDS = (EventType.CHILD_COMPLETED, EventType.CHILD_FAILED)


@dataclass(slots=True)
class Log:
    """The history of one incarnation, as it was observed to grow, and what follows from it."""

    texts: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    activities: set[int] = field(default_factory=set)
    """Scheduled, without an outcome."""
    ended_activities: set[int] = field(default_factory=set)
    timers: set[int] = field(default_factory=set)
    fired_timers: set[int] = field(default_factory=set)
    side_effects: set[int] = field(default_factory=set)
    children: dict[str, int] = field(default_factory=dict)
    """Open children: id -> seq of its start."""
    ended_children: set[str] = field(default_factory=set)
    cancel_requested: bool = False
    closed_at: int | None = None

    def extend(self, text: str) -> None:
        event = unpack(text)
        retry = event.type is EventType.ACTIVITY_RETRY_REQUESTED
        assert self.closed_at is None or retry, f"{event.type} behind the closing event"
        self.texts.append(text)
        self.events.append(event)
        self._note(event, len(self.events))

    def _note(self, event: Event, seq: int) -> None:
        data = event.data
        match event.type:
            case EventType.ACTIVITY_SCHEDULED:
                assert data["q"] not in self.activities | self.ended_activities, "scheduled twice"
                self.activities.add(data["q"])
            case EventType.ACTIVITY_COMPLETED | EventType.ACTIVITY_FAILED:
                assert data["q"] in self.activities, f"a second outcome of activity {data['q']}"
                self.activities.remove(data["q"])
                self.ended_activities.add(data["q"])
            case EventType.TIMER_SCHEDULED:
                assert data["q"] not in self.timers | self.fired_timers, "timer scheduled twice"
                self.timers.add(data["q"])
            case EventType.TIMER_FIRED:
                assert data["q"] in self.timers, f"timer {data['q']} fired twice, or never set"
                self.timers.remove(data["q"])
                self.fired_timers.add(data["q"])
            case EventType.SIDE_EFFECT:
                assert data["q"] not in self.side_effects, "side effect recorded twice"
                self.side_effects.add(data["q"])
            case _:
                self._note_rest(event, seq)

    def _note_rest(self, event: Event, seq: int) -> None:
        data = event.data
        match event.type:
            case EventType.CHILD_STARTED:
                again = data["i"] in self.children or data["i"] in self.ended_children
                assert not again, f"child {data['i']} started twice"
                self.children[data["i"]] = seq
            case EventType.CHILD_COMPLETED | EventType.CHILD_FAILED:
                assert data["i"] in self.children, f"a second outcome of child {data['i']}"
                del self.children[data["i"]]
                self.ended_children.add(data["i"])
            case EventType.ACTIVITY_RETRY_REQUESTED:
                assert self.closed_at == seq - 1, "a retry of a run that is not closed"
                self.closed_at = None
                self._undo(int(data["q"]))
            case EventType.CANCEL_REQUESTED:
                self.cancel_requested = True
            case EventType.COMPLETED | EventType.FAILED | EventType.CANCELLED:
                self.closed_at = seq

    def _undo(self, retried: int) -> None:
        """A retry: the failed activity is open again, those behind it never were."""
        self.ended_activities = {seq for seq in self.ended_activities if seq < retried}
        self.activities = {retried}
        self.timers.clear()
        self.children.clear()


class Witness:
    """A store that looks at what it has just written. Also the source of the stream."""

    def __init__(self, inner: Store, now: Callable[[], float], *, slack_secs: float) -> None:
        self._inner = inner
        self._now = now
        self._slack = slack_secs
        self._last: dict[Key, Stored] = {}
        self.logs: dict[tuple[Key, str], Log] = {}
        self.commits: dict[str, str] = {}
        """Lease token -> the report that was applied under it."""
        self.reports: set[tuple[str, str]] = set()
        """Incarnation and id of every report applied to a run."""
        self.closed: list[Head] = []
        """Stream records of heads that closed, oldest first."""

    # -- writes ----------------------------------------------------------------------------------

    def put(self, record: Stored, when: tuple[Condition, ...] = ()) -> None:
        self._inner.put(record, when)
        self._look(type(record), record.key)

    def update(self, kind: type[S], key: Key, change: Change) -> S:
        after = self._inner.update(kind, key, change)
        self._look(kind, key)
        return after

    def delete(self, kind: type[S], key: Key, when: tuple[Condition, ...] = ()) -> None:
        assert kind not in (Head, Activity), "heads and items are never deleted"
        self._inner.delete(kind, key, when)

    def transact(self, writes: Sequence[PutIf | Update]) -> None:
        self._inner.transact(writes)
        for write in writes:
            if isinstance(write, PutIf):
                self._look(type(write.record), write.record.key)
            else:
                self._look(write.kind, write.key)

    # -- reads -----------------------------------------------------------------------------------

    def get(self, kind: type[S], key: Key) -> S | None:
        return self._inner.get(kind, key)

    def get_many(self, kind: type[S], keys: Sequence[Key]) -> dict[Key, S]:
        return self._inner.get_many(kind, keys)

    def query(self, kind: type[S], prefix: Key, **how: Any) -> Iterator[S]:
        return self._inner.query(kind, prefix, **how)

    def due(self, slot: str, *, limit: int, after: DueEntry | None = None) -> list[DueEntry]:
        return self._inner.due(slot, limit=limit, after=after)

    def heads(self) -> Iterator[Head]:
        return self._inner.heads()

    def activities(self) -> Iterator[Activity]:
        return self._inner.activities()

    # -- looking ---------------------------------------------------------------------------------

    def _look(self, kind: type[Any], key: Key) -> None:
        if kind not in (Head, Activity):
            return
        old, new = self._last.get(key), self._inner.get(kind, key)
        assert new is not None
        self._last[key] = new
        if isinstance(new, Activity):
            _check_item(new, self._now(), self._slack)
        elif isinstance(new, Head):
            assert old is None or isinstance(old, Head)
            self._look_at_head(old, new)

    def _look_at_head(self, old: Head | None, new: Head) -> None:
        fresh = old is None or old.nonce != new.nonce
        log = self.logs.setdefault((new.key, new.nonce), Log())
        if not fresh:
            assert old is not None
            assert new.version == old.version + 1, "a write without its version"
        grown = _grow(log, new)
        reopened = log.events[-1].type is EventType.ACTIVITY_RETRY_REQUESTED
        if not fresh and old is not None and not old.is_open and not (grown and reopened):
            assert not new.is_open, "a closed run was opened"
            frozen = ("length", "status_letter", "completed_at", "seen", "continued_to")
            changed = [name for name in frozen if getattr(old, name) != getattr(new, name)]
            assert not changed and not grown, f"a closed run has changed: {changed}"
        _check_sight(new)
        _check_due(new, self._now(), self._slack)
        _check_books(log, new)
        if old is not None and not fresh:
            self._note_commit(old, new)
        if not new.is_open and (fresh or (old is not None and old.is_open)):
            self.closed.append(new)

    def _note_commit(self, old: Head, new: Head) -> None:
        if new.report == old.report or new.report is None:
            return
        self.reports.add((new.nonce, new.report))
        if old.lease_token is None:
            return
        assert old.lease_token not in self.commits, "two commits under one lease"
        sighted = old.lease_length == old.length or (old.refusals or 0) >= limits.MAX_REFUSALS - 1
        assert new.is_open or sighted, "closed by somebody who had not seen everything"
        self.commits[old.lease_token] = new.report


def _grow(log: Log, head: Head) -> bool:
    """Add the news of a head's tail to its log; what was observed must still be there."""
    assert head.length == head.base + len(head.tail), "the seqs have a gap"
    assert head.base <= len(log.texts), "events were cut that nobody has seen"
    assert head.tail_bytes == sum(len(text.encode()) for text in head.tail), "bytes miscounted"
    known = len(log.texts) - head.base
    assert list(head.tail[:known]) == log.texts[head.base :], "history was rewritten"
    for text in head.tail[known:]:
        log.extend(text)
    return len(head.tail) > known


def _check_sight(head: Head) -> None:
    assert head.seen <= head.length, "more was seen than there is"
    if head.lease_token is not None:
        assert head.lease_length is not None
        assert head.lease_length <= head.length


def _check_due(head: Head, now: float, slack: float) -> None:
    """What is overdue needs somebody now; who looks now finds everything up to now."""
    moment = need(head, now)
    if moment is None:
        return
    assert head.due is not None, f"{head.id} needs somebody at {moment} and nobody will look"
    late = head.due - max(moment, now)
    assert late <= slack, f"{head.id} is looked at {late:g} s too late"


def _check_item(item: Activity, now: float, slack: float) -> None:
    place = f"activity {item.seq} of {item.run[1]}"
    if item.status_letter == states.READY:
        assert item.due is not None, f"{place} is ready and nobody will look"
    elif item.status_letter == states.RUNNING:
        assert item.lease_until is not None
        assert item.due is not None, f"{place} runs and nobody will look"
        late = item.due - max(item.lease_until, now)
        assert late <= slack, f"{place} is looked at {late:g} s too late"


def _check_books(log: Log, head: Head) -> None:
    """The head's books say what its history says."""
    if not head.is_open:
        assert log.closed_at == head.length, "closed without a closing event"
        assert head.tail, "result and error stand in the closing event, which was cut"
        return
    assert log.closed_at is None, "open behind a closing event"
    eager, queued = {int(seq) for seq in head.eager}, set(head.queued or ())
    assert not eager & queued, f"activities {eager & queued} are eager and queued"
    assert eager | queued <= log.activities, f"{(eager | queued) - log.activities} have ended"
    timers = {int(seq) for seq in head.timers}
    assert timers <= log.timers, "a timer that has fired, or was never set"
    assert {int(seq) for seq in head.children} <= {*log.children.values()}
    if not log.cancel_requested:
        assert eager | queued == log.activities, f"{log.activities - eager - queued} are lost"
        assert timers == log.timers, f"timers {log.timers - timers} are lost"
        assert {int(seq) for seq in head.children} == {*log.children.values()}, "a child is lost"
