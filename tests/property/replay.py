"""A serial program as the legacy Lua client runs it: from the start at every task, with the
whole history at hand, until the first thing that is not there yet."""

from collections.abc import Iterable
from typing import Any

from assay_engine.app.views import EventView
from tests.property import programs
from tests.property.programs import Op


class _Yield(Exception):  # noqa: N818 - control flow, as in the client
    def __init__(self, *commands: dict[str, Any]) -> None:
        self.commands = list(commands)


class _Context:
    def __init__(self, history: Iterable[EventView]) -> None:
        self.activities: dict[int, tuple[bool, Any]] = {}
        self.timers: set[int] = set()
        self.side_effects: dict[int, Any] = {}
        self.children: dict[str, tuple[bool, Any]] = {}
        self.signals: dict[str, int] = {}
        self.cancelled = False
        self.counts = {"act": 0, "timer": 0, "side": 0}
        for event in history:
            self._note(event.type, event.payload)

    def _note(self, kind: str, payload: Any) -> None:
        match kind:
            case "ActivityCompleted":
                self.activities[payload["activity_seq"]] = (True, payload["result"])
            case "ActivityFailed":
                self.activities[payload["activity_seq"]] = (False, payload["error"])
            case "TimerFired":
                self.timers.add(payload["timer_seq"])
            case "SignalReceived":
                self.signals[payload["signal"]] = self.signals.get(payload["signal"], 0) + 1
            case "SideEffectRecorded":
                self.side_effects[payload["side_effect_seq"]] = payload["value"]
            case "ChildWorkflowCompleted":
                self.children[payload["child_workflow_id"]] = (True, payload["result"])
            case "ChildWorkflowFailed":
                self.children[payload["child_workflow_id"]] = (False, payload["error"])
            case "WorkflowCancelRequested":
                self.cancelled = True

    def next(self, kind: str) -> int:
        self.counts[kind] += 1
        return self.counts[kind]

    def run(self, op: Op) -> list[Any]:
        if self.cancelled:
            raise _Yield({"type": "CancelWorkflow"})
        match op["op"]:
            case "act":
                return self._parallel([op])
            case "par":
                return self._parallel(op["acts"])
            case "sleep":
                return self._sleep(op)
            case "signal":
                return self._signal(op)
            case "side":
                return self._side_effect(op)
            case "child":
                return self._child(op)
            case other:
                raise AssertionError(f"the legacy client has no {other}")

    def _parallel(self, ops: list[Op]) -> list[Any]:
        out, pending = [], []
        for op in ops:
            seq = self.next("act")
            if seq not in self.activities:
                pending.append(programs.schedule(seq, op))
                continue
            ok, value = self.activities[seq]
            if not ok and op["must"]:
                raise _Yield({"type": "FailWorkflow", "error": op["label"]})
            out.append(programs.outcome_text(ok, value, op["label"]))
        if pending:
            raise _Yield(*pending)
        return out

    def _sleep(self, op: Op) -> list[Any]:
        seq = self.next("timer")
        if seq not in self.timers:
            raise _Yield({"type": "ScheduleTimer", "seq": seq, "duration_secs": op["secs"]})
        return []

    def _signal(self, op: Op) -> list[Any]:
        name = op["name"]
        if not self.signals.get(name, 0):
            raise _Yield({"type": "WaitForSignal", "name": name})
        self.signals[name] -= 1
        return []

    def _side_effect(self, op: Op) -> list[Any]:
        seq = self.next("side")
        if seq not in self.side_effects:
            command = {"type": "RecordSideEffect", "seq": seq, "name": "side"}
            raise _Yield(command | {"value": op["label"]})
        return [self.side_effects[seq]]

    def _child(self, op: Op) -> list[Any]:
        name = op["program"]["name"]
        if name not in self.children:
            raise _Yield(programs.start_child(op))
        ok, value = self.children[name]
        return [programs.outcome_text(ok, value, name)]


def commands(program: programs.Program, history: Iterable[EventView]) -> list[dict[str, Any]]:
    """What the client sends for a task."""
    context = _Context(history)
    out: list[Any] = list(program.get("carried", []))
    try:
        for place, op in enumerate(program["ops"]):
            if op["op"] == "again":
                if context.cancelled:
                    return [{"type": "CancelWorkflow"}]
                return [programs.continuation(program, out, place)]
            out += context.run(op)
    except _Yield as blocked:
        return blocked.commands
    return [programs.closing(program, out)]
