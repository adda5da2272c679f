"""Sees every write that was applied, and holds it against the rules at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from assay_engine.app.ports import DueEntry, PutIf, S, Store, Stored, Update
from assay_engine.core.activity import Activity
from assay_engine.core.change import Change, Condition
from assay_engine.core.keys import HEAD, Key
from assay_engine.core.run import Head
from tests.property import rules
from tests.property.log import Log


class Witness:
    """A store that looks at what it has just written. Also the source of the stream."""

    def __init__(self, inner: Store, now: Callable[[], float], *, slack_secs: float) -> None:
        self._inner = inner
        self._now = now
        self._slack = slack_secs
        self._last: dict[Key, Head] = {}
        self._newest: dict[str, Head] = {}
        """Nonce -> the head or its copy, as it was last written."""
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

    def runs(self) -> list[Head]:
        """Every incarnation of every id, as if each still had the head."""
        return sorted(self._newest.values(), key=lambda head: (head.key, head.created_at))

    # -- looking ---------------------------------------------------------------------------------

    def _look(self, kind: type[Any], key: Key) -> None:
        if kind not in (Head, Activity):
            return
        new = self._inner.get(kind, key)
        assert new is not None
        if isinstance(new, Activity):
            rules.check_item(new, self._now(), self._slack)
        elif isinstance(new, Head):
            copy = key.sk != HEAD
            self._look_at_head(replace(new, key=Key(key.pk, HEAD)) if copy else new, copy)

    def _look_at_head(self, new: Head, copy: bool) -> None:
        log = self.logs.setdefault((new.key, new.nonce), Log())
        old = self._newest.get(new.nonce)
        self._newest[new.nonce] = new
        if not copy:
            before, self._last[new.key] = self._last.get(new.key), new
            if before is not None and before.nonce != new.nonce:
                rules.check_reuse(before, new)
        if old is None:
            assert not copy, "a copy of nothing"
            rules.check_first(log, new, self._now(), self._slack)
            return
        if copy and new == old:
            return  # it had ended before its id was used again
        rules.check_next(log, old, new, self._now(), self._slack)
        if new.report != old.report and new.report is not None:
            self.reports.add((new.nonce, new.report))
        if rules.is_commit(old, new):
            assert old.lease_token not in self.commits, "two commits under one lease"
            self.commits[str(old.lease_token)] = str(new.report)
        if old.is_open and not new.is_open:
            self.closed.append(new)
