"""Two engines on one table are one engine: what is started at one is finished at the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.costs.metered import dynoxide
from tests.crash.processes import Api, Serve, calling, serving, working


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Serve]]:
    with dynoxide() as endpoint:
        options = ("--dynamodb-endpoint", endpoint, "--data-dir", str(tmp_path))
        with serving(tmp_path / "a.log", *options) as a, serving(tmp_path / "b.log", *options) as b:
            yield [a, b]


def test_runs_started_at_one_engine_are_finished_by_a_worker_at_the_other(
    pair: list[Serve], tmp_path: Path
) -> None:
    here, there = pair
    runs = [f"run-{number}" for number in range(20)]
    with calling(here.url) as api, working("exchange", there.url, tmp_path / "journal") as worker:
        for run in runs:
            assert api.start(run, "Pay", "payments").status_code == 201
            assert api.post(f"/workflows/{run}/signal/go").status_code == 200
        assert api.start("family", "Family", "payments").status_code == 201
        ended = {run: api.ended(run)["status"] for run in [*runs, "family"]}
        assert ended == dict.fromkeys([*runs, "family"], "COMPLETED")
        assert _seen_at(there.url, runs) == [api.events(run) for run in runs]
    charged = sorted(run for what, run, _ in worker.lines() if what == "charge")
    assert charged == sorted(runs)


def _seen_at(url: str, runs: list[str]) -> list[list[object]]:
    with calling(url) as api:
        return [api.events(run) for run in runs]


def test_workers_at_both_engines_share_the_work_of_one_queue(
    pair: list[Serve], tmp_path: Path
) -> None:
    here, there = pair
    runs = [f"run-{number}" for number in range(20)]
    with (
        calling(here.url) as api,
        working("exchange", here.url, tmp_path / "exchange"),
        working("legacy", there.url, tmp_path / "legacy"),
    ):
        for run in runs:
            assert api.start(run, "Pay", "payments").status_code == 201
            assert api.post(f"/workflows/{run}/signal/go").status_code == 200
        ended = [api.ended(run)["status"] for run in runs]
        assert ended == ["COMPLETED"] * len(runs)
        for run in runs:
            _check_once(api, run)


def _check_once(api: Api, run: str) -> None:
    done = [e["payload"] for e in api.events(run) if e["event_type"] == "ActivityCompleted"]
    assert [outcome["activity_seq"] for outcome in done] == [1, 2]
