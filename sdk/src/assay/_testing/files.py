"""Histories as JSON: one object a run, as `export` returns it or as two calls to the API do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay import _json
from assay._history import Event
from assay._info import RunInfo
from assay._testing.replaying import Recorded, last_own
from assay.errors import UsageError

History = Mapping[str, Any] | str | Path

_NAMED = ("workflow_type", "namespace", "task_queue", "run_id", "incarnation")
_TIMED_OUT = "timed out: "


def read_all(histories: History | Iterable[History]) -> list[Recorded]:
    """Return what files, folders of files or objects hold."""
    if isinstance(histories, (Mapping, str, Path)):
        histories = [histories]
    found = [recorded for each in histories for recorded in _read(each)]
    if not found:
        raise UsageError("there is no history to replay: no *.json file was found")
    return found


def _read(history: History) -> list[Recorded]:
    if isinstance(history, Mapping):
        return [recorded_of(history)]
    path = Path(history)
    files = sorted(path.glob("**/*.json")) if path.is_dir() else [path]
    return [_read_file(file) for file in files]


def _read_file(file: Path) -> Recorded:
    try:
        return recorded_of(_json.decode(file.read_bytes()), str(file))
    except (msgspec.DecodeError, UsageError) as error:
        raise UsageError(f"{file} is no history: {error}") from None


def recorded_of(given: Any, name: str | None = None) -> Recorded:
    """Return the run that an object describes.

    What tells which run it is stands beside the events, or in a `record` as the API returns it.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("events"), list):
        raise UsageError("an object with `events` is wanted")
    told: dict[str, Any] = {**(given.get("record") or {}), **given}
    events = _events(told["events"])
    workflow_id = told.get("workflow_id") or told.get("id")
    if not workflow_id or not told.get("workflow_type"):
        raise UsageError("it does not say its `workflow_id` and `workflow_type`")
    info = RunInfo(
        workflow_id=workflow_id,
        attempt=told.get("attempt") or 1,
        parent_id=told.get("parent_id"),
        context=told.get("context") or {},
        started_at=events[0].timestamp,
        **{field: told.get(field) or _DEFAULTS.get(field, "") for field in _NAMED},
    )
    return Recorded(
        name=name or workflow_id,
        info=info,
        events=events,
        seen=told.get("seen") or last_own(events),
        ended_from_outside=bool(told.get("terminated")) or _ended_by_the_engine(events[-1]),
    )


_DEFAULTS = {"namespace": "main", "task_queue": "default"}


def _events(given: list[Any]) -> list[Event]:
    """Return events in their order; those of the API have their payload as JSON text."""
    read = [msgspec.convert({**each, "payload": _payload(each)}, Event) for each in given]
    read.sort(key=lambda event: event.seq)
    if not read or [event.seq for event in read] != list(range(1, len(read) + 1)):
        raise UsageError("its events are not complete: their `seq` counts from 1 without a gap")
    return read


def _payload(event: Mapping[str, Any]) -> Any:
    if event.get("truncated"):
        raise UsageError(f"the payload of event {event.get('seq')} was too long for the answer")
    payload = event.get("payload")
    of_the_api = "workflow_id" in event
    return _json.decode(payload) if of_the_api and isinstance(payload, str) else payload


def _ended_by_the_engine(last: Event) -> bool:
    """Say whether the words are the engine's. A reason of people's own cannot be told apart."""
    if last.event_type != "WorkflowFailed":
        return False
    error = str((last.payload or {}).get("error"))
    return error == "terminated" or error.startswith(_TIMED_OUT)


def written(recorded: Recorded) -> dict[str, Any]:
    """Return the object that `recorded_of` reads."""
    info = recorded.info
    return {
        "workflow_type": info.workflow_type,
        "workflow_id": info.workflow_id,
        "run_id": info.run_id,
        "incarnation": info.incarnation,
        "namespace": info.namespace,
        "task_queue": info.task_queue,
        "attempt": info.attempt,
        "parent_id": info.parent_id,
        "context": dict(info.context) or None,
        "seen": recorded.seen,
        "terminated": recorded.ended_from_outside,
        "events": _json.plain(recorded.events),
    }
