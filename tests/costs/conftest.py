"""One dynoxide for all of a process's cost tests, a table of its own for each."""

from collections.abc import Iterator

import pytest

from tests.costs.metered import Metered, metered
from tests.store import servers


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    try:
        running = servers.dynoxide()
        url = running.__enter__()
    except servers.NotHereError as missing:
        pytest.skip(str(missing))
    yield url
    running.__exit__(None, None, None)


@pytest.fixture
def table(endpoint: str) -> Iterator[Metered]:
    with metered(endpoint) as fresh:
        yield fresh
