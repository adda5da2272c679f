"""One dynoxide for all of a process's cost tests, a table of its own for each."""

from collections.abc import Iterator

import pytest

from tests.costs.metered import Metered, OwnClock, dynoxide, metered


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    with dynoxide() as url:
        yield url


@pytest.fixture
def table(endpoint: str) -> Iterator[Metered]:
    with metered(endpoint, OwnClock()) as fresh:
        yield fresh
