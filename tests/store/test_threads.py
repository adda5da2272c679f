"""One store, many threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from assay_engine.app.ports import ConditionFailedError
from assay_engine.core.change import Extend, Missing, Plus, Put
from assay_engine.core.run import Head
from assay_engine.store.dynamo import DynamoStore
from assay_engine.store.memory import MemoryStore
from tests.store.conftest import AnyStore, config, fresh_table
from tests.store.records import SLOT, do, head
from tests.store.scripted import Reply, scripted

RUNS = [head(f"r{i}", due=1.0) for i in range(200)]


def _claim_all(store: AnyStore, worker: str) -> list[str]:
    claimed = []
    for entry in store.due(SLOT, limit=len(RUNS)):
        claim = do(Put(("lease_token",), worker), when=(Missing(("lease_token",)),))
        try:
            claimed.append(store.update(Head, entry.key, claim).id)
        except ConditionFailedError:
            continue
    return claimed


@pytest.mark.parametrize("kind", ["memory", "dynoxide", "dynoxide-lean"])
def test_no_run_is_claimed_twice(kind: str, request: pytest.FixtureRequest) -> None:
    if kind == "memory":
        _race(MemoryStore())
    else:
        with fresh_table(request.getfixturevalue(kind)) as store:
            _race(store)


def _race(store: AnyStore) -> None:
    for run in RUNS:
        store.put(run)
    workers = [f"w{i}" for i in range(8)]
    with ThreadPoolExecutor(8) as threads:
        claims = dict(
            zip(
                workers, threads.map(lambda worker: _claim_all(store, worker), workers), strict=True
            )
        )
    owners = {run_id: worker for worker, runs in claims.items() for run_id in runs}
    assert sum(map(len, claims.values())) == len(RUNS)
    assert {h.id: h.lease_token for h in store.heads()} == owners


def test_no_append_is_lost_among_threads(dynoxide: DynamoStore) -> None:
    def append(number: int) -> None:
        dynoxide.update(
            Head, head().key, do(Extend(("tail",), (str(number),)), Plus(("length",), 1))
        )

    with fresh_table(dynoxide), ThreadPoolExecutor(8) as threads:
        dynoxide.put(head(length=0))
        list(threads.map(append, range(100)))
        found = dynoxide.get(Head, head().key)
    assert found is not None
    assert sorted(found.tail, key=int) == [str(i) for i in range(100)]
    assert found.length == 100


@pytest.mark.parametrize("lean", [False, True])
def test_a_hundred_threads_share_a_few_connections(lean: bool) -> None:
    with scripted(Reply()) as script:
        store = DynamoStore(replace(config(script.endpoint, lean=lean), connections=4))
        with ThreadPoolExecutor(100) as threads:
            list(threads.map(lambda i: store.get(Head, head(str(i)).key), range(300)))
        store.close()
    assert len(script.requests) == 300
    assert script.connections <= 4
