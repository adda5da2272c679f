"""Reads of many items: queries, scans and batches, page after page."""

from collections.abc import Iterator, Sequence

from pynamodb.expressions.condition import And
from pynamodb.expressions.condition import Condition as Expression
from pynamodb.expressions.operand import Path

from ..app.ports import DueEntry
from ..core import keys
from ..core.errors import BusyError
from ..core.keys import Key
from .mapping import Item, key_item, key_of, number_text
from .tables import DUE, DUE_INDEX, PK, SK, SLOT, TYPE
from .wire import Wire

_BATCH = 100
_TRIES = 8


def get_many(wire: Wire, wanted: Sequence[Key]) -> Iterator[Item]:
    # DynamoDB refuses a batch that names a key twice.
    distinct = list(dict.fromkeys(wanted))
    for start in range(0, len(distinct), _BATCH):
        yield from _batch(wire, [key_item(key) for key in distinct[start : start + _BATCH]])


def _batch(wire: Wire, wanted: list[Item]) -> Iterator[Item]:
    for attempt in range(_TRIES):
        arguments = {"RequestItems": {wire.table: {"Keys": wanted, "ConsistentRead": True}}}
        answer = wire.dispatch("BatchGetItem", arguments)
        yield from answer["Responses"].get(wire.table, ())
        wanted = answer.get("UnprocessedKeys", {}).get(wire.table, {}).get("Keys", [])
        if not wanted:
            return
        wire.sleep(0.02 * 2**attempt)
    raise BusyError("the store left a part of a batch unread")


def query(
    wire: Wire, prefix: Key, *, after: str | None, limit: int | None, descending: bool
) -> Iterator[Item]:
    start: Item | None = None
    if after is not None:
        if after.startswith(prefix.sk):
            start = key_item(Key(prefix.pk, after))
        elif (after > prefix.sk) != descending:
            # Behind everything with this prefix. In front of it we begin at the beginning:
            # DynamoDB refuses a start outside of what it is to read.
            return
    remaining = limit
    while remaining is None or remaining > 0:
        answer = wire.query(
            wire.table,
            prefix.pk,
            range_key_condition=Path([SK]).startswith(prefix.sk) if prefix.sk else None,
            consistent_read=True,
            exclusive_start_key=start,
            limit=remaining,
            scan_index_forward=not descending,
        )
        yield from answer["Items"]
        start = answer.get("LastEvaluatedKey")
        if not start:
            return
        if remaining is not None:
            remaining -= len(answer["Items"])


def due(wire: Wire, slot: str, *, limit: int, after: DueEntry | None) -> list[DueEntry]:
    start: Item | None = None
    if after is not None:
        place = {SLOT: {"S": slot}, DUE: {"N": number_text(after.due)}}
        start = {**key_item(after.key), **place}
    answer = wire.query(
        wire.table, slot, index_name=DUE_INDEX, limit=limit, exclusive_start_key=start
    )
    return [
        DueEntry(key_of(item), item[TYPE]["S"], float(item[DUE]["N"])) for item in answer["Items"]
    ]


def scan(wire: Wire, wanted: Expression) -> Iterator[Item]:
    start = None
    while True:
        answer = wire.scan(wire.table, filter_condition=wanted, exclusive_start_key=start)
        yield from answer["Items"]
        start = answer.get("LastEvaluatedKey")
        if not start:
            return


def is_head() -> Expression:
    # Not by its sort key alone: a worker may be called "H".
    return And(_in_partitions(keys.RUN), Path([SK]) == keys.HEAD)


def is_activity() -> Expression:
    return _in_partitions(keys.ACTIVITY)


def _in_partitions(kind: str) -> Expression:
    return Path([PK]).startswith(keys.join(kind, ""))
