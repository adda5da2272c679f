"""Schedules, namespaces, workers and queues: what is asked, and records read as recorded.

The recordings of the original engine are kept beside the checkout, in ../shared; without them
the tests that need them are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from assay.client import (
    Client,
    Namespace,
    NamespaceStats,
    QueueStats,
    Schedule,
    WorkerInfo,
)

from .scripted import BOTH, Play, Script

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"
NS = {"namespace": "main"}
SCHEDULE: dict[str, Any] = {
    "name": "nightly",
    "namespace": "main",
    "workflow_type": "Report",
    "cron_expr": "0 30 2 * * *",
    "timezone": "UTC",
    "input": '{"a":1}',
    "task_queue": "default",
    "overlap_policy": "skip",
    "paused": False,
    "last_run_at": None,
    "next_run_at": 5.0,
    "last_workflow_id": None,
    "created_at": 1.0,
}
STATS: dict[str, Any] = {
    "namespace": "team",
    "total_workflows": 5,
    "running": 1,
    "pending": 2,
    "completed": 1,
    "failed": 1,
    "schedules": 3,
    "workers": 4,
}


@pytest.fixture(params=BOTH, ids=["blocking", "awaiting"])
def play(request: pytest.FixtureRequest) -> Play:
    made: Play = request.param
    return made


async def report(ctx: Any, input: Any) -> None:
    raise NotImplementedError


report.__assay_workflow__ = "Report"  # type: ignore[attr-defined]
report.__assay_queue__ = "reports"  # type: ignore[attr-defined]

CREATE = {
    "name": "nightly",
    "workflow_type": "Report",
    "cron_expr": "0 30 2 * * *",
    "namespace": "main",
}


@pytest.mark.parametrize(
    ("do", "answer", "expected"),
    [
        (
            lambda c: c.schedules.create("nightly", "Report", "0 30 2 * * *"),
            SCHEDULE,
            ("POST", "/schedules", {}, {**CREATE, "task_queue": "default"}),
        ),
        (
            lambda c: c.schedules.create(
                "nightly",
                report,
                "0 30 2 * * *",
                input=[1],
                timezone="Europe/Berlin",
                overlap_policy="allow_all",
            ),
            SCHEDULE,
            (
                "POST",
                "/schedules",
                {},
                {
                    **CREATE,
                    "task_queue": "reports",
                    "input": [1],
                    "timezone": "Europe/Berlin",
                    "overlap_policy": "allow_all",
                },
            ),
        ),
        (lambda c: c.schedules.list(), [SCHEDULE], ("GET", "/schedules", NS, None)),
        (lambda c: c.schedules.describe("a b"), SCHEDULE, ("GET", "/schedules/a%20b", NS, None)),
        (
            lambda c: c.schedules.describe("a/b"),
            SCHEDULE,
            ("GET", "/schedules/-", {"id": "a/b", **NS}, None),
        ),
        (
            lambda c: c.schedules.patch("n", cron_expr="0 0 3 * * *", input={"a": 2}),
            SCHEDULE,
            ("PATCH", "/schedules/n", NS, {"cron_expr": "0 0 3 * * *", "input": {"a": 2}}),
        ),
        (lambda c: c.schedules.patch("n"), SCHEDULE, ("PATCH", "/schedules/n", NS, {})),
        (lambda c: c.schedules.pause("n"), SCHEDULE, ("POST", "/schedules/n/pause", NS, None)),
        (lambda c: c.schedules.resume("n"), SCHEDULE, ("POST", "/schedules/n/resume", NS, None)),
        (lambda c: c.schedules.delete("n"), {}, ("DELETE", "/schedules/n", NS, None)),
        (lambda c: c.namespaces.create("a/b"), {}, ("POST", "/namespaces", {}, {"name": "a/b"})),
        (lambda c: c.namespaces.list(), [], ("GET", "/namespaces", {}, None)),
        (lambda c: c.namespaces.stats("team"), STATS, ("GET", "/namespaces/team", {}, None)),
        (lambda c: c.namespaces.describe("team"), STATS, ("GET", "/namespaces/team", {}, None)),
        (lambda c: c.namespaces.delete("a?"), {}, ("DELETE", "/namespaces/-", {"id": "a?"}, None)),
        (lambda c: c.workers.list(), [], ("GET", "/workers", NS, None)),
        (lambda c: c.queues.stats(), [], ("GET", "/queues", NS, None)),
    ],
)
def test_each_call_asks_what_the_contract_says(
    play: Play, do: Any, answer: Any, expected: Any
) -> None:
    script = Script((200, answer))

    play(script, do)

    assert script.asked() == [expected]


def test_what_changes_something_carries_a_key(play: Play) -> None:
    script = Script((200, {}))

    play(script, lambda c: c.schedules.delete("n"))

    assert "idempotency-key" in script.requests[0].headers


def test_a_schedule_comes_with_its_input_read(play: Play) -> None:
    read = play(Script((200, SCHEDULE)), lambda c: c.schedules.pause("nightly"))

    assert read == Schedule(**{**SCHEDULE, "input": {"a": 1}})


def test_a_worker_comes_with_its_lists_read(play: Play) -> None:
    worker: dict[str, Any] = {
        "id": "w-1",
        "namespace": "main",
        "identity": "host",
        "task_queue": "default",
        "workflows": '["A","B"]',
        "activities": None,
        "max_concurrent_workflows": 10,
        "max_concurrent_activities": 20,
        "active_tasks": 0,
        "last_heartbeat": 5.0,
        "registered_at": 1.0,
    }

    read = play(Script((200, [worker])), lambda c: c.workers.list())

    assert read == [WorkerInfo(**{**worker, "workflows": ("A", "B")})]


def test_counts_come_as_numbers(play: Play) -> None:
    queue = {"queue": "q", "pending_activities": 1, "running_activities": 2, "workers": 3}
    assert play(Script((200, [queue])), lambda c: c.queues.stats()) == [QueueStats(**queue)]
    assert play(Script((200, STATS)), lambda c: c.namespaces.stats("team")) == NamespaceStats(
        **STATS
    )


def test_a_namespace_has_a_name_and_an_age(play: Play) -> None:
    made = {"name": "team", "created_at": 1.5}

    assert play(Script((200, [made])), lambda c: c.namespaces.list()) == [Namespace(**made)]


# -- what the original engine has answered ---------------------------------------------------------

READERS: list[tuple[str, str, Callable[[Client], Any]]] = [
    ("GET", r"/schedules", lambda c: c.schedules.list()),
    ("POST", r"/schedules", lambda c: c.schedules.create("n", "T", "* * * * * *")),
    ("GET", r"/schedules/[^/]+", lambda c: c.schedules.describe("n")),
    ("PATCH", r"/schedules/[^/]+", lambda c: c.schedules.patch("n")),
    ("POST", r"/schedules/[^/]+/pause", lambda c: c.schedules.pause("n")),
    ("POST", r"/schedules/[^/]+/resume", lambda c: c.schedules.resume("n")),
    ("GET", r"/namespaces", lambda c: c.namespaces.list()),
    ("GET", r"/namespaces/[^/]+", lambda c: c.namespaces.stats("n")),
    ("GET", r"/workers", lambda c: c.workers.list()),
    ("GET", r"/queues", lambda c: c.queues.stats()),
    ("GET", r"/workflows", lambda c: c.list()),
    ("GET", r"/workflows/[^/]+", lambda c: c.describe("w")),
    ("GET", r"/workflows/[^/]+/children", lambda c: c.list_children("w")),
    ("GET", r"/workflows/[^/]+/events", lambda c: c.get_events("w")),
]
FILES = ("schedules", "schedules-firing", "namespaces-meta", "worker-protocol", "workflows")
_TEXTS = {"input", "result", "search_attributes", "payload", "workflows", "activities"}
_NUMBER = re.compile(r"<(time|event_id|activity:\d+|timer:\d+)>")


def _filled(value: Any) -> Any:
    """Put numbers where the recording has placeholders for them."""
    if isinstance(value, dict):
        return {name: _filled(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    return 7 if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _recorded(version: str) -> Iterator[tuple[str, Callable[[Client], Any], Any]]:
    for name in FILES:
        recording = json.loads((GOLDEN / version / f"{name}.json").read_text())
        for entry in recording["entries"]:
            asked, answer = entry["request"], entry["response"]
            if entry.get("body_reduced") or asked.get("absolute") or answer["status"] >= 300:
                continue
            for method, path, read in READERS:
                whole = asked["path"].partition("?")[0]
                if asked["method"] == method and re.fullmatch(path, whole):
                    yield f"{method} {path}", read, _filled(answer["body"])


def _expected(body: Any) -> Any:
    if isinstance(body, list):
        return [_expected(item) for item in body]
    return {
        name: json.loads(value) if name in _TEXTS and value is not None else value
        for name, value in body.items()
    }


def _told(record: Any, body: Any) -> Any:
    if isinstance(body, list):
        return [_told(one, item) for one, item in zip(record, body, strict=True)]
    # As JSON, in which a tuple is a list.
    values = json.loads(json.dumps(asdict(record)))
    return {name: values[name] for name in body}


@pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"{GOLDEN} is not there")
@pytest.mark.parametrize("version", ["v0.12.1", "engine-v0.5.15"])
def test_every_recorded_answer_is_read_field_by_field(version: str) -> None:
    seen: dict[str, int] = {f"{method} {path}": 0 for method, path, _ in READERS}
    for kind, read, body in _recorded(version):
        script = Script((200, body))
        record = read(Client("http://e", transport=script))
        assert _told(record, body) == _expected(body)
        seen[kind] += 1

    assert [kind for kind, count in seen.items() if count == 0] == []
