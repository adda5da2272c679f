"""Gets, queries, the due index and scans."""

from typing import Any

import pytest

from assay_engine.app.ports import DueEntry, Stored
from assay_engine.core import keys
from assay_engine.core.change import Drop, Put
from assay_engine.core.keys import Key
from assay_engine.core.run import Chunk, Head, Marker, Pointer, Watcher
from assay_engine.core.worker import Namespace, QueueEntry, Worker
from tests.store.conftest import AnyStore
from tests.store.records import SLOT, activity, chunk, do, head

KEY = head().key


def test_what_is_not_there_is_none(store: AnyStore) -> None:
    assert store.get(Head, KEY) is None


def test_many_are_read_whatever_their_number(store: AnyStore) -> None:
    heads = {h.key: h for h in (head(f"r{i}") for i in range(103))}
    for record in heads.values():
        store.put(record)
    wanted = [*heads, head("none").key, KEY, KEY, head("r1").key]
    assert store.get_many(Head, wanted) == heads
    assert store.get_many(Head, []) == {}


def _chunks(store: AnyStore) -> list[Chunk]:
    chunks = [chunk(base, f"event {base}") for base in (0, 7, 20, 1000)]
    beside: list[Stored] = [head(), chunk(0, "other run", run_id="r10")]
    for record in [*chunks, *beside]:
        store.put(record)
    store.put(Chunk(key=keys.chunk(KEY, "n10", 0), events=("other incarnation",)))
    return chunks


def test_a_query_finds_the_prefix_in_order(store: AnyStore) -> None:
    chunks = _chunks(store)
    prefix = keys.chunks(KEY, "n1")
    assert list(store.query(Chunk, prefix)) == chunks
    assert list(store.query(Chunk, prefix, descending=True)) == chunks[::-1]
    assert list(store.query(Chunk, prefix, limit=2)) == chunks[:2]
    assert list(store.query(Chunk, prefix, limit=0)) == []
    assert list(store.query(Chunk, prefix, limit=3, descending=True)) == chunks[:0:-1]


def test_a_query_goes_on_behind_a_sort_key_there_or_not(store: AnyStore) -> None:
    chunks = _chunks(store)
    prefix = keys.chunks(KEY, "n1")
    seven, eight = chunks[1].key.sk, keys.chunk(KEY, "n1", 8).sk
    assert list(store.query(Chunk, prefix, after=seven)) == chunks[2:]
    assert list(store.query(Chunk, prefix, after=eight)) == chunks[2:]
    assert list(store.query(Chunk, prefix, after=seven, descending=True)) == chunks[:1]
    assert list(store.query(Chunk, prefix, after=eight, descending=True)) == chunks[1::-1]
    assert list(store.query(Chunk, prefix, after=seven, limit=1)) == chunks[2:3]


@pytest.mark.parametrize(
    ("after", "descending", "found"),
    [
        ("A", False, 4),
        ("Z", False, 0),
        ("A", True, 0),
        ("Z", True, 4),
    ],
)
def test_a_query_may_begin_outside_of_its_prefix(
    store: AnyStore, after: str, descending: bool, found: int
) -> None:
    _chunks(store)
    rows = store.query(Chunk, keys.chunks(KEY, "n1"), after=after, descending=descending)
    assert len(list(rows)) == found


def test_a_query_may_ask_for_a_whole_partition(store: AnyStore) -> None:
    workers = [_worker("H"), _worker("é"), _worker("😀")]
    for record in reversed(workers):
        store.put(record)
    assert list(store.query(Worker, keys.workers("main"))) == workers
    assert list(store.query(Worker, keys.workers("main"), after="H", limit=1)) == workers[1:2]
    assert list(store.query(Worker, keys.workers("other"))) == []


def test_a_query_of_more_than_a_megabyte_comes_whole(store: AnyStore) -> None:
    chunks = [chunk(base, "x" * 300_000) for base in range(5)]
    for record in chunks:
        store.put(record)
    prefix = keys.chunks(KEY, "n1")
    assert list(store.query(Chunk, prefix)) == chunks
    assert list(store.query(Chunk, prefix, limit=4, descending=True)) == chunks[:0:-1]


def _worker(worker_id: str) -> Worker:
    return Worker(
        key=keys.worker("main", worker_id),
        identity="me",
        queue="q",
        workflows=("order",),
        activities=None,
        max_concurrent_workflows=2,
        max_concurrent_activities=0,
        registered_at=1.5,
        last_heartbeat=2.0,
    )


@pytest.mark.parametrize(
    "record",
    [
        Pointer(key=keys.pointer("r1", "other")),
        Marker(key=keys.call_mark(KEY, "n2", 5), created_at=1.25),
        Marker(key=keys.exit_mark(KEY, "n2", 5), created_at=1.25, verdict="UNLINKED"),
        Watcher(
            key=keys.watchers(KEY, "n1")._replace(sk="W\x1fn1\x1fn2\x1f5\x1fa"),
            run_id="r2",
            nonce="n2",
            origin="n2",
            seq=5,
            call_seq=1,
            name="r1",
            link=1,
        ),
        Namespace(key=keys.namespace("other"), created_at=1.25),
        QueueEntry(key=keys.queue("q", "main", keys.WORKFLOWS), queue="q", shards=2),
        _worker("w"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_small_records_are_read_as_they_were_put(store: AnyStore, record: Any) -> None:
    store.put(record)
    assert store.get(type(record), record.key) == record
    assert list(store.query(type(record), Key(record.key.pk, ""))) == [record]


def _due(store: AnyStore, *moments: float) -> list[DueEntry]:
    heads = [head(f"r{i}", due=moment) for i, moment in enumerate(moments)]
    for record in heads:
        store.put(record)
    return [DueEntry(h.key, "order", h.due or 0.0) for h in heads]


def test_the_due_index_is_in_order_of_time(store: AnyStore) -> None:
    entries = _due(store, 100.5, 9.25, 1e9, 1_763_467_200.1234567, 1_763_467_200.1234565)
    late, early, later, last, fore_last = entries
    assert store.due(SLOT, limit=10) == [early, late, later, fore_last, last]
    assert store.due(SLOT, limit=2) == [early, late]
    assert store.due(SLOT, limit=2, after=late) == [later, fore_last]
    assert store.due(SLOT, limit=2, after=fore_last) == [last]
    assert store.due(SLOT, limit=2, after=last) == []


def test_entries_of_one_moment_are_all_found_page_by_page(store: AnyStore) -> None:
    entries = _due(store, 5, 5.0, 5, 4.5, 5)
    found: list[DueEntry] = []
    while page := store.due(SLOT, limit=2, after=found[-1] if found else None):
        found += page
    assert found[0].due == 4.5
    assert sorted(found, key=lambda e: e.key) == sorted(entries, key=lambda e: e.key)


def test_the_due_index_follows_the_record(store: AnyStore) -> None:
    (entry,) = _due(store, 5.5)
    store.update(Head, entry.key, do(Put(("due",), 7.5)))
    assert store.due(SLOT, limit=5) == [DueEntry(entry.key, "order", 7.5)]
    store.update(Head, entry.key, do(Drop(("due",))))
    assert store.due(SLOT, limit=5) == []
    store.update(Head, entry.key, do(Put(("due",), 8.5)))
    store.delete(Head, entry.key)
    assert store.due(SLOT, limit=5) == []


def test_the_due_index_has_a_partition_for_each_slot(store: AnyStore) -> None:
    (run,) = _due(store, 5.5)
    waiting = activity(due=3.5)
    store.put(waiting)
    assert store.due(SLOT, limit=5) == [run]
    assert store.due(waiting.slot, limit=5) == [DueEntry(waiting.key, "charge", 3.5)]
    assert store.due("nobody's", limit=5) == []


def test_scans_find_heads_and_activities_and_nothing_else(store: AnyStore) -> None:
    heads = [head(f"r{i}") for i in range(3)]
    activities = [activity(7), activity(8)]
    pointer = Pointer(key=keys.pointer("r1", "other"))
    beside: list[Stored] = [chunk(0, "x"), _worker("H"), pointer]
    for record in [*heads, *activities, *beside]:
        store.put(record)
    assert sorted(store.heads(), key=lambda h: h.key) == heads
    assert sorted(store.activities(), key=lambda a: a.key) == activities


def test_a_scan_of_more_than_a_megabyte_comes_whole(store: AnyStore) -> None:
    heads = [head(f"r{i}", tail=("x" * 350_000,)) for i in range(4)]
    for record in heads:
        store.put(record)
    assert sorted(store.heads(), key=lambda h: h.key) == heads
