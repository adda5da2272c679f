"""The store on DynamoDB, or whatever speaks its protocol."""

import time
from collections.abc import Callable, Iterator, Sequence
from secrets import token_hex
from typing import Any

from botocore.exceptions import ClientError
from pynamodb.expressions.condition import Condition as Expression

from ..app.ports import (
    ConditionFailedError,
    DueEntry,
    PutIf,
    S,
    Stored,
    TransactionRefusedError,
    Update,
)
from ..core.activity import Activity
from ..core.change import Change, Condition
from ..core.keys import Key
from ..core.run import Head
from . import expressions, faults, pages, tables
from .mapping import Codec, codec
from .meter import Meter
from .tables import TableConfig
from .wire import Wire


class DynamoStore:
    """`app.ports.Store` on one table; safe to use from any number of threads."""

    def __init__(
        self,
        config: TableConfig,
        meter: Meter | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.config = config
        self._wire = Wire(config, meter, sleep=sleep)
        self._table = config.name

    def create_table(self) -> None:
        """Unless it is there already; returns when it can be used."""
        tables.create_table(self._wire, self._table, sleep=self._wire.sleep)

    def describe_table(self) -> dict[str, Any]:
        """As DynamoDB says it; the stream's name is `LatestStreamArn`."""
        return dict(self._wire.describe_table(self._table))

    def delete_table(self) -> None:
        self._wire.delete_table(self._table)

    def close(self) -> None:
        """Give back the connections; a store that is not closed has them until it is gone."""
        self._wire.close()

    def get(self, kind: type[S], key: Key) -> S | None:
        answer = self._wire.get_item(self._table, key.pk, key.sk, consistent_read=True)
        item = answer.get("Item")
        return codec(kind).record(item) if item else None

    def get_many(self, kind: type[S], keys: Sequence[Key]) -> dict[Key, S]:
        decode = codec(kind).record
        records = (decode(item) for item in pages.get_many(self._wire, keys))
        return {record.key: record for record in records}

    def put(self, record: Stored, when: tuple[Condition, ...] = ()) -> None:
        mapping = codec(type(record))
        self._write("PutItem", mapping, self._put_arguments(PutIf(record, when)))

    def update(self, kind: type[S], key: Key, change: Change) -> S:
        mapping = codec(kind)
        arguments = self._update_arguments(Update(kind, key, change))
        arguments["ReturnValues"] = "ALL_NEW"
        return mapping.record(self._write("UpdateItem", mapping, arguments)["Attributes"])

    def delete(self, kind: type[S], key: Key, when: tuple[Condition, ...] = ()) -> None:
        mapping = codec(kind)
        arguments = self._arguments(key, condition=_existing(when, mapping))
        self._write("DeleteItem", mapping, arguments)

    def transact(self, writes: Sequence[PutIf | Update]) -> None:
        items = [
            {"Put": self._put_arguments(write)}
            if isinstance(write, PutIf)
            else {"Update": self._update_arguments(write)}
            for write in writes
        ]
        # With its token a transaction may be sent again without being applied again.
        arguments = {"TransactItems": items, "ClientRequestToken": token_hex(16)}
        try:
            self._wire.dispatch("TransactWriteItems", arguments)
        except ClientError as error:
            failed = faults.failed_conditions(error)
            if not failed:
                raise
            raise TransactionRefusedError(failed) from error

    def query(
        self,
        kind: type[S],
        prefix: Key,
        *,
        after: str | None = None,
        limit: int | None = None,
        descending: bool = False,
    ) -> Iterator[S]:
        items = pages.query(self._wire, prefix, after=after, limit=limit, descending=descending)
        return map(codec(kind).record, items)

    def due(self, slot: str, *, limit: int, after: DueEntry | None = None) -> list[DueEntry]:
        return pages.due(self._wire, slot, limit=limit, after=after)

    def heads(self) -> Iterator[Head]:
        return map(codec(Head).record, pages.scan(self._wire, pages.is_head()))

    def activities(self) -> Iterator[Activity]:
        return map(codec(Activity).record, pages.scan(self._wire, pages.is_activity()))

    def _write(self, operation: str, mapping: Codec[Any], arguments: dict[str, Any]) -> Any:
        try:
            return self._wire.dispatch(operation, arguments)
        except ClientError as error:
            if faults.code_of(error) != faults.CONDITION_FAILED:
                raise
            image = faults.image_of(error)
            raise ConditionFailedError(mapping.record(image) if image else None) from None

    def _put_arguments(self, write: PutIf) -> dict[str, Any]:
        mapping = codec(type(write.record))
        condition = _all_of(write.when, mapping) if write.when else expressions.is_not_there()
        item = mapping.item(write.record)
        return self._arguments(write.record.key, key="Item", attributes=item, condition=condition)

    def _update_arguments(self, write: Update) -> dict[str, Any]:
        mapping = codec(write.kind)
        return self._arguments(
            write.key,
            condition=_existing(write.change.when, mapping),
            actions=expressions.steps(write.change.do, mapping.names),
        )

    def _arguments(self, at: Key, **rest: Any) -> dict[str, Any]:
        return dict(self._wire.get_operation_kwargs(self._table, at.pk, at.sk, **rest))


def _all_of(when: tuple[Condition, ...], mapping: Codec[Any]) -> Expression:
    return expressions.all_of(expressions.condition(c, mapping.names) for c in when)


def _existing(when: tuple[Condition, ...], mapping: Codec[Any]) -> Expression:
    there = expressions.is_there()
    return there & _all_of(when, mapping) if when else there
