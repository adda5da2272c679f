"""PynamoDB's connection with our manners: one client for all threads, short retries that
never repeat a write in the dark, the old item on a failed condition, metering.
"""

import time
from collections.abc import Callable
from random import random
from threading import BoundedSemaphore, Lock
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError
from pynamodb.connection.base import Connection

from . import faults, tables
from .meter import Meter, is_read
from .tables import TableConfig
from .transport import LeanTransport

_ATTEMPTS = 4
_FIRST_PAUSE = 0.05
# Nothing is begun again after this many seconds: the caller has its own patience.
_PATIENCE = 3.0
_CONDITIONAL = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
_ADMINISTRATIVE = frozenset({"CreateTable", "DescribeTable", "DeleteTable", "UpdateTable"})


class Wire(Connection):
    def __init__(
        self,
        config: TableConfig,
        meter: Meter | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        key, secret = config.credentials or (None, None)
        super().__init__(
            region=config.region,
            host=config.endpoint,
            connect_timeout_seconds=config.connect_timeout,
            read_timeout_seconds=config.read_timeout,
            # botocore would repeat a write whose answer was lost.
            max_retry_attempts=0,
            max_pool_connections=config.connections,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
        )
        self.table = config.name
        self.sleep = sleep
        self._meter = meter
        self._creation = Lock()
        self._ready: Any = None
        self._lean = LeanTransport(config) if config.lean else None
        # Without it a hundred threads would open, and throw away, connections beyond the pool.
        self._turns = BoundedSemaphore(config.connections)
        self.add_meta_table(tables.meta_table(config.name))

    @property
    def client(self) -> Any:
        """One for all threads; only its creation is not thread safe."""
        if self._ready is None:
            with self._creation:
                if self._ready is None:
                    client: Any = super().client
                    client.meta.events.register("before-parse.dynamodb.*", _refuse_torn_answer)
                    self._ready = client
        return self._ready

    def close(self) -> None:
        if self._lean is not None:
            self._lean.close()
        if self._ready is not None:
            self._ready.close()

    def _make_api_call(self, operation_name: str, operation_kwargs: dict[str, Any]) -> Any:
        """The seam: every call to DynamoDB passes here. Raises botocore's errors only where
        a caller looks into them (a failed condition) or where the mistake is ours."""
        self._complete(operation_name, operation_kwargs)
        harmless = is_read(operation_name) or "ClientRequestToken" in operation_kwargs
        begun = time.monotonic()
        for attempt in range(_ATTEMPTS):
            try:
                return self._send(operation_name, operation_kwargs)
            except (BotoCoreError, ClientError) as error:
                last = attempt + 1 == _ATTEMPTS or time.monotonic() - begun > _PATIENCE
                if last or not faults.may_repeat(error, harmless=harmless):
                    translated = faults.translate(error)
                    if translated is None:
                        raise
                    raise translated from error
            self.sleep(_FIRST_PAUSE * 2**attempt * random())
        raise AssertionError("the last attempt returns or raises")

    def _call(self, operation: str, arguments: dict[str, Any]) -> Any:
        if self._lean is not None:
            return self._lean.call(operation, arguments)
        return self.client._make_api_call(operation, arguments)

    def _complete(self, operation: str, arguments: dict[str, Any]) -> None:
        if operation in _CONDITIONAL:
            # PynamoDB's update_item has no parameter for it.
            arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if self._meter is None:
            arguments.pop("ReturnConsumedCapacity", None)
        elif operation not in _ADMINISTRATIVE:
            arguments["ReturnConsumedCapacity"] = "TOTAL"

    def _send(self, operation: str, arguments: dict[str, Any]) -> Any:
        meter = self._meter
        if meter is not None:
            meter.request(operation)
        try:
            with self._turns:
                answer = self._call(operation, arguments)
        except ClientError as error:
            if meter is not None and faults.code_of(error) == faults.CONDITION_FAILED:
                meter.refusal(operation, faults.image_of(error))
            raise
        if meter is not None:
            meter.answer(operation, answer)
        return answer


def _refuse_torn_answer(response_dict: dict[str, Any], **_: Any) -> None:
    """A server killed while answering leaves half a body, which botocore reads as an empty
    answer: "there is no such item"."""
    announced = response_dict["headers"].get("Content-Length")
    if announced is not None and int(announced) != len(response_dict["body"]):
        raise ConnectionClosedError(endpoint_url="dynamodb")
