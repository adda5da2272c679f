"""The engine dies again and again, its store with it: all runs end, and what it answered holds."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.costs import ledger
from tests.costs.metered import binary
from tests.crash.load import Client, RememberingWorker
from tests.crash.processes import Serve, calling, serving, working

KILLS = 20
RUNS_A_LIFE = 10
# Activities that end in a life, with two in each run: death comes when most of its runs are
# somewhere between their start and their end.
ACTIVITIES_A_LIFE = 18
LONGEST_LIFE_SECS = 3.0
SENDERS = 4


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    binary()  # another store would be in memory
    # The worker's leases and attempts that a death interrupts are given up after a second.
    options = ("--data-dir", str(tmp_path / "data"))
    with serving(tmp_path / "engine.log", *options, lease_secs=1.0) as serve:
        yield serve


def test_no_answer_is_taken_back_by_an_engine_that_is_killed_twenty_times(
    serve: Serve, tmp_path: Path
) -> None:
    clients = [
        Client(f"run-{number}", "old-payments" if number % 4 == 0 else "payments")
        for number in range(KILLS * RUNS_A_LIFE)
    ]
    with (
        working("exchange", serve.url, tmp_path / "journal") as exchanging,
        _legacy(serve, tmp_path) as legacy,
    ):
        _live_and_die(serve, clients, lambda: len(exchanging.lines()) + len(legacy.results))
        with calling(serve.url) as api:
            for client in clients:
                assert api.ended(client.run)["status"] == "COMPLETED"
            histories = {client.run: api.events(client.run) for client in clients}
    assert any(client.unanswered for client in clients), "no call was cut short"
    for client in clients:
        _check_signals(client, histories[client.run])
        _check_once(histories[client.run])
    _check_results(legacy, histories)


@contextmanager
def _legacy(serve: Serve, tmp_path: Path) -> Iterator[RememberingWorker]:
    worker = RememberingWorker(serve.url, tmp_path / "legacy", "old-payments")
    over = Event()
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(worker.work_until, over)
        try:
            yield worker
        finally:
            over.set()
            working.result()
            worker.close()


def _live_and_die(serve: Serve, clients: list[Client], progress: Callable[[], int]) -> None:
    """Each life of the engine ends while some runs are at work and others are being started."""
    chance = random.Random(20)
    back: list[float] = []
    with calling(serve.url) as api, ThreadPoolExecutor(SENDERS) as senders:
        driven = []
        for life in range(KILLS):
            _live(progress, life * ACTIVITIES_A_LIFE)
            mine = clients[life * RUNS_A_LIFE : (life + 1) * RUNS_A_LIFE]
            driven += [senders.submit(client.drive, api) for client in mine]
            time.sleep(chance.uniform(0, 0.05))
            serve.kill()
            died = time.monotonic()
            serve.start()
            back.append(time.monotonic() - died)
        for done in driven:
            done.result()
    median, worst = sorted(back)[KILLS // 2], max(back)
    seconds = {"median_secs": round(median, 2), "worst_secs": round(worst, 2)}
    ledger.state("engine killed until it listens again", seconds)


def _live(progress: Callable[[], int], enough: int) -> None:
    end = time.monotonic() + LONGEST_LIFE_SECS
    while progress() < enough and time.monotonic() < end:
        time.sleep(0.005)


def _check_signals(client: Client, events: list[Any]) -> None:
    received = Counter(
        event["payload"]["payload"] for event in events if event["event_type"] == "SignalReceived"
    )
    assert set(received.values()) == {1}
    assert set(client.answered) <= set(received) <= {*client.answered, *client.unanswered}


def _check_once(events: list[Any]) -> None:
    counted = Counter(event["event_type"] for event in events)
    counted = Counter({kind: counted[kind] for kind in ONCE})
    assert counted == ONCE
    done = [e["payload"]["activity_seq"] for e in events if e["event_type"] == "ActivityCompleted"]
    assert done == [1, 2]


ONCE = Counter(
    WorkflowStarted=1,
    SideEffectRecorded=1,
    ActivityScheduled=2,
    ActivityCompleted=2,
    WorkflowCompleted=1,
)


def _check_results(legacy: RememberingWorker, histories: dict[str, list[Any]]) -> None:
    """The result in history is one that was sent, and none that came after an answered one."""
    assert legacy.results
    for (run, seq), results in legacy.results.items():
        (recorded,) = (
            event["payload"]["result"]
            for event in histories[run]
            if event["event_type"] == "ActivityCompleted"
            and event["payload"]["activity_seq"] == seq
        )
        assert recorded in results.possible
