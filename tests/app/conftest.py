"""Every test gets a world of its own."""

import pytest

from tests.app.world import World


@pytest.fixture
def world() -> World:
    return World()
