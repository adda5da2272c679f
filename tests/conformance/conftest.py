import os
import tempfile
from pathlib import Path

import pytest

from tests.conformance.places import ABSENT, GOLDEN
from tests.conformance.replays import FOLDER, Replays


def _replays(config: pytest.Config) -> tuple[Replays, int]:
    """The session's replays, and the process that lives as long as the session does."""
    input_of_worker = getattr(config, "workerinput", None)
    if input_of_worker is None:
        session, name = os.getpid(), f"{os.getpid()}"
    else:
        session, name = os.getppid(), f"{input_of_worker['testrunuid']}"
    return Replays(Path(tempfile.gettempdir()) / f"{FOLDER}{name}"), session


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What waits for replays comes last, and the replays begin at once."""
    items.sort(key=lambda item: "replays" in getattr(item, "fixturenames", ()))
    wanted = any("replays" in getattr(item, "fixturenames", ()) for item in items)
    if wanted and GOLDEN.exists() and not config.option.collectonly:
        replays, session = _replays(config)
        replays.start(session)


@pytest.fixture(scope="session")
def replays(pytestconfig: pytest.Config) -> Replays:
    if not GOLDEN.exists():
        pytest.skip(ABSENT)
    return _replays(pytestconfig)[0]
