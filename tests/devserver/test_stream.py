"""The stream loop: what was delivered stays so, and nothing is passed over by accident."""

import json

import pytest

from assay_devserver.aws_json import AwsJson, CallRefusedError
from assay_devserver.checkpoint import Checkpoint
from assay_devserver.delivery import MAX_FAILURES, Delivery
from assay_devserver.invocation import Function
from assay_devserver.stream import StreamReader

TABLE = "assay"


class Receiver:
    """A stream handler that keeps the sort keys it was given, and can be told to fail."""

    def __init__(self, poison=()):
        self.poison = set(poison)
        self.received = []
        self.events = []

    def __call__(self, event, context):
        keys = [record["dynamodb"]["Keys"]["sk"]["S"] for record in event["Records"]]
        if self.poison & set(keys):
            raise ValueError(f"cannot handle {sorted(self.poison & set(keys))}")
        self.events.append(event)
        self.received += keys


def reader(service, receiver, **given):
    deliver = Delivery(Function("stream", receiver), check_store=lambda: None)
    return StreamReader(service, TABLE, deliver, **given)


def drain(stream, rounds=60):
    """Step until a round finds nothing, and once more, so that the position is saved."""
    for _ in range(rounds):
        at_least, at_most = stream.step()
        if at_least != at_most:
            return
    raise AssertionError("the stream does not come to rest")


def test_changes_arrive_in_order_in_the_shape_that_lambda_gives_them(any_service, put):
    put(any_service, "a", data={"B": "eHl6"})
    put(any_service, "a", data={"N": "1"})
    receiver = Receiver()
    drain(reader(any_service, receiver))
    (event,) = receiver.events
    inserted, modified = event["Records"]
    assert json.loads(json.dumps(event)) == event
    assert inserted["eventSource"] == "aws:dynamodb"
    assert [inserted["eventName"], modified["eventName"]] == ["INSERT", "MODIFY"]
    assert inserted["eventSourceARN"].startswith("arn:aws:dynamodb:")
    key = {"pk": {"S": "run"}, "sk": {"S": "a"}}
    assert inserted["dynamodb"]["Keys"] == key
    assert inserted["dynamodb"]["NewImage"] == {**key, "data": {"B": "eHl6"}}
    assert "OldImage" not in inserted["dynamodb"]
    assert modified["dynamodb"]["OldImage"] == {**key, "data": {"B": "eHl6"}}
    assert modified["dynamodb"]["NewImage"] == {**key, "data": {"N": "1"}}
    assert modified["dynamodb"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert int(inserted["dynamodb"]["SequenceNumber"]) < int(modified["dynamodb"]["SequenceNumber"])


def test_a_new_process_goes_on_where_the_last_one_was(any_service, put):
    put(any_service, "first")
    drain(reader(any_service, Receiver()))
    put(any_service, "second")
    receiver = Receiver()
    drain(reader(any_service, receiver))
    assert receiver.received == ["second"]


def test_a_process_that_died_before_saving_delivers_again(service, put):
    put(service, "first")
    crashed = Receiver(poison={"first"})
    with pytest.raises(ValueError, match="cannot handle"):
        reader(service, crashed).step()
    receiver = Receiver()
    drain(reader(service, receiver))
    assert receiver.received == ["first"]


def test_the_checkpoint_itself_is_never_delivered_and_comes_to_rest(service, put):
    put(service, "only")
    receiver = Receiver()
    stream = reader(service, receiver)
    drain(stream)
    drain(stream, rounds=3)
    assert receiver.received == ["only"]


def test_more_than_a_thousand_changes_arrive_in_order_in_batches(service, put):
    """dynoxide states the end of its shard as text, where 999 is more than 1000."""
    keys = [f"{number:04}" for number in range(1_050)]
    for key in keys:
        put(service, key)
    receiver = Receiver()
    drain(reader(service, receiver))
    assert receiver.received == keys
    assert max(len(event["Records"]) for event in receiver.events) == 100
    put(service, "after")
    later = Receiver()
    drain(reader(service, later))
    assert later.received == ["after"]


def test_a_poisoned_record_alone_is_passed_over_and_told_of(service, put, capfd):
    for key in ("a", "b", "poison", "d", "e"):
        put(service, key)
    receiver = Receiver(poison={"poison"})
    stream = reader(service, receiver)
    for _ in range(MAX_FAILURES - 1):
        with pytest.raises(ValueError, match="cannot handle"):
            stream.step()
    drain(stream)
    assert receiver.received == ["a", "b", "d", "e"]
    (line,) = capfd.readouterr().err.splitlines()
    assert "passed over: ValueError: cannot handle ['poison']" in line
    put(service, "f")
    drain(stream)
    assert receiver.received == ["a", "b", "d", "e", "f"]


def test_nothing_is_passed_over_while_the_store_is_away():
    def unreachable():
        raise ConnectionError("the store is away")

    records = [{"dynamodb": {"Keys": {"sk": {"S": "a"}}, "SequenceNumber": "1"}}]
    receiver = Receiver(poison={"a"})
    deliver = Delivery(Function("stream", receiver), check_store=unreachable)
    for _ in range(MAX_FAILURES - 1):
        with pytest.raises(ValueError, match="cannot handle"):
            deliver(records)
    for _ in range(3):
        with pytest.raises(ConnectionError):
            deliver(records)
    receiver.poison.clear()
    deliver(records)
    assert receiver.received == ["a"]


def test_records_reported_as_failed_are_delivered_again():
    answers = [{"batchItemFailures": [{"itemIdentifier": "1"}]}, {"batchItemFailures": []}]
    deliver = Delivery(Function("stream", lambda event, context: answers.pop(0)), lambda: None)
    with pytest.raises(Exception, match="1 of 1 records"):
        deliver([{"dynamodb": {}}])
    deliver([{"dynamodb": {}}])
    assert answers == []


def test_the_checkpoint_only_goes_forward(any_service):
    checkpoint = Checkpoint(any_service, TABLE)
    assert checkpoint.load("shard") is None
    assert checkpoint.save("shard", "999")
    assert checkpoint.save("shard", "1000")
    assert not checkpoint.save("shard", "1000")
    assert not checkpoint.save("shard", "999")
    assert checkpoint.load("shard") == "1000"


def test_two_readers_of_one_table_do_not_stop_each_other(service, put):
    first, second = Receiver(), Receiver()
    readers = reader(service, first), reader(service, second)
    for key in ("a", "b", "c"):
        put(service, key)
        for stream in readers:
            drain(stream)
    assert set(first.received) | set(second.received) == {"a", "b", "c"}
    put(service, "d")
    drain(readers[1])
    assert "d" in second.received


def test_what_was_delivered_may_be_trimmed(service, put):
    put(service, "a")
    trimmed = []
    stream = reader(service, Receiver(), trim=trimmed.append)
    drain(stream)
    assert trimmed == [1]


def test_a_missing_table_is_an_error_of_the_step(dynoxide):
    with pytest.raises(CallRefusedError, match="ResourceNotFoundException"):
        reader(AwsJson(dynoxide.endpoint), Receiver()).step()
