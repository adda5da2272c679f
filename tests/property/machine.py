"""A program run event by event, live as in replay: what an exchange worker holds in memory."""

from collections import deque
from collections.abc import Generator, Iterable, Mapping
from typing import Any

from tests.property import programs
from tests.property.programs import Op, Program

Wait = tuple[str, Any]
Branch = Generator[Wait, Any, None]


class ReplayError(AssertionError):
    """History holds a command that its program does not issue there."""


class _Ended(Exception):  # noqa: N818 - a program ends itself
    def __init__(self, command: dict[str, Any]) -> None:
        self.command = command


# Event of a command -> the command, and the fields that must agree: (in the event, in the command)
_OWN = {
    "ActivityScheduled": ("ScheduleActivity", ("activity_seq", "seq")),
    "TimerScheduled": ("ScheduleTimer", ("timer_seq", "seq")),
    "WorkflowAwaitingSignal": ("WaitForSignal", ("signal", "name")),
    "SideEffectRecorded": ("RecordSideEffect", ("side_effect_seq", "seq")),
    "ChildWorkflowStarted": ("StartChildWorkflow", ("child_workflow_id", "workflow_id")),
    "SearchAttributesUpserted": ("UpsertSearchAttributes", ("upsert_seq", "seq")),
    "TimerCancelled": ("CancelTimer", ("timer_seq", "seq")),
    "WorkflowCalled": ("CallWorkflow", ("call_seq", "seq")),
}
_CLOSING = {
    "WorkflowCompleted": ("CompleteWorkflow", "ContinueAsNew"),
    "WorkflowFailed": ("FailWorkflow",),
    "WorkflowCancelled": ("CancelWorkflow", "ContinueAsNew"),
}


class Machine:
    def __init__(self) -> None:
        self.delivered = 0
        self.closed = False
        self._cancelled = False
        self.issued: deque[dict[str, Any]] = deque()
        self._program: Program = {}
        self._counts: dict[str, int] = {}
        self._branches: list[tuple[Branch, Wait]] = []
        self._done: dict[Wait, tuple[bool, Any]] = {}
        self._signals: dict[str, int] = {}

    # -- events ----------------------------------------------------------------------------------

    def feed(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            # Outcomes that a retry has undone are left out.
            assert event["seq"] > self.delivered, "delivered twice"
            self.delivered = event["seq"]
            self._deliver(str(event["event_type"]), event["payload"])

    def deliver_outcome(self, seq: int, ok: bool, value: Any) -> None:
        """The outcome of an activity that is about to be reported with what follows from it."""
        self.delivered += 1
        self._settle(("act", seq), ok, value)

    def record(self) -> None:
        """Everything issued is in history, right behind what was delivered."""
        self.delivered += len(self.issued)
        self.issued.clear()

    def _deliver(self, kind: str, payload: Any) -> None:
        match kind:
            case "WorkflowStarted":
                self._program = payload
                self._start(self._main())
            case "ActivityCompleted":
                self._settle(("act", payload["activity_seq"]), True, payload["result"])
            case "ActivityFailed":
                self._settle(("act", payload["activity_seq"]), False, payload["error"])
            case "TimerFired":
                self._settle(("timer", payload["timer_seq"]), True, None)
            case "ChildWorkflowCompleted":
                self._settle(("child", payload["child_workflow_id"]), True, payload["result"])
            case "ChildWorkflowFailed":
                self._settle(("child", payload["child_workflow_id"]), False, payload["error"])
            case "SignalReceived":
                self._signals[payload["signal"]] = self._signals.get(payload["signal"], 0) + 1
                self._go_on()
            case "WorkflowCallEnded":
                self._settle(("call", payload["call_seq"]), "error" not in payload, None)
            case "WorkflowExited":
                done = payload["status"] == "COMPLETED"
                self._settle(("exit", payload["call_seq"]), done, payload.get("result"))
            case "WorkflowCancelRequested":
                self._cancel()
            case _ if kind in _OWN:
                self._match(kind, payload)

    def closes_with(self, kind: str) -> bool:
        """Whether the program itself ends in such a closing event."""
        return bool(self.issued) and self.issued[0]["type"] in _CLOSING[kind]

    def _match(self, kind: str, payload: Any) -> None:
        def fits(command: dict[str, Any]) -> bool:
            type_, (theirs, ours) = _OWN[kind]
            return bool(command["type"] == type_ and command[ours] == payload[theirs])

        # A wait may have left no event, or (sent by the legacy client) one more.
        while self.issued and self.issued[0]["type"] == "WaitForSignal":
            if fits(self.issued[0]):
                break
            self.issued.popleft()
        if self.issued and fits(self.issued[0]):
            self.issued.popleft()
        elif kind != "WorkflowAwaitingSignal":
            raise ReplayError(f"history has {kind} {payload}, the program issues {self.issued}")

    # -- the program -----------------------------------------------------------------------------

    def _start(self, branch: Branch) -> None:
        self._branches.append((branch, ("go", None)))
        self._done["go", None] = (True, None)
        self._go_on()

    def _settle(self, wait: Wait, ok: bool, value: Any) -> None:
        if wait not in self._done:
            self._done[wait] = (ok, value)
            self._go_on()

    def _go_on(self) -> None:
        """Resume branches, the first that can first, until all of them wait."""
        while not self.closed:
            able = next((b for b in self._branches if self._satisfied(b[1])), None)
            if able is None:
                return
            place = self._branches.index(able)
            del self._branches[place]
            branch, wait = able
            try:
                following = branch.send(self._take(wait))
            except StopIteration:
                continue
            except _Ended as ended:
                self.closed = True
                self.issued.append(ended.command)
                return
            self._branches.insert(place, (branch, following))

    def _satisfied(self, wait: Wait) -> bool:
        kind, what = wait
        if kind == "signal":
            return self._signals.get(what, 0) > 0
        if kind == "all":
            return all(each in self._done for each in what)
        return wait in self._done

    def _take(self, wait: Wait) -> Any:
        kind, what = wait
        if kind == "go":
            return None
        if kind == "signal":
            self._signals[what] -= 1
            return True, None
        if kind == "all":
            return [self._done[each] for each in what]
        return self._done[wait]

    def _cancel(self) -> None:
        if self.closed or self._cancelled:
            return
        self._cancelled = True
        self._branches.clear()
        if self._program["cleanup"]:
            self._start(self._clean_up())
            return
        self.closed = True
        self.issued.append({"type": "CancelWorkflow"})

    def _clean_up(self) -> Branch:
        yield self._activity(_CLEANING)
        raise _Ended({"type": "CancelWorkflow"})

    def _main(self) -> Branch:
        out: list[Any] = list(self._program.get("carried", []))
        for place, op in enumerate(self._program["ops"]):
            if op["op"] == "again":
                raise _Ended(programs.continuation(self._program, out, place))
            yield from self._run(op, out)
        raise _Ended(programs.closing(self._program, out))

    def _run(self, op: Op, out: list[Any]) -> Branch:
        match op["op"]:
            case "act":
                ok, value = yield self._activity(op)
                if not ok and op["must"]:
                    raise _Ended({"type": "FailWorkflow", "error": op["label"]})
                out.append(programs.outcome_text(ok, value, op["label"]))
            case "par":
                waits = tuple(self._activity(each) for each in op["acts"])
                for each, (ok, value) in zip(op["acts"], (yield ("all", waits)), strict=True):
                    out.append(programs.outcome_text(ok, value, each["label"]))
            case "fork":
                yield from self._fork(op, out)
            case "child":
                self._issue(programs.start_child(op))
                name = op["program"]["name"]
                ok, value = yield "child", name
                out.append(programs.outcome_text(ok, value, name))
            case _:
                yield from self._run_small(op, out)

    def _run_small(self, op: Op, out: list[Any]) -> Branch:
        match op["op"]:
            case "sleep":
                seq = self._next("timer")
                self._issue({"type": "ScheduleTimer", "seq": seq, "duration_secs": op["secs"]})
                yield "timer", seq
            case "signal":
                if not self._signals.get(op["name"], 0):
                    self._issue({"type": "WaitForSignal", "name": op["name"]})
                yield "signal", op["name"]
            case "side":
                self._issue(
                    {
                        "type": "RecordSideEffect",
                        "seq": self._next("side"),
                        "name": "side",
                        "value": op["label"],
                    }
                )
                out.append(op["label"])
            case "upsert":
                command = {"type": "UpsertSearchAttributes", "patch": op["patch"]}
                self._issue(command | {"seq": self._next("upsert")})
            case "detach":
                self._issue(programs.start_child(op))
            case _:
                yield from self._run_outward(op, out)

    def _run_outward(self, op: Op, out: list[Any]) -> Branch:
        match op["op"]:
            case "abandon":
                seq = self._next("timer")
                self._issue({"type": "ScheduleTimer", "seq": seq, "duration_secs": op["secs"]})
                yield from self._run(op["act"], out)
                self._issue({"type": "CancelTimer", "seq": seq})
            case "tell":
                told = {"name": "noise", "payload": op["mark"]}
                yield "call", self._call("signal", op["to"], **told)
            case "link":
                yield "call", self._call("link", op["to"])
            case "watch":
                name = op["program"]["name"]
                self._issue(programs.start_child(op))
                ok, value = yield "exit", self._call("monitor", name)
                out.append(programs.outcome_text(ok, value, name))

    def _call(self, what: str, run_id: str, **fields: Any) -> int:
        seq = self._next("call")
        self._issue(programs.call(seq, what, run_id, **fields))
        return seq

    def _fork(self, op: Op, out: list[Any]) -> Branch:
        outs: list[list[Any]] = [[] for _ in op["branches"]]
        number = self._next("fork")
        waits = tuple(("join", (number, place)) for place in range(len(outs)))
        for place, branch in enumerate(op["branches"]):
            self._branches.append((self._side_branch(branch, outs[place], waits[place]), _GO))
        yield "all", waits
        for each in outs:
            out.extend(each)

    def _side_branch(self, ops: list[Op], out: list[Any], end: Wait) -> Branch:
        for op in ops:
            yield from self._run(op, out)
        self._done[end] = (True, None)

    def _activity(self, op: Op) -> Wait:
        seq = self._next("act")
        self._issue(programs.schedule(seq, op))
        return "act", seq

    def _issue(self, command: dict[str, Any]) -> None:
        self.issued.append(command)

    def _next(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]


_GO: Wait = ("go", None)
_CLEANING: Op = {
    "label": "cleaning",
    "queue": programs.QUEUE,
    "fails": 0,
    "must": False,
    "size": 0,
    "beats": False,
    "heals": False,
}
