"""Reads the table's stream and delivers it: shards, positions, checkpoints.

A shard counts as finished when it gives no further iterator, never by its stated end: dynoxide
states one for a shard that goes on. Records are identified by sequence number alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .aws_json import AwsJson, CallRefusedError
from .checkpoint import Checkpoint, is_own
from .delivery import Delivery, Record

BATCH = 100
# At least between two reads; at most without a hint that something was written.
BUSY_SECS, IDLE_SECS = 0.02, 0.2
SAVE_SECS = 0.25
SHARDS_SECS = 30.0
TRIM_SECS = 30.0
_LOST_ITERATOR = frozenset({"ExpiredIteratorException", "TrimmedDataAccessException"})


@dataclass(slots=True)
class Shard:
    id: str
    parent: str | None
    position: str | None
    saved: str | None
    iterator: str | None = None
    finished: bool = False


class StreamReader:
    """`step` is one round over all shards; Loop calls it."""

    def __init__(
        self,
        service: AwsJson,
        table: str,
        deliver: Delivery,
        *,
        trim: Callable[[int], None] = lambda _before: None,
    ) -> None:
        """`trim` is told, now and then, up to where the records are needed no more."""
        self._service = service
        self._table = table
        self._deliver = deliver
        self._trim = trim
        self._checkpoint = Checkpoint(service, table)
        self._shards: dict[str, Shard] = {}
        self._arn = ""
        self._listed = self._saved = self._trimmed = float("-inf")

    def step(self) -> tuple[float, float]:
        now = time.monotonic()
        if now - self._listed > SHARDS_SECS:
            self._list_shards()
            self._listed = now
        moved = [self._advance(shard) for shard in self._shards.values() if self._is_turn(shard)]
        if now - self._saved > SAVE_SECS or not any(moved):
            self.save()
            self._saved = now
        return BUSY_SECS, BUSY_SECS if any(moved) else IDLE_SECS

    def save(self) -> None:
        """Make durable what was delivered."""
        for shard in self._shards.values():
            if shard.position is None or shard.position == shard.saved:
                continue
            if self._checkpoint.save(shard.id, shard.position):
                shard.saved = shard.position
            else:
                self._catch_up(shard)
        if len(self._shards) == 1 and time.monotonic() - self._trimmed > TRIM_SECS:
            (only,) = self._shards.values()
            self._trim(int(only.saved or 0))
            self._trimmed = time.monotonic()

    def _list_shards(self) -> None:
        self._arn = self._service.table("DescribeTable", {"TableName": self._table})["Table"][
            "LatestStreamArn"
        ]
        listed: list[dict[str, Any]] = []
        start: dict[str, str] = {}
        while True:
            page = self._service.stream("DescribeStream", {"StreamArn": self._arn, **start})
            listed += page["StreamDescription"]["Shards"]
            if not (last := page["StreamDescription"].get("LastEvaluatedShardId")):
                break
            start = {"ExclusiveStartShardId": last}
        known = {entry["ShardId"] for entry in listed}
        self._shards = {name: shard for name, shard in self._shards.items() if name in known}
        for entry in listed:
            if entry["ShardId"] not in self._shards:
                position = self._checkpoint.load(entry["ShardId"])
                self._shards[entry["ShardId"]] = Shard(
                    entry["ShardId"], entry.get("ParentShardId"), position, position
                )

    def _is_turn(self, shard: Shard) -> bool:
        """A shard waits for the one it was split from, so that a key's changes stay in order."""
        parent = self._shards.get(shard.parent or "")
        return not shard.finished and (parent is None or parent.finished)

    def _advance(self, shard: Shard) -> bool:
        """Deliver the next batch; whether there was anything."""
        if shard.iterator is None:
            shard.iterator = self._iterator(shard)
        try:
            page = self._service.stream(
                "GetRecords", {"ShardIterator": shard.iterator, "Limit": BATCH}
            )
        except CallRefusedError as error:
            if error.code not in _LOST_ITERATOR:
                raise
            if error.code == "TrimmedDataAccessException":
                shard.position = None
            shard.iterator = None
            return True
        records: list[Record] = [
            {**record, "eventSourceARN": self._arn} for record in page["Records"]
        ]
        wanted = [record for record in records if not is_own(record)]
        if wanted:
            self._deliver(wanted)
            shard.position = _position(wanted[-1])
        shard.iterator = page.get("NextShardIterator")
        shard.finished = shard.iterator is None
        if shard.finished:
            self._listed = float("-inf")
        return bool(records)

    def _iterator(self, shard: Shard) -> str:
        start = {"ShardIteratorType": "TRIM_HORIZON"}
        if shard.position is not None:
            start = {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "SequenceNumber": shard.position,
            }
        asked = {"StreamArn": self._arn, "ShardId": shard.id, **start}
        return str(self._service.stream("GetShardIterator", asked)["ShardIterator"])

    def _catch_up(self, shard: Shard) -> None:
        """Somebody else has delivered further: go on from there."""
        shard.position = shard.saved = self._checkpoint.load(shard.id)
        shard.iterator = None


def _position(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
