"""The copy of a head whose id was used again: beside the head, in the index, in the stream."""

from dataclasses import replace

from assay_engine.app.ports import DueEntry, PutIf
from assay_engine.core import keys
from assay_engine.core.change import Equals, Missing
from assay_engine.core.run import Head, Record
from assay_engine.store.changes import closed_heads
from assay_engine.store.mapping import codec
from tests.store.conftest import AnyStore
from tests.store.records import SLOT, head

OLD = head(nonce="old", open=None, version=7, due=5.0, cleanup=1)
COPY = replace(OLD, key=keys.incarnation(OLD.key, "old"))
NEW = head(
    nonce="new",
    version=8,
    first="old",
    attempt=2,
    due=9.5,
    start_at=9.5,
    run_until=20.0,
    chain_until=30.0,
    cancel_until=25.0,
    task_secs=1.5,
    retries=1,
    has_context=1,
    close_policies=1,
    earlier={"i": "x", "n": "y"},
)


def replaced(store: AnyStore) -> None:
    store.put(OLD)
    when = (Missing(("open",)), Equals(("version",), 7))
    store.transact([PutIf(NEW, when), PutIf(COPY)])


def test_a_head_and_its_copy_are_read_as_they_were_written(store: AnyStore) -> None:
    replaced(store)
    assert store.get(Head, NEW.key) == NEW
    assert store.get(Head, COPY.key) == COPY


def test_a_scan_of_heads_shows_no_copies(store: AnyStore) -> None:
    replaced(store)
    assert list(store.heads()) == [NEW]


def test_a_copy_that_owes_stands_in_the_index(store: AnyStore) -> None:
    replaced(store)
    assert store.due(SLOT, limit=10) == [
        DueEntry(COPY.key, "order", 5.0),
        DueEntry(NEW.key, "order", 9.5),
    ]


def test_a_record_keeps_memo_and_options(store: AnyStore) -> None:
    record = Record(key=keys.record(NEW.key, "new"), memo='={"a":1}', options='={"run_timeout":5}')
    store.put(record)
    assert store.get(Record, record.key) == record


def test_the_stream_shows_a_copy_as_a_run_that_closed() -> None:
    item, fresh = codec(Head).item(COPY), codec(Head).item(NEW)
    records = [
        {"dynamodb": {"NewImage": fresh, "OldImage": codec(Head).item(OLD)}},
        {"dynamodb": {"NewImage": item}},
        {"dynamodb": {"NewImage": item, "OldImage": item}},
    ]
    assert list(closed_heads(records)) == [COPY]
