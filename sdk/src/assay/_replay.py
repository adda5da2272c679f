"""The deterministic core: events in, one at a time; commands out. No I/O, no clock, no loop.

After each event the workflow runs until it blocks, live as in replay, so what it does depends on
the order of its inbound events alone. Commands wait in `_issued`, in order, until history has
recorded them; what is left when all events are delivered is what the engine does not know yet.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any

from assay import _json
from assay._history import OWN, Command, Event, records, shown, side_effects, surviving
from assay.errors import (
    ActivityError,
    AssayError,
    Cancelled,
    ChildWorkflowError,
    NonDeterminismError,
    UsageError,
)

logger = logging.getLogger("assay.workflow")

Body = Callable[["Machine", Any], Coroutine[Any, Any, Any]]


class Closing(BaseException):
    """Thrown through workflow code to end the run with `command`; not to be caught there."""

    def __init__(self, command: Command) -> None:
        super().__init__(command["type"])
        self.command = command


class Pending:
    """Something a workflow waits for. It is settled once, by the delivery of an event."""

    __slots__ = ("_error", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: Any = None
        self._error: BaseException | None = None

    def settle(self, value: Any = None, error: BaseException | None = None) -> None:
        """Give it its value or its error; whoever comes second is ignored."""
        if not self.done:
            self.done, self._value, self._error = True, value, error

    def __await__(self) -> Generator[Pending, None, Any]:
        while not self.done:
            yield self
        if self._error is not None:
            raise self._error
        return self._value


class Machine:
    """One run of one workflow function.

    `delivered` is the seq of the last event that the workflow has seen. It may run ahead of what
    was shipped: events that are known to exist because their report was accepted count as seen.
    """

    def __init__(self, body: Body) -> None:
        self.delivered = 0
        self.now = 0.0
        self.closed = False
        self._body = body
        self._root: Coroutine[Any, Any, Any] | None = None
        self._waits_for: Pending | None = None
        self._cancelled = False
        self._issued: deque[tuple[Command, int]] = deque()
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._activities: dict[int, tuple[str, Pending]] = {}
        self._timers: dict[int, Pending] = {}
        self._children: dict[str, Pending] = {}
        self._inbox: defaultdict[str, deque[Any]] = defaultdict(deque)
        self._waiters: defaultdict[str, deque[Pending]] = defaultdict(deque)
        self._awaited: set[str] = set()
        self._recorded: dict[int, Event] = {}
        self._undone: set[int] = set()
        self._queries: dict[str, Callable[[], Any]] = {}
        self._snapshot: bytes | None = None

    # -- what the worker does with it ------------------------------------------------------------

    def feed(self, history: Sequence[Event]) -> None:
        """Deliver what is new in `history`, one event after the other."""
        new = [event for event in history if event.seq > self.delivered]
        kept = surviving(new)
        self._recorded |= side_effects(new)
        self._undone |= side_effects(new).keys() - side_effects(kept).keys()
        for event in kept:
            self.deliver(event)
        self.delivered = max(self.delivered, *(event.seq for event in new), 0)

    def deliver(self, event: Event) -> None:
        """Let the workflow see one event, and run until it blocks."""
        self.delivered = event.seq
        if event.event_type in OWN:
            self._check(event)
        else:
            self._accept(event)

    def commands(self) -> list[Command]:
        """Return what was issued and is not in history yet; a changed snapshot comes first."""
        snapshot = self._changed_snapshot()
        issued = [command for command, _ in self._issued]
        return issued if snapshot is None else [snapshot, *issued]

    @property
    def outstanding(self) -> int:
        """How many issued commands history has not recorded yet."""
        return len(self._issued)

    def record(self) -> None:
        """Take all issued commands as recorded, each as the next event of the history."""
        self.delivered += len(self._issued)
        self._issued.clear()

    def drop(self) -> None:
        """Give the workflow up. What its `finally` blocks would do is not wanted any more."""
        self.closed = True
        if self._root is not None:
            try:
                self._root.close()
            except (Exception, Closing, Cancelled):
                logger.debug("a workflow did not end quietly when it was given up", exc_info=True)

    # -- what the workflow context asks of it ----------------------------------------------------

    def schedule_activity(self, name: str, input: Any, options: Mapping[str, Any]) -> Pending:
        seq = self._next("activity")
        given = {key: value for key, value in options.items() if value is not None}
        command = {"type": "ScheduleActivity", "seq": seq, "name": name}
        self._issue({**command, "input": _json.plain(input), **given})
        self._activities[seq] = (name, Pending())
        return self._activities[seq][1]

    def schedule_timer(self, secs: float, pending: Pending | None = None) -> tuple[int, Pending]:
        seq = self._next("timer")
        self._issue({"type": "ScheduleTimer", "seq": seq, "duration_secs": secs})
        self._timers[seq] = pending or Pending()
        return seq, self._timers[seq]

    def wait_for_signal(self, name: str, timeout: float | None) -> Pending:
        pending = Pending()
        if self._inbox[name]:
            pending.settle(self._inbox[name].popleft())
            return pending
        wait: Command = {"type": "WaitForSignal", "name": name}
        if timeout is not None:
            wait["timer_seq"], _ = self.schedule_timer(timeout, pending)
        self._waiters[name].append(pending)
        # The engine records a wait once until its signal comes. To know how long the history
        # will be, nothing may be sent that leaves no event.
        if name not in self._awaited:
            self._awaited.add(name)
            self._issue(wait)
        return pending

    def side_effect(self, name: str, run: Callable[[], Any]) -> Any:
        seq = self._next("side effect")
        known = self._recorded.get(seq)
        value = _json.plain(run()) if known is None else known.payload.get("value")
        if seq not in self._undone:
            self._issue({"type": "RecordSideEffect", "seq": seq, "name": name, "value": value})
        return _json.plain(value)  # the workflow may change what it gets, but not what was issued

    def start_child(self, workflow_type: str, workflow_id: str, rest: Mapping[str, Any]) -> Pending:
        known = self._children.get(workflow_id)
        if known is not None and not known.done:
            return known
        command = {"type": "StartChildWorkflow", "workflow_type": workflow_type}
        self._issue({**command, "workflow_id": workflow_id, **_json.plain(dict(rest))})
        self._children[workflow_id] = Pending()
        return self._children[workflow_id]

    def upsert(self, patch: Mapping[str, Any]) -> None:
        seq = self._next("upsert")
        plain = _json.plain(dict(patch))
        self._issue({"type": "UpsertSearchAttributes", "seq": seq, "patch": plain})

    def register_query(self, name: str, query: Callable[[], Any]) -> None:
        self._queries[name] = query

    # -- inside ----------------------------------------------------------------------------------

    def _next(self, what: str) -> int:
        if self.closed:
            raise UsageError("the run has ended, nothing more can be asked of its context")
        self._counts[what] += 1
        return self._counts[what]

    def _issue(self, command: Command) -> None:
        if self.closed:
            raise UsageError("the run has ended, nothing more can be asked of its context")
        self._issued.append((command, self.delivered))

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

    def _check(self, event: Event) -> None:
        # A wait may have left no event: it is the one command that history need not show.
        while self._issued and not records(event, self._issued[0][0]):
            if self._issued[0][0]["type"] != "WaitForSignal":
                break
            self._issued.popleft()
        if self._issued and records(event, self._issued[0][0]):
            self._issued.popleft()
            return
        if event.event_type != "WorkflowAwaitingSignal":
            raise self._mismatch(event)

    def _mismatch(self, event: Event) -> NonDeterminismError:
        found = shown(event.event_type, event.payload)
        issued = "nothing"
        if self._issued:
            command, after = self._issued[0]
            issued = f"{shown(command['type'], command)}, on event {after}"
        return NonDeterminismError(
            f"event {event.seq} of the history is {found}, but the code issued {issued}: "
            "the workflow's code has changed, or depends on something besides its events"
        )

    def _accept(self, event: Event) -> None:
        if self.closed:
            return
        self.now = max(self.now, event.timestamp)
        self._settle(event)
        if self._waits_for is not None and self._waits_for.done:
            self._resume()

    def _settle(self, event: Event) -> None:
        match event.event_type:
            case "WorkflowStarted":
                self._started(event)
            case "ActivityCompleted" | "ActivityFailed":
                self._activity_ended(event)
            case "TimerFired":
                self._timer_fired(event)
            case "SignalReceived":
                self._signalled(event)
            case "ChildWorkflowCompleted" | "ChildWorkflowFailed":
                self._child_ended(event)
            case "WorkflowCancelRequested":
                self._cancel_requested(event)

    def _started(self, event: Event) -> None:
        if self._root is not None:
            return
        self._root = self._body(self, event.payload)
        self._resume()

    def _activity_ended(self, event: Event) -> None:
        name, pending = self._activities.pop(event.payload["activity_seq"], ("", Pending()))
        if event.event_type == "ActivityCompleted":
            pending.settle(event.payload.get("result"))
            return
        error = str(event.payload.get("error") or "no error text")
        pending.settle(error=ActivityError(name, error, event.payload.get("final_attempt")))

    def _timer_fired(self, event: Event) -> None:
        pending = self._timers.pop(event.payload["timer_seq"], None)
        if pending is not None:
            pending.settle()

    def _signalled(self, event: Event) -> None:
        name, payload = event.payload["signal"], event.payload.get("payload")
        # A wait that is still to be recorded will stand after this signal, and be open again.
        if not any(_waits_for(command, name) for command, _ in self._issued):
            self._awaited.discard(name)
        waiters = self._waiters[name]
        while waiters:
            waiter = waiters.popleft()
            if not waiter.done:
                waiter.settle(payload)
                return
        self._inbox[name].append(payload)

    def _child_ended(self, event: Event) -> None:
        workflow_id = event.payload["child_workflow_id"]
        pending = self._children.get(workflow_id, Pending())
        if event.event_type == "ChildWorkflowCompleted":
            pending.settle(event.payload.get("result"))
            return
        error = str(event.payload.get("error") or "no error text")
        pending.settle(error=ChildWorkflowError(workflow_id, error))

    def _cancel_requested(self, event: Event) -> None:
        if self._cancelled or self._waits_for is None:
            return
        self._cancelled = True
        for waiters in self._waiters.values():  # no signal may go to a wait that nobody is in
            if self._waits_for in waiters:
                waiters.remove(self._waits_for)
        self._waits_for = None
        reason = event.payload.get("reason") if isinstance(event.payload, dict) else None
        self._resume(Cancelled(reason))

    def _resume(self, error: BaseException | None = None) -> None:
        assert self._root is not None
        try:
            self._waits_for = self._advance(self._root, error)
        except StopIteration as end:
            self._close(_completed(end.value))
        except Closing as end:
            self._close(end.command)
        except Cancelled as cancelled:
            reason = {} if cancelled.reason is None else {"reason": cancelled.reason}
            self._close({"type": "CancelWorkflow", **reason})
        except Exception as failure:
            level = logging.INFO if isinstance(failure, AssayError) else logging.WARNING
            logger.log(level, "a workflow failed", exc_info=failure)
            self._close({"type": "FailWorkflow", "error": told(failure)})

    def _advance(self, root: Coroutine[Any, Any, Any], error: BaseException | None) -> Pending:
        while True:
            waits_for = root.send(None) if error is None else root.throw(error)
            if not isinstance(waits_for, Pending):
                error = UsageError(
                    "a workflow awaited something that is not its context's: inside a workflow "
                    "await ctx.execute_activity, ctx.execute_parallel, ctx.sleep, ..."
                )
            elif not waits_for.done:
                return waits_for
            else:
                error = None

    def _close(self, command: Command) -> None:
        self._issue(command)
        self._waits_for = None
        self.closed = True


def _waits_for(command: Command, name: str) -> bool:
    return bool(command["type"] == "WaitForSignal" and command["name"] == name)


def told(error: BaseException) -> str:
    """Return the text that stands for an error in history; whatever it holds, it can be sent."""
    text = str(error).encode(errors="replace").decode()
    if type(error).__module__ == "assay.errors":
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _completed(result: Any) -> Command:
    try:
        plain = _json.plain(result)
    except UsageError as error:
        return {"type": "FailWorkflow", "error": f"the workflow's result is {error}"}
    return {"type": "CompleteWorkflow"} | ({} if plain is None else {"result": plain})
