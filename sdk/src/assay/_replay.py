"""The deterministic core: events in, one at a time; commands out. No I/O and no clock.

After each event the workflow's loop runs until it blocks, live as in replay, so what it does
depends on the order of its inbound events alone.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from assay import _json
from assay._failures import failed, failure_of, raised
from assay._guard import unguarded
from assay._history import OWN, Command, Event, side_effects, still_seen, surviving
from assay._issued import Issued, size, size_of
from assay._loop import WorkflowLoop
from assay._signals import Received, Signals
from assay._waits import Waits, failure_in
from assay.channel import Channel
from assay.errors import AssayError, ForbiddenCallError, UsageError
from assay.failure import Failure

logger = logging.getLogger("assay.workflow")

Body = Callable[["Machine", Any], Coroutine[Any, Any, Any]]
_MARKER = "version:"
_RAISED = "assay.raised"


class Closing(BaseException):
    """Thrown through workflow code to end the run with `command`; not to be caught there."""

    def __init__(self, command: Command) -> None:
        super().__init__(command["type"])
        self.command = command


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """A run that this one watches, or is linked to, has ended."""

    workflow_id: str
    status: str
    result: Any
    failure: Failure | None
    linked: bool


class Machine:
    """One run of one workflow function.

    `delivered` is the seq of the last event that the workflow has seen. It may run ahead of what
    was shipped: events that are known to exist because their report was accepted count as seen.
    """

    def __init__(self, body: Body) -> None:
        self.delivered = 0
        self.history_size = 0
        self.now = 0.0
        self.closed = False
        self.cancel_reason: str | None = None
        self.cancel_requested = False
        self.trap_links = False
        self.signals = Signals()
        self.exits: Channel[Exited] = Channel()
        self._body = body
        self._loop = WorkflowLoop(self)  # type: ignore[abstract]  # the rest is refused, by name
        self._main: asyncio.Task[Any] | None = None
        self._closing: Command | None = None
        self._issued = Issued()
        self._seen = 0
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._waits = Waits(self._loop.create_future)
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._timer_seqs: dict[int, int] = {}
        self._recorded: dict[int, Event] = {}
        self._markers: set[str] = set()
        self._versions: dict[str, int] = {}
        self._undone: set[int] = set()
        self._queries: dict[str, Callable[[], Any]] = {}
        self._snapshot: bytes | None = None

    # -- what the worker does with it ------------------------------------------------------------

    def feed(
        self, history: Sequence[Event], seen: int | None = None, *, complete: bool = True
    ) -> None:
        """Deliver what is new in `history`, one event after the other.

        `seen` is how much of it the last commit had seen: for that, everything that the code
        has issued is in history, if the commit was `complete`; a legacy client stops half-way.
        """
        new = [event for event in history if event.seq > self.delivered]
        kept = surviving(new)
        found = side_effects(new)
        self._recorded |= found
        self._undone |= found.keys() - side_effects(kept).keys()
        names = (str(event.payload.get("name")) for event in side_effects(kept).values())
        self._markers |= {name.removeprefix(_MARKER) for name in names if name.startswith(_MARKER)}
        counting = still_seen(seen or 0, new)
        self._seen = max(self._seen, counting)
        for event in kept:
            self.deliver(event)
        self.delivered = max(self.delivered, *(event.seq for event in new), 0)
        if seen == counting and complete and not self.closed:
            self._issued.expect_none_before(seen)

    def deliver(self, event: Event) -> None:
        """Let the workflow see one event, and run until it blocks."""
        self.delivered = event.seq
        if event.event_type in OWN:
            recorded = self._issued.match(event)
            self.history_size += 0 if recorded is None else size(recorded)
            return
        self.history_size += size_of(event)
        if not self.closed:
            self.now = max(self.now, event.timestamp)
            self._activate(event)

    def commands(self) -> list[Command]:
        """Return what was issued and is not in history yet; a changed snapshot comes first."""
        snapshot = self._changed_snapshot()
        issued = self._issued.commands
        return issued if snapshot is None else [snapshot, *issued]

    @property
    def outstanding(self) -> int:
        """How many issued commands history has not recorded yet."""
        return len(self._issued)

    def record(self) -> None:
        """Take all issued commands as recorded, each as the next event of the history."""
        for command in self._issued.forget():
            self.delivered += 1
            self.history_size += size(command)

    def drop(self) -> None:
        """Give the workflow up. What its `finally` blocks would do is not wanted any more."""
        self.closed = True
        self._loop.drop()

    # -- what the workflow context asks of it ----------------------------------------------------

    def schedule_activity(
        self, name: str, input: Any, options: Mapping[str, Any]
    ) -> asyncio.Future[Any]:
        seq = self._next("activity")
        given = {key: value for key, value in options.items() if value is not None}
        command = {"type": "ScheduleActivity", "seq": seq, "name": name}
        self._issue({**command, "input": _json.plain(input), **given})
        return self._waits.activity(seq, name)

    def await_signal(self, name: str) -> None:
        """Say in history that the workflow waits for a signal."""
        self._issue({"type": "WaitForSignal", "name": name})

    def side_effect(self, name: str, run: Callable[[], Any]) -> Any:
        seq = self._next("side effect")
        known = self._recorded.get(seq)
        value = _outside(run) if known is None else known.payload.get("value")
        if seq not in self._undone:
            self._issue({"type": "RecordSideEffect", "seq": seq, "name": name, "value": value})
        if isinstance(value, dict) and _RAISED in value:
            raise raised(Failure.read(value[_RAISED]))
        return _json.plain(value)  # the workflow may change what it gets, but not what was issued

    def version(self, change: str, lowest: int, highest: int) -> int:
        """Return the version of a change that this run goes by, the newest if it is to choose.

        What was committed without a marker was written by code that did not know the change.
        """
        if change not in self._versions:
            if change not in self._markers and self.delivered <= self._seen:
                self._versions[change] = lowest
            else:
                self._versions[change] = self.side_effect(_MARKER + change, lambda: highest)
        version = int(self._versions[change])
        if not lowest <= version <= highest:
            text = f"this run goes by version {version} of {change}, the code knows {lowest} to "
            raise UsageError(f"{text}{highest}")
        return version

    def start_child(
        self, workflow_type: str, workflow_id: str, rest: Mapping[str, Any]
    ) -> asyncio.Future[Any]:
        known = self._waits.open_child(workflow_id)
        if known is not None:
            return known
        command = {"type": "StartChildWorkflow", "workflow_type": workflow_type}
        self._issue({**command, "workflow_id": workflow_id, **_json.plain(dict(rest))})
        return self._waits.child(workflow_id)

    def call(self, workflow_id: str, call: str, rest: Mapping[str, Any]) -> asyncio.Future[Any]:
        """Do something to another run: signal it, cancel it, watch it."""
        seq = self._next("call")
        command = {"type": "CallWorkflow", "seq": seq, "workflow_id": workflow_id, "call": call}
        given = {key: value for key, value in rest.items() if value is not None}
        self._issue({**command, **_json.plain(given)})
        return self._waits.call(seq, workflow_id)

    def reply(self, request_id: str, rest: Mapping[str, Any]) -> None:
        """Answer a client's request."""
        seq = self._next("reply")
        self._issue({"type": "Reply", "seq": seq, "request_id": request_id, **_json.plain(rest)})

    def upsert(self, patch: Mapping[str, Any], memo: Mapping[str, Any] | None) -> None:
        seq = self._next("upsert")
        plain = {"patch": dict(patch)} | ({} if memo is None else {"memo": dict(memo)})
        self._issue({"type": "UpsertSearchAttributes", "seq": seq, **_json.plain(plain)})

    def register_query(self, name: str, query: Callable[[], Any]) -> None:
        self._queries[name] = query

    def close_with(self, command: Command) -> NoReturn:
        """End the run with `command`, from whichever task."""
        self._closing = command
        if self._main is not None and asyncio.current_task() is not self._main:
            self._main.cancel()
        raise Closing(command)

    # -- what the loop asks of it ----------------------------------------------------------------

    def start_timer(self, handle: asyncio.TimerHandle, secs: float) -> None:
        command = {"type": "ScheduleTimer", "seq": 0, "duration_secs": secs}
        self._issue(command, handle)

    def stop_timer(self, handle: asyncio.TimerHandle) -> None:
        seq = self._timer_seqs.pop(id(handle), None)
        if seq is not None and not self.closed:
            del self._timers[seq]
            self._issue({"type": "CancelTimer", "seq": seq})

    # -- inside ----------------------------------------------------------------------------------

    def _next(self, what: str) -> int:
        self._counts[what] += 1
        return self._counts[what]

    def _issue(self, command: Command, timer: asyncio.TimerHandle | None = None) -> None:
        if self.closed:
            raise UsageError("the run has ended, nothing more can be asked of its context")
        self._issued.add(command, self.delivered, timer)

    def _number_timer(self, handle: asyncio.TimerHandle) -> int:
        seq = self._next("timer")
        self._timers[seq] = handle
        self._timer_seqs[id(handle)] = seq
        return seq

    def _changed_snapshot(self) -> Command | None:
        state: dict[str, Any] = {}
        for name, query in self._queries.items():
            try:
                state[name] = _json.plain(query())
            except Exception:  # a query must not change what the workflow does
                logger.exception("query %s failed", name)
        encoded = _json.encode(state)
        if not self._queries or encoded == self._snapshot:
            return None
        self._snapshot = encoded
        return {"type": "RecordSnapshot", "state": state}

    # -- events ----------------------------------------------------------------------------------

    def _activate(self, event: Event) -> None:
        stopped = self._stopped_by(event)
        self._settle(event)
        self._loop.run_until_blocked()
        if self._main is not None and self._main.done():
            self._issued.end(self._ending(self._main), self.delivered)
            self.closed = True
            self._loop.drop()
        for handle in stopped:
            if not handle.cancelled() and not self.closed:
                self.start_timer(handle, max(round(handle.when() - self.now, 6), 0.0))
        self._issued.seal(self._number_timer)

    def _stopped_by(self, event: Event) -> list[asyncio.TimerHandle]:
        """Return the timers that go with an event: a cancel request stops all of the engine's.

        Those that the code still wants begin again.
        """
        if event.event_type != "WorkflowCancelRequested":
            return []
        stopped = [self._timers[seq] for seq in sorted(self._timers)]
        self._timers.clear()
        self._timer_seqs.clear()
        return stopped

    def _settle(self, event: Event) -> None:
        match event.event_type:
            case "WorkflowStarted":
                self._start(event)
            case "TimerFired":
                self._timer_fired(event)
            case "SignalReceived":
                self.signals.deliver(Received.read(event.payload))
            case "WorkflowExited":
                self._exited(event)
            case "WorkflowCancelRequested":
                self._cancel(event)
            case _:
                self._waits.settle(event)

    def _start(self, event: Event) -> None:
        if self._main is None:
            body = self._body(self, event.payload)
            context = contextvars.Context()
            self._main = self._loop.create_task(body, name="main", context=context)

    def _timer_fired(self, event: Event) -> None:
        handle = self._timers.pop(event.payload["timer_seq"], None)
        if handle is not None:
            del self._timer_seqs[id(handle)]
            self._loop.fire(handle)

    def _exited(self, event: Event) -> None:
        payload = event.payload
        ended_well = payload["status"] == "COMPLETED"
        exited = Exited(
            workflow_id=payload["workflow_id"],
            status=payload["status"],
            result=payload.get("result"),
            failure=None if ended_well else failure_in(payload),
            linked=bool(payload.get("link")),
        )
        if not exited.linked or (self.trap_links and not ended_well):
            self.exits.put(exited)
        elif not ended_well and self._main is not None:
            self._link_down(exited)

    def _link_down(self, exited: Exited) -> None:
        assert self._main is not None
        assert exited.failure is not None
        text = f"linked run {exited.workflow_id} is down: {exited.failure.message}"
        failure = Failure(message=text, kind="LINK_DOWN", cause=exited.failure)
        self._closing = {"type": "FailWorkflow", **failed(failure)}
        self._main.cancel()

    def _cancel(self, event: Event) -> None:
        if self.cancel_requested or self._main is None:
            return
        self.cancel_requested = True
        given = event.payload if isinstance(event.payload, dict) else {}
        self.cancel_reason = given.get("reason")
        self._main.cancel(self.cancel_reason)

    def _ending(self, main: asyncio.Task[Any]) -> Command:
        if self._closing is not None:
            if not main.cancelled():
                main.exception()  # seen
            return self._closing
        if main.cancelled():
            if self.cancel_requested:
                reason = self.cancel_reason
                return {"type": "CancelWorkflow"} | ({} if reason is None else {"reason": reason})
            return {"type": "FailWorkflow", "error": "the workflow awaited a cancelled task"}
        error = main.exception()
        if error is None:
            return _completed(main.result())
        if (forbidden := _found(error, ForbiddenCallError)) is not None:
            raise forbidden
        level = logging.INFO if isinstance(error, AssayError) else logging.WARNING
        logger.log(level, "a workflow failed", exc_info=error)
        return {"type": "FailWorkflow", **failed(failure_of(error))}


def _outside(run: Callable[[], Any]) -> Any:
    """Return what a function says that may look at the clock or throw dice.

    What it raises is recorded too: the next time it might not.
    """
    try:
        with unguarded():
            return _json.plain(run())
    except Exception as error:  # noqa: BLE001  it is raised again, as every replay will raise it
        return {_RAISED: failure_of(error).wire()}


def _found(error: BaseException, kind: type[Exception]) -> BaseException | None:
    """Return an error of that kind, `error` itself or one in its group."""
    if isinstance(error, BaseExceptionGroup):
        each = (_found(inner, kind) for inner in error.exceptions)
        return next((found for found in each if found is not None), None)
    return error if isinstance(error, kind) else None


def _completed(result: Any) -> Command:
    try:
        plain = _json.plain(result)
    except UsageError as error:
        return {"type": "FailWorkflow", "error": f"the workflow's result is {error}"}
    return {"type": "CompleteWorkflow"} | ({} if plain is None else {"result": plain})
