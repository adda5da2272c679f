"""The table itself: its creation, the names in it, what it charges."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import pytest

from assay_engine.app.ports import PutIf, Stored
from assay_engine.core.change import Equals, Plus, Put
from assay_engine.core.keys import Key
from assay_engine.core.run import Head
from assay_engine.store import tables
from assay_engine.store.dynamo import DynamoStore
from assay_engine.store.mapping import codec
from assay_engine.store.meter import Meter, Usage
from assay_engine.store.sizes import item_bytes
from tests.store.conftest import fresh_table
from tests.store.records import do, head, outcome


def test_a_table_may_be_created_twice_and_by_several_at_once(dynoxide: DynamoStore) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: dynoxide.create_table(), range(8)))
    dynoxide.create_table()
    with fresh_table(dynoxide):
        dynoxide.put(head())
        dynoxide.create_table()
        assert dynoxide.get(Head, head().key) == head()


@pytest.mark.parametrize("server", ["dynoxide", "moto", "dynamodb-local"])
def test_the_table_has_its_index_and_its_stream(
    server: str, request: pytest.FixtureRequest
) -> None:
    with fresh_table(request.getfixturevalue(server)) as store:
        table = store.describe_table()
    index = table["GlobalSecondaryIndexes"][0]
    assert table["StreamSpecification"] == {
        "StreamEnabled": True,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert index["IndexName"] == "due"
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["t"]}
    assert [(key["AttributeName"], key["KeyType"]) for key in index["KeySchema"]] == [
        ("q", "HASH"),
        ("due", "RANGE"),
    ]


@pytest.mark.parametrize("kind", tables.ROWS)
def test_every_field_has_an_attribute_of_its_own(kind: type[Stored]) -> None:
    names = codec(kind).names
    assert set(names) == {field.name for field in fields(kind)} - {"key"}
    assert len(set(names.values())) == len(names)
    assert not {"pk", "sk", "none"} & set(names.values())


@pytest.mark.parametrize("kind", tables.ROWS)
def test_nothing_but_an_entry_of_the_index_has_its_keys(kind: type[Stored]) -> None:
    indexed = {field for field, name in codec(kind).names.items() if name in ("q", "due")}
    assert indexed in (set(), {"slot", "due"})


def test_a_new_head_is_small() -> None:
    key = Key("run\x1fmain\x1forder-12345678", "H")
    item = codec(Head).item(head(due=1_763_467_200.123))
    del item["pk"], item["sk"]
    assert item_bytes(item) + len(key.pk) + len(key.sk) < 220


def test_an_absent_attribute_is_none_whatever_the_default() -> None:
    item = codec(Head).item(head(open=None))
    assert "open" not in item
    assert codec(Head).record(item) == head(open=None)


def test_attributes_of_a_newer_version_are_passed_over() -> None:
    item = codec(Head).item(head())
    assert codec(Head).record({**item, "new": {"S": "x"}}) == head()


def test_a_meter_counts_requests_and_units(dynoxide: DynamoStore) -> None:
    meter = Meter()
    with fresh_table(dynoxide) as store:
        metered = DynamoStore(store.config, meter)
        before = meter.usage()
        metered.put(head())
        metered.get(Head, head().key)
        metered.update(Head, head().key, do(Plus(("version",), 1)))
        wrong = do(Put(("report",), "x"), when=(Equals(("version",), 99),))
        assert outcome(lambda: metered.update(Head, head().key, wrong))[0] == "refused"
        metered.transact([PutIf(head("r2")), PutIf(head("r3"))])
        used = meter.usage() - before
        metered.close()
    assert used == Usage(
        Counter(PutItem=1, GetItem=1, UpdateItem=2, TransactWriteItems=1),
        read_units=1.0,
        # One each, a failed condition included; the transaction's two count double.
        write_units=1.0 + 1.0 + 1.0 + 4.0,
    )
    assert used.total == 5


def test_moving_an_index_key_is_charged_by_the_index_too(dynoxide: DynamoStore) -> None:
    meter = Meter()
    with fresh_table(dynoxide) as store:
        metered = DynamoStore(store.config, meter)
        metered.put(head(due=1.0))
        metered.update(Head, head().key, do(Put(("due",), 2.0)))
        metered.update(Head, head().key, do(Plus(("version",), 1)))
        metered.close()
    assert meter.usage().write_units == (1 + 1) + (1 + 2) + 1


@pytest.mark.parametrize("text", ["x" * 1000, "é" * 600])
def test_sizes_are_reckoned_as_they_are_charged(dynoxide: DynamoStore, text: str) -> None:
    meter = Meter()
    with fresh_table(dynoxide) as store:
        metered = DynamoStore(store.config, meter)
        record = head(tail=(text,) * 5, eager={"1": {"a": 1, "w": text}}, queued=frozenset({1, 2}))
        metered.put(record)
        charged = meter.usage().write_units
        outcome(lambda: metered.put(record))
        metered.close()
    assert meter.usage().write_units == 2 * charged
