"""One dynoxide for all of a process's cost tests, a table of its own for each."""

from collections.abc import Iterator

import pytest

from assay_devserver import data_dir
from assay_devserver.dynoxide import Dynoxide, find_binary
from tests.costs.metered import Metered, OwnClock, metered


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """As `assay serve --memory` runs it: with the index that keeps writes as fast as the first."""
    binary = find_binary()
    if binary is None:
        pytest.skip("no dynoxide binary: `make test` installs it where Node is present")
    directory = data_dir.in_memory()
    store = Dynoxide(binary, directory.database)
    store.start()
    yield store.endpoint
    store.stop()
    directory.release()


@pytest.fixture
def table(endpoint: str) -> Iterator[Metered]:
    with metered(endpoint, OwnClock()) as fresh:
        yield fresh
