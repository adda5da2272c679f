"""What the store does when the network, or DynamoDB, does not do as asked."""

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError

from assay_engine.app.ports import ConditionFailedError, PutIf, TransactionRefusedError
from assay_engine.core.change import Plus
from assay_engine.core.errors import BusyError, TooLargeError
from assay_engine.core.run import Head
from assay_engine.store.dynamo import DynamoStore
from assay_engine.store.mapping import codec
from tests.store.conftest import config
from tests.store.records import do, head
from tests.store.scripted import LOST, Reply, Script, error, scripted

ITEM = codec(Head).item(head())
FOUND = Reply({"Item": ITEM})
UPDATED = Reply({"Attributes": ITEM})
Call = Callable[[DynamoStore], Any]


def read(store: DynamoStore) -> object:
    return store.get(Head, head().key)


def update(store: DynamoStore) -> object:
    return store.update(Head, head().key, do(Plus(("version",), 1)))


def put(store: DynamoStore) -> None:
    store.put(head())


def delete(store: DynamoStore) -> None:
    store.delete(Head, head().key)


def transact(store: DynamoStore) -> None:
    store.transact([PutIf(head()), PutIf(head("r2"))])


Told = Callable[..., AbstractContextManager[tuple[DynamoStore, Script]]]


@pytest.fixture(params=["botocore", "lean"])
def lean(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "lean")


@pytest.fixture
def told(lean: bool) -> Told:
    """A store, and a server that gives it these replies."""

    @contextmanager
    def telling(*replies: Reply) -> Iterator[tuple[DynamoStore, Script]]:
        with scripted(*replies) as script:
            store = DynamoStore(config(script.endpoint, lean=lean), sleep=lambda _: None)
            try:
                yield store, script
            finally:
                store.close()

    return telling


@pytest.mark.parametrize("write", [update, put, delete])
@pytest.mark.parametrize("lost", [LOST, error("InternalServerError", 500), Reply(torn=1)])
def test_a_write_whose_answer_is_lost_is_busy_and_never_sent_again(
    told: Told, write: Call, lost: Reply
) -> None:
    with told(lost, UPDATED) as (store, script):
        with pytest.raises(BusyError):
            write(store)
        assert len(script.requests) == 1


@pytest.mark.parametrize("lost", [LOST, error("InternalServerError", 500)])
def test_a_read_whose_answer_is_lost_is_read_again(told: Told, lost: Reply) -> None:
    with told(lost, lost, FOUND) as (store, _):
        assert read(store) == head()


def test_half_an_answer_is_not_the_absence_of_an_item(told: Told) -> None:
    with told(Reply(FOUND.body, torn=10), FOUND) as (store, _):
        assert read(store) == head()


@pytest.mark.parametrize(
    "code",
    [
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "TransactionConflictException",
    ],
)
def test_a_write_that_was_certainly_not_applied_is_sent_again(told: Told, code: str) -> None:
    with told(error(code), error(code), UPDATED) as (store, script):
        assert update(store) == head()
        assert len(script.requests) == 3


@pytest.mark.parametrize("call", [read, update, put, delete, transact])
def test_patience_ends_and_the_caller_may_try_again_later(told: Told, call: Call) -> None:
    with told(error("ThrottlingException")) as (store, script):
        with pytest.raises(BusyError) as busy:
            call(store)
        assert busy.value.retryable
        assert len(script.requests) == 4


@pytest.mark.parametrize("call", [read, update])
def test_a_server_that_is_not_there_is_busy(call: Call, lean: bool) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        pauses: list[float] = []
        with pytest.raises(BusyError):
            call(DynamoStore(config(nobody, lean=lean), sleep=pauses.append))
    assert len(pauses) == 3
    assert sum(pauses) < 1


def test_a_transaction_is_sent_again_under_the_same_token(told: Told) -> None:
    with told(LOST, error("TransactionInProgressException"), Reply()) as (store, script):
        transact(store)
    tokens = [request["ClientRequestToken"] for request in script.requests]
    assert len(tokens) == 3
    assert len(set(tokens)) == 1


def cancelled(*codes: str) -> Reply:
    reasons = [{"Code": code, "Message": code} for code in codes]
    return error("TransactionCanceledException", CancellationReasons=reasons)


def test_a_transaction_in_conflict_is_sent_again_and_at_last_busy(told: Told) -> None:
    conflict = cancelled("None", "TransactionConflict")
    with told(conflict, Reply()) as (store, script):
        transact(store)
        assert len(script.requests) == 2
    with told(conflict) as (store, _), pytest.raises(BusyError):
        transact(store)


def test_a_failed_condition_counts_more_than_a_conflict(told: Told) -> None:
    both = cancelled("ConditionalCheckFailed", "TransactionConflict")
    with told(both) as (store, script):
        with pytest.raises(TransactionRefusedError) as refusal:
            transact(store)
        assert refusal.value.failed == (0,)
        assert len(script.requests) == 1


def test_a_mistake_of_ours_is_seen_as_it_is(told: Told) -> None:
    with told(error("ValidationException")) as (store, _), pytest.raises(ClientError):
        update(store)
    with told(cancelled("ValidationError")) as (store, _), pytest.raises(ClientError):
        transact(store)


def test_an_item_too_large_is_told_from_other_mistakes(told: Told) -> None:
    text = "Item size to update has exceeded the maximum allowed size"
    too_large = error("ValidationException", message=text)
    with told(too_large) as (store, _), pytest.raises(TooLargeError):
        update(store)


def test_a_refused_write_asks_for_the_item_and_gets_it_from_the_refusal(told: Told) -> None:
    refusal = error("ConditionalCheckFailedException", Item=ITEM)
    with told(refusal) as (store, script), pytest.raises(ConditionFailedError) as refused:
        update(store)
    assert refused.value.image == head()
    assert script.requests[0]["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_what_a_batch_left_unread_is_asked_for_again(told: Told) -> None:
    key = {"pk": ITEM["pk"], "sk": ITEM["sk"]}
    rest = {"assay-test": {"Keys": [key], "ConsistentRead": True}}
    first = Reply({"Responses": {}, "UnprocessedKeys": rest})
    second = Reply({"Responses": {"assay-test": [ITEM]}, "UnprocessedKeys": {}})
    with told(first, second) as (store, script):
        found = store.get_many(Head, [head().key, head("r2").key])
    assert found == {head().key: head()}
    assert script.requests[1]["RequestItems"]["assay-test"]["Keys"] == [key]
    with told(first) as (store, _), pytest.raises(BusyError):
        store.get_many(Head, [head().key])
