import pytest
from assay_functions.api import handler as api
from assay_functions.worker import handler as worker

from assay_engine.app.engine import Engine
from tests.web.calls import Calls
from tests.web.fakes import HandClock, memory_engine


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def engine(clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine behind the real handlers."""
    engine = memory_engine(clock)
    monkeypatch.setattr(api.app, "engine", lambda: engine)
    monkeypatch.setattr(worker.app, "engine", lambda: engine)
    return engine


@pytest.fixture
def calls(engine: Engine) -> Calls:
    return Calls()
