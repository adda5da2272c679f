"""Several writes at once: all or none."""

import pytest

from assay_engine.app.ports import PutIf, TransactionRefusedError, Update
from assay_engine.core import keys
from assay_engine.core.activity import Activity
from assay_engine.core.change import (
    Contains,
    Drop,
    Equals,
    Exclude,
    Exists,
    Extend,
    Missing,
    Plus,
    Put,
)
from assay_engine.core.errors import TooLargeError
from assay_engine.core.run import Head, Marker
from tests.store.conftest import AnyStore
from tests.store.records import activity, do, head

CLOSE = do(Drop(("open",)), Plus(("version",), 1), when=(Exists(("open",)),))


def test_all_writes_of_a_transaction_happen(store: AnyStore) -> None:
    store.put(head("old"))
    store.put(activity())
    store.transact(
        [
            Update(Head, head("old").key, CLOSE),
            PutIf(head("new")),
            Update(Activity, activity().key, do(Put(("worker",), "w"))),
        ]
    )
    assert store.get(Head, head("old").key) == head("old", open=None, version=2)
    assert store.get(Head, head("new").key) == head("new")
    assert store.get(Activity, activity().key) == activity(worker="w")


def test_a_refused_transaction_does_nothing_and_names_who_refused(store: AnyStore) -> None:
    store.put(head("taken"))
    store.put(head("old", open=None))
    with pytest.raises(TransactionRefusedError) as refusal:
        store.transact(
            [
                PutIf(head("new")),
                PutIf(head("taken")),
                Update(Head, head("old").key, CLOSE),
                Update(Head, head("nowhere").key, do(Plus(("version",), 1))),
            ]
        )
    assert refusal.value.failed == (1, 2, 3)
    assert sorted(store.heads(), key=lambda h: h.key) == [head("old", open=None), head("taken")]


def test_a_put_in_a_transaction_may_replace(store: AnyStore) -> None:
    store.put(head(nonce="old", open=None))
    when = (Equals(("nonce",), "old"), Missing(("open",)))
    store.transact([PutIf(head(nonce="new"), when)])
    assert store.get(Head, head().key) == head(nonce="new")


def test_a_transaction_is_refused_again_when_it_is_repeated(store: AnyStore) -> None:
    store.put(head("old"))
    writes: list[PutIf | Update] = [Update(Head, head("old").key, CLOSE), PutIf(head("new"))]
    store.transact(writes)
    with pytest.raises(TransactionRefusedError) as refusal:
        store.transact(writes)
    assert refusal.value.failed == (0, 1)


def test_a_transaction_with_an_item_too_large_does_nothing(store: AnyStore) -> None:
    store.put(head("old"))
    with pytest.raises(TooLargeError):
        store.transact(
            [Update(Head, head("old").key, CLOSE), PutIf(head("new", tail=("x" * 410_000,)))]
        )
    assert list(store.heads()) == [head("old")]


def test_an_append_with_its_marker_happens_once(store: AnyStore) -> None:
    store.put(head(watching=frozenset({3})))
    append = do(
        Extend(("tail",), ("event",)),
        Exclude(("watching",), frozenset({3})),
        # Not there: removing it does nothing.
        Drop(("timers", "7")),
        when=(Exists(("open",)), Contains(("watching",), 3)),
    )
    mark = Marker(key=keys.call_mark(head().key, "n2", 5), created_at=1.5)
    writes: list[PutIf | Update] = [Update(Head, head().key, append), PutIf(mark)]
    store.transact(writes)
    with pytest.raises(TransactionRefusedError) as refusal:
        store.transact(writes)
    assert refusal.value.failed == (0, 1)
    assert store.get(Head, head().key) == head(tail=("event",))
    assert store.get(Marker, mark.key) == mark
