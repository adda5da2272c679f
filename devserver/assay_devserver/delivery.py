"""Hands stream records to the stream function as Lambda does: in order, in batches, at least once.

A batch that keeps failing is taken apart, and the single record that cannot be handled is told of
and passed over: parents look after their children every hour anyway.
"""

from collections.abc import Callable
from typing import Any

from .invocation import Function, blame
from .options import complain

MAX_FAILURES = 5
Record = dict[str, Any]


class RecordsFailedError(Exception):
    """The function reported some records as failed, without raising."""


class Delivery:
    def __init__(self, function: Function, check_store: Callable[[], object]) -> None:
        """`check_store` raises if the store does not answer: then no record is to blame."""
        self._function = function
        self._check_store = check_store
        self._failures = 0

    def __call__(self, records: list[Record]) -> None:
        """Deliver all of them, or raise; to be repeated with the same records."""
        try:
            self._try(records)
        except Exception:
            self._failures += 1
            if self._failures < MAX_FAILURES:
                raise
            self._isolate(records)
        self._failures = 0

    def _try(self, records: list[Record]) -> None:
        result = self._function({"Records": records})
        failed = result.get("batchItemFailures") if isinstance(result, dict) else None
        if failed:
            raise RecordsFailedError(f"{len(failed)} of {len(records)} records")

    def _isolate(self, records: list[Record]) -> None:
        try:
            self._try(records)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not hold up the others
            self._check_store()
            if len(records) > 1:
                half = len(records) // 2
                self._isolate(records[:half])
                self._isolate(records[half:])
                return
            keys = records[0]["dynamodb"]["Keys"]
            complain(f"a change of {keys} cannot be handled and is passed over: {blame(error)}")
