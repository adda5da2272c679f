"""The composition root: the only place that knows every part. One engine a process."""

import os
from functools import cache

from .app.engine import Engine, Memory, Options
from .app.ports import Blobs, Wakeups
from .aws.blobs import FileBlobs, S3Blobs
from .settings import Settings, from_environment
from .store.dynamo import DynamoStore
from .store.tables import TableConfig
from .system import SystemClock, SystemEntropy
from .wakeups import LocalWakeups, SleepingWakeups


@cache
def settings() -> Settings:
    return from_environment(os.environ)


@cache
def store() -> DynamoStore:
    found = settings()
    config = TableConfig(
        name=found.table,
        region=found.region,
        endpoint=found.dynamodb_endpoint,
    )
    return DynamoStore(config)


@cache
def engine() -> Engine:
    found = settings()
    waits = found.wakeups != "none"
    options = Options(
        lease_secs=found.lease_secs,
        shared=found.wakeups != "local",
        idle_poll_secs=0.0 if waits else 3.6,
        # In AWS a waiting call is paid for by the second.
        max_wait_secs=20.0 if waits else 1.0,
        mark_key=(found.mark_key or found.table).encode(),
    )
    return Engine(
        store=store(),
        blobs=_blobs(found.blobs),
        wakeups=_wakeups(found.wakeups),
        clock=SystemClock(),
        entropy=SystemEntropy(),
        options=options,
        memory=Memory(),
    )


def _wakeups(kind: str) -> Wakeups:
    return SleepingWakeups() if kind == "none" else LocalWakeups()


def _blobs(place: str | None) -> Blobs:
    if place is None or place.startswith("file://"):
        return FileBlobs((place or "file://.assay/blobs").removeprefix("file://"))
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    return S3Blobs(bucket, prefix)


def prepare() -> None:
    """Make sure the table is there: for `assay serve`; in AWS the stack does it."""
    store().create_table()
