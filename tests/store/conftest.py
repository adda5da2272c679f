"""Every store that claims to keep the contract, each with an empty table for each test."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from assay_engine.store.dynamo import DynamoStore
from assay_engine.store.memory import MemoryStore
from assay_engine.store.tables import TableConfig
from tests.store import servers

AnyStore = MemoryStore | DynamoStore
SERVERS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "dynoxide": servers.dynoxide,
    "dynoxide-lean": servers.dynoxide,
    "moto": servers.moto,
    "dynamodb-local": servers.dynamodb_local,
}


@contextmanager
def connected(server: str) -> Iterator[DynamoStore]:
    """A store without a table on a server of its own."""
    try:
        running = SERVERS[server]()
        endpoint = running.__enter__()
    except servers.NotHereError as missing:
        pytest.skip(str(missing))
    try:
        store = DynamoStore(config(endpoint, lean=server.endswith("-lean")))
        yield store
        store.close()
    finally:
        running.__exit__(None, None, None)


def config(endpoint: str, *, lean: bool = False) -> TableConfig:
    return TableConfig(
        name="assay-test",
        endpoint=endpoint,
        credentials=("any", "thing"),
        lean=lean,
        # An emulator on a busy machine takes its time.
        read_timeout=60.0,
    )


@pytest.fixture(scope="session", name="dynoxide")
def _dynoxide() -> Iterator[DynamoStore]:
    with connected("dynoxide") as store:
        yield store


@pytest.fixture(scope="session", name="dynoxide-lean")
def _dynoxide_lean() -> Iterator[DynamoStore]:
    with connected("dynoxide-lean") as store:
        yield store


@pytest.fixture(scope="session", name="moto")
def _moto() -> Iterator[DynamoStore]:
    with connected("moto") as store:
        yield store


@pytest.fixture(scope="session", name="dynamodb-local")
def _dynamodb_local() -> Iterator[DynamoStore]:
    with connected("dynamodb-local") as store:
        yield store


@pytest.fixture(params=["memory", *SERVERS])
def store(request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    if request.param == "memory":
        yield MemoryStore()
    else:
        with fresh_table(request.getfixturevalue(request.param)) as real:
            yield real


@contextmanager
def fresh_table(real: DynamoStore) -> Iterator[DynamoStore]:
    real.create_table()
    try:
        yield real
    finally:
        real.delete_table()
