"""What a worker reports by exchange, one report at a time. A bad one fails nothing else;
one that could not be decided now is left unanswered, and so sent again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core import failures, keys, limits, problem, values
from ..core.activity import Activity
from ..core.commands import read_all
from ..core.commit import Step
from ..core.decide import Batch
from ..core.errors import AssayError, BusyError, ShapeError, StaleError
from ..core.failures import Failure
from ..core.history import EventType
from ..core.keys import Key
from ..core.run import Head
from ..core.values import Parcels
from . import (
    activities,
    claims,
    commits,
    dispatch,
    eager,
    history,
    incarnations,
    marks,
    payloads,
    problems,
    steps,
)
from .engine import Engine
from .inbound import Inbound, NotAppendedError, append

MAX_ID_BYTES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The worker of an exchange, as far as reports need it."""

    worker: str
    queue: str | None
    activities: frozenset[str] | None
    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    id: str
    key: Key
    nonce: str
    raw: Mapping[str, Any]

    def text(self, name: str) -> str:
        value = self.raw.get(name)
        if not isinstance(value, str):
            raise ShapeError(f"{name} must be a text")
        return value

    def whole(self, name: str) -> int:
        value = self.raw.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ShapeError(f"{name} must be a whole number")
        return value


def read(raw: Any, sender: Sender) -> Report:
    if not isinstance(raw, Mapping):
        raise ShapeError("a report must be an object")
    run = raw.get("run")
    if not isinstance(run, Mapping):
        raise ShapeError("run must be an object")
    parts = [run.get("namespace", sender.namespace), run.get("id"), run.get("incarnation")]
    if not all(isinstance(part, str) for part in parts):
        raise ShapeError("run must name namespace, id and incarnation")
    if parts[0] != sender.namespace:
        raise StaleError("the run is of another namespace than this worker")
    return Report(
        id=report_id(raw), key=keys.head(str(parts[0]), str(parts[1])), nonce=str(parts[2]), raw=raw
    )


def report_id(raw: Any) -> str:
    found = raw.get("id") if isinstance(raw, Mapping) else None
    if not isinstance(found, str) or not 0 < len(found.encode()) <= MAX_ID_BYTES:
        raise ShapeError(f"a report needs an id, a text of 1 to {MAX_ID_BYTES} bytes")
    return found


def answer(engine: Engine, raw: Any, sender: Sender) -> dict[str, Any] | None:
    """The answer to one report; None: try again later."""
    name = raw.get("id") if isinstance(raw, Mapping) else None
    try:
        report = read(raw, sender)
        handler = _HANDLERS.get(str(raw.get("kind")))
        if handler is None:
            raise ShapeError(f"unknown kind {raw.get('kind')!r}")
        return _answer(name, "accepted") | handler(engine, report, sender)
    except BusyError:
        return None
    except StaleError as error:
        return _answer(name, "stale", error) | _leftover(engine, raw, sender)
    except AssayError as error:
        return _answer(name, "invalid", error)


def _answer(name: Any, status: str, error: AssayError | None = None) -> dict[str, Any]:
    return {
        "id": name,
        "status": status,
        "code": error.code if error else None,
        "error": str(error) if error else None,
        "version": None,
        "mark": None,
        "activities": [],
    }


def _leftover(engine: Engine, raw: Any, sender: Sender) -> dict[str, Any]:
    """Activities that a stale report started after all: those are the worker's to run."""
    try:
        report = read(raw, sender)
        head = engine.store.get(Head, report.key)
    except AssayError:
        return {}
    if head is None or head.nonce != report.nonce:
        return {}
    return {"activities": dispatch.lines_of(engine, head, report.id)}


def _batch(engine: Engine, report: Report, sender: Sender, room: Any) -> Batch:
    return Batch(
        worker=sender.worker,
        report=report.id,
        legacy=False,
        queue=sender.queue,
        eager_room=min(room, limits.MAX_EAGER) if isinstance(room, int) else 0,
        eager_types=sender.activities,
        lease_secs=engine.options.lease_secs,
    )


def _commands(raw: Mapping[str, Any]) -> list[Any]:
    commands = raw.get("commands", [])
    if commands == {}:
        commands = []
    if not isinstance(commands, list):
        raise ShapeError("commands must be a list")
    return commands


def _commit(engine: Engine, report: Report, sender: Sender) -> dict[str, Any]:
    lease = report.text("lease")
    commands = read_all(_commands(report.raw))
    head = incarnations.find(engine, report.key, report.nonce)
    if head is None:
        raise StaleError("there is no such run any more")
    if head.report == report.id:
        return _repeat(engine, head, report)
    if not head.is_open or head.lease_token != lease:
        raise StaleError("the lease of this task is somebody else's by now")
    batch = _batch(engine, report, sender, report.raw.get("eager", 0))
    done = commits.commit(engine, head, commands, batch)
    if done.refused:
        return {"status": "refused", "code": "unseen_events", "version": done.head.length}
    if done.again:
        return _repeat(engine, done.head, report)
    tasks = [dispatch.eager_task(engine, done.head, n) for n in done.eager]
    return {"version": done.head.length, "activities": tasks}


def _repeat(engine: Engine, head: Head, report: Report) -> dict[str, Any]:
    return {"version": head.length, "activities": dispatch.lines_of(engine, head, report.id)}


def _completed(engine: Engine, report: Report, sender: Sender) -> dict[str, Any]:
    seq, result = report.whole("seq"), report.raw.get("result")
    if "then" in report.raw and report.raw["then"] is not None:
        data = {"q": seq, **_value(engine, report, result)}
        return _fused(engine, report, sender, (EventType.ACTIVITY_COMPLETED, data))
    item = eager.item_of(engine, report.key, report.nonce, seq, report.raw.get("activity_id"))
    if item is not None:
        if not activities.complete(engine, item, result, _at(engine, report)):
            _kept(engine, report, engine.store.get(Head, report.key))
        return {}
    data = {"q": seq, **_value(engine, report, result)}
    return _keep(engine, report, EventType.ACTIVITY_COMPLETED, data)


def _keep(engine: Engine, report: Report, kind: EventType, data: dict[str, Any]) -> dict[str, Any]:
    """An eager activity's outcome, on its own."""
    seq = int(data["q"])
    outcome = Inbound(
        type=kind,
        data=data,
        guard=activities.guard_of(seq, report.nonce),
        also=activities.books(seq, None),
        at=_at(engine, report),
    )
    try:
        head = append(engine, report.key, outcome)
    except NotAppendedError as refused:
        _kept(engine, report, refused.image)
        return {}
    return {"version": head.length}


def _kept(engine: Engine, report: Report, head: Head | None) -> None:
    """Nothing was added: fine if it was there before, by an earlier sending or attempt."""
    head, found = incarnations.behind(engine, head, report.nonce), None
    if head is not None:
        found = history.find_outcome(engine, head, report.whole("seq"))
    if found is None or found.event.type is not EventType.ACTIVITY_COMPLETED:
        raise StaleError("another outcome of this activity was first")


def _value(engine: Engine, report: Report, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    parcels = Parcels()
    field = parcels.field(value, "result")
    payloads.put(engine, report.key, report.nonce, parcels)
    return field


def _at(engine: Engine, report: Report) -> float | None:
    """The time the worker gives an outcome; nonsense is replaced by ours."""
    at = report.raw.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float):
        return None
    return float(at) if abs(at - engine.now()) <= limits.MAX_CLOCK_SKEW_SECS else None


def _fused(
    engine: Engine, report: Report, sender: Sender, outcome: tuple[EventType, dict[str, Any]]
) -> dict[str, Any]:
    then = report.raw["then"]
    if not isinstance(then, Mapping):
        raise ShapeError("then must be an object")
    version = Report(id=report.id, key=report.key, nonce=report.nonce, raw=then).whole("version")
    mark = then.get("mark")
    at = report.raw.get("at")
    step = Step(
        seq=report.whole("seq"),
        attempt=report.whole("attempt"),
        version=version,
        kind=outcome[0],
        data=outcome[1],
        at=float(at) if isinstance(at, int | float) else engine.now(),
        commands=read_all(_commands(then)),
        chunk_base=marks.base_of(engine, mark, report.nonce, version)
        if isinstance(mark, str)
        else None,
    )
    batch = _batch(engine, report, sender, then.get("eager", 0))
    done = steps.fuse(engine, report.key, report.nonce, step, batch)
    if done.refused:
        return {"status": "refused", "code": done.refused, "version": done.head.length}
    if done.repeat:
        return _repeat(engine, done.head, report)
    tasks = [dispatch.eager_task(engine, done.head, n) for n in done.eager]
    return {"version": done.head.length, "mark": done.mark, "activities": tasks}


def _item(engine: Engine, report: Report, sender: Sender) -> Activity | None:
    """The item of a queued activity that is this worker's; None: it is an eager one.

    The number of an attempt is not enough: one handed back, or begun anew by a retry of the
    run, is run by another worker under the same number, and this may be an old report.
    """
    seq, named = report.whole("seq"), report.raw.get("activity_id")
    item = eager.item_of(engine, report.key, report.nonce, seq, named)
    if item is not None and item.worker != sender.worker:
        raise StaleError("this attempt is no longer this worker's")
    return item


def _failed(engine: Engine, report: Report, sender: Sender) -> dict[str, Any]:
    seq, attempt = report.whole("seq"), report.whole("attempt")
    error, failure, retryable = _what_failed(report)
    if report.raw.get("then") is not None:
        eager.check_final(engine, report.key, report.nonce, seq, retryable=retryable)
        data = {"q": seq, **_error(engine, report, error, failure), "f": attempt}
        return _fused(engine, report, sender, (EventType.ACTIVITY_FAILED, data))
    item = _item(engine, report, sender)
    if item is not None:
        failed = activities.Failed(
            error=error, failure=failure, retryable=retryable, attempt=attempt
        )
        if not activities.fail(engine, item, failed):
            raise StaleError("this attempt is no longer this worker's")
        return {}
    told = eager.Failure(
        seq=seq,
        attempt=attempt,
        worker=sender.worker,
        error=error,
        retryable=retryable,
        failure=failure,
    )
    head = eager.fail(engine, report.key, report.nonce, told)
    return {"version": head.length}


def _what_failed(report: Report) -> tuple[str, Failure | None, bool]:
    """Error text, structured failure, and whether another attempt may help: both must say so."""
    failure = failures.read(report.raw.get("failure"))
    if failure is None:
        return report.text("error"), None, report.raw.get("retryable", True) is not False
    error = report.text("error") if "error" in report.raw else failure["message"]
    return error, failure, failure["retryable"] and report.raw.get("retryable", True) is not False


def _error(engine: Engine, report: Report, error: str, failure: Failure | None) -> dict[str, Any]:
    parcels = Parcels()
    stored = parcels.store(error, "error")
    structured = failures.field(parcels, failure)
    payloads.put(engine, report.key, report.nonce, parcels)
    return ({"e": error} if values.inline(stored) else {"r": stored}) | structured


def _heartbeat(engine: Engine, report: Report, sender: Sender) -> dict[str, Any]:
    seq, attempt = report.whole("seq"), report.whole("attempt")
    details = report.raw.get("details")
    item = _item(engine, report, sender)
    if item is None:
        sign = eager.Sign(seq=seq, attempt=attempt, worker=sender.worker, details=details)
        head = eager.heartbeat(engine, report.key, report.nonce, sign)
        return {"cancel_requested": head.cancel_after is not None}
    if activities.heartbeat(engine, item, details, attempt=attempt) is None:
        raise StaleError("this attempt is no longer this worker's")
    run = engine.store.get(Head, report.key)
    lives = run is not None and run.nonce == report.nonce and run.is_open
    return {"cancel_requested": not lives or run is None or run.cancel_after is not None}


def _renew(engine: Engine, report: Report, _: Sender) -> dict[str, Any]:
    if claims.renew(engine, report.key, report.nonce, report.text("lease")) is None:
        raise StaleError("the lease of this task is somebody else's by now")
    return {}


def _hand_back(engine: Engine, report: Report) -> bool:
    lease, told = report.text("lease"), report.raw.get("problem")
    if told is None:
        return claims.release(engine, report.key, report.nonce, lease)
    return problems.hand_back(engine, report.key, report.nonce, lease, problem.read(told))


def _release(engine: Engine, report: Report, sender: Sender) -> dict[str, Any]:
    if "lease" in report.raw:
        if not _hand_back(engine, report):
            raise StaleError("the lease of this task is somebody else's by now")
        return {}
    seq, attempt = report.whole("seq"), report.whole("attempt")
    item = _item(engine, report, sender)
    if item is None:
        sign = eager.Sign(seq=seq, attempt=attempt, worker=sender.worker, details=None)
        eager.release(engine, report.key, report.nonce, sign)
    elif not activities.release(engine, item, attempt):
        raise StaleError("this attempt is no longer this worker's")
    return {}


_HANDLERS: dict[str, Callable[[Engine, Report, Sender], dict[str, Any]]] = {
    "commands": _commit,
    "completed": _completed,
    "failed": _failed,
    "heartbeat": _heartbeat,
    "renew": _renew,
    "release": _release,
}
