"""The worker protocol's request and answer, as `docs/worker-protocol.md` has them.

Encoding and decoding, and the channel that moves them; what a report means is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assay import _json
from assay._calls import PREFIX
from assay._failures import failed, failure_of
from assay._history import Command, Event
from assay._transport import AsyncTransport, Request, error_of
from assay.errors import ConnectionFailedError
from assay.failure import Failure

PROTOCOL = 1
PATH = f"{PREFIX}/workers/exchange"
_ANSWER_SECS = 30.0


class RunRef(msgspec.Struct, frozen=True):
    """Names one run."""

    namespace: str
    id: str
    incarnation: str


class WorkflowTask(msgspec.Struct, frozen=True, kw_only=True):
    """A run with events that nobody has reacted to."""

    run: RunRef
    workflow_type: str
    task_queue: str
    lease: str
    lease_secs: float
    version: int
    after: int = 0
    history: list[Event] = msgspec.field(default_factory=list)
    history_next: Any = None
    parent_id: str | None = None
    run_id: str = ""
    attempt: int = 1
    started_at: float = 0.0
    seen: int | None = None
    legacy: bool = False
    context: dict[str, Any] | None = None


class ActivityTask(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at an activity."""

    run: RunRef
    seq: int
    attempt: int
    name: str
    lease_secs: float
    max_attempts: int = 1
    task_queue: str = ""
    input: Any = None
    eager: bool = False
    activity_id: int | None = None
    heartbeat_timeout_secs: float | None = None
    details: Any = None
    context: dict[str, Any] | None = None


class ReportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one report."""

    id: str
    status: str
    code: str | None = None
    error: str | None = None
    version: int | None = None
    mark: Any = None
    activities: list[ActivityTask] = msgspec.field(default_factory=list)
    cancel_requested: bool = False


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """More of a long history."""

    run: RunRef
    history: list[Event]
    history_next: Any = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's side of one exchange."""

    reports: list[ReportAnswer] = msgspec.field(default_factory=list)
    workflow_tasks: list[WorkflowTask] = msgspec.field(default_factory=list)
    activity_tasks: list[ActivityTask] = msgspec.field(default_factory=list)
    pages: list[Page] = msgspec.field(default_factory=list)
    next_poll_secs: float = 1.0


class Problem(msgspec.Struct, frozen=True):
    """Why a worker cannot take a run further; shown in the run's record."""

    code: str
    text: str


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """How many more tasks of each kind the worker can take."""

    workflows: int
    activities: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who is asking, and what for."""

    worker_id: str
    namespace: str
    queue: str
    workflows: Sequence[str]
    activities: Sequence[str]


@dataclass(frozen=True, slots=True)
class Report:
    """One report, encoded once: what is sent again is the same, byte for byte."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """What an exchange may take, beside what it reports."""

    room: Room
    wait_secs: float = 0.0
    cached: Sequence[tuple[RunRef, int]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """The second half of a fused step: what the workflow did with the outcome."""

    version: int
    mark: Any
    commands: Sequence[Command]
    eager: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended. `failure` is None for a result."""

    result: Any = None
    failure: Failure | None = None

    @classmethod
    def of(cls, error: BaseException) -> Outcome:
        """Return the outcome of an attempt that raised."""
        return cls(failure=failure_of(error))

    def final(self, task: ActivityTask) -> bool:
        """Say whether the workflow gets to see it, or the engine tries again."""
        if self.failure is None or not self.failure.retryable:
            return True
        return task.attempt >= task.max_attempts

    def event(self, seq: int, task: ActivityTask, at: float) -> Event:
        """Return the event that the engine will write for it."""
        named = {"activity_seq": task.seq, "name": task.name}
        if self.failure is None:
            result = _json.plain(self.result)  # what the workflow changes in it is not reported
            return Event(seq, "ActivityCompleted", {**named, "result": result}, at)
        told = {**failed(self.failure), "final_attempt": task.attempt}
        return Event(seq, "ActivityFailed", {**named, **told}, at)


def commands(report_id: str, task: WorkflowTask, issued: Sequence[Command], eager: int) -> Report:
    """End a workflow task."""
    return _report(
        report_id, "commands", task.run, {"lease": task.lease, "commands": issued, "eager": eager}
    )


def outcome(
    report_id: str, task: ActivityTask, ended: Outcome, *, at: float, then: Then | None
) -> Report:
    """Tell how an attempt ended, and with `then` what follows from it."""
    fields: dict[str, Any] = {**_named(task), "at": at}
    if ended.failure is None:
        kind, fields["result"] = "completed", ended.result
    else:
        kind, fields["retryable"] = "failed", ended.failure.retryable
        fields |= failed(ended.failure)
    if then is not None:
        fields["then"] = {
            "version": then.version,
            "mark": then.mark,
            "eager": then.eager,
            "commands": then.commands,
        }
    return _report(report_id, kind, task.run, fields)


def heartbeat(report_id: str, task: ActivityTask, details: Any) -> Report:
    """Tell that an activity is alive."""
    return _report(report_id, "heartbeat", task.run, {**_named(task), "details": details})


def renew(report_id: str, task: WorkflowTask) -> Report:
    """Tell that a workflow task is still being thought about."""
    return _report(report_id, "renew", task.run, {"lease": task.lease})


def release(
    report_id: str, task: WorkflowTask | ActivityTask, problem: Problem | None = None
) -> Report:
    """Hand a task back without an outcome, and say what was in the way."""
    if isinstance(task, WorkflowTask):
        told = {} if problem is None else {"problem": problem}
        return _report(report_id, "release", task.run, {"lease": task.lease, **told})
    return _report(report_id, "release", task.run, _named(task))


def _named(task: ActivityTask) -> dict[str, Any]:
    """How reports name an attempt; a queued one also by its id, which saves the engine a search."""
    named: dict[str, Any] = {"seq": task.seq, "attempt": task.attempt}
    if not task.eager and task.activity_id is not None:
        named["activity_id"] = task.activity_id
    return named


def _report(report_id: str, kind: str, run: RunRef, fields: Mapping[str, Any]) -> Report:
    body = {"id": report_id, "kind": kind, "run": run, **fields}
    return Report(report_id, _json.encode(body))


@dataclass(slots=True)
class Channel:
    """Exchanges of one worker with one engine."""

    transport: AsyncTransport
    worker: Identity
    _read: msgspec.json.Decoder[Answer] = field(
        default_factory=lambda: msgspec.json.Decoder(Answer)
    )

    async def report(self, reports: Sequence[Report]) -> Answer:
        """Send reports; take nothing but what they bring."""
        return await self._exchange({"reports": [msgspec.Raw(each.body) for each in reports]})

    async def poll(self, poll: Poll) -> Answer:
        """Take tasks."""
        cached = [{"run": run, "seq": seq} for run, seq in poll.cached]
        body = {"room": poll.room, "wait_secs": poll.wait_secs, "cached": cached}
        return await self._exchange(body, wait_secs=poll.wait_secs)

    async def pages(self, run: RunRef, cursor: Any) -> Answer:
        """Ask for more of a long history."""
        return await self._exchange({"pages": [{"run": run, "cursor": cursor}]})

    async def _exchange(self, body: Mapping[str, Any], wait_secs: float = 0.0) -> Answer:
        who = {
            "protocol": PROTOCOL,
            "worker_id": self.worker.worker_id,
            "namespace": self.worker.namespace,
            "queue": self.worker.queue,
            "workflows": self.worker.workflows,
            "activities": self.worker.activities,
        }
        request = Request(
            method="POST",
            path=PATH,
            body=_json.encode({**who, **body}),
            timeout_secs=wait_secs + _ANSWER_SECS,
        )
        response = await self.transport.send(request)
        if response.status >= 400:
            raise error_of(response)
        try:
            return self._read.decode(response.body)
        except msgspec.DecodeError as error:
            raise ConnectionFailedError(f"an answer that cannot be read: {error}") from error
