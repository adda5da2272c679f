"""A worker that speaks exchange: a sticky cache, eager activities, fused steps, reports that
are sent again until they are answered. Modelled on the SDK's worker, without its loop."""

from collections.abc import Generator
from typing import Any

from assay_engine.app import exchange
from assay_engine.core.errors import AssayError
from tests.property import programs
from tests.property.director import Call, Director, LostError, Script, Sleep, Until, pause
from tests.property.ledger import Attempt
from tests.property.machine import Machine

_UNANSWERED = (AssayError, LostError)
Ref = tuple[str, str, str]
Waiting = Generator[Any, Any, Any]


class _Cached:
    """A run in memory. Everything that concerns it happens one after the other."""

    def __init__(self) -> None:
        self.machine: Machine | None = None
        self.mark: Any = None
        self.known = 0
        self.held = False

    @property
    def up_to_date(self) -> Machine | None:
        machine = self.machine
        if machine is None or machine.closed or machine.issued or machine.delivered < self.known:
            return None
        return machine

    def forget(self) -> None:
        self.machine, self.mark, self.known = None, None, 0


class ExchangeWorker:
    def __init__(self, director: Director, name: str, queue: str) -> None:
        self._director = director
        self._world = director.world
        self._random = director.world.random
        self.name = name
        self._queue = queue
        self._runs: dict[Ref, _Cached] = {}
        self._outbox: list[dict[str, Any]] = []
        self._answers: dict[str, dict[str, Any]] = {}
        self._running: set[Attempt] = set()
        self._thinking = 0
        self._count = 0
        self._clock_off = self._random.choice([0.0, 0.0, 0.0, 0.3, -7.0])
        director.spawn(name, f"{name} polls", self._poll())
        for lane in "ab":
            director.spawn(name, f"{name} tells {lane}", self._report())

    # -- conversation ----------------------------------------------------------------------------

    def _exchange(self, what: str, **fields: Any) -> Waiting:
        request = {"protocol": 1, "worker_id": self.name, "queue": self._queue, **fields}
        return (yield Call(f"exchange {what}", lambda e: exchange.exchange(e, request)))

    def _poll(self) -> Script:
        while True:
            room = {
                "workflows": max(3 - self._thinking, 0),
                "activities": max(4 - len(self._running), 0),
            }
            cached = [
                {"run": _named(ref), "seq": run.machine.delivered}
                for ref, run in self._runs.items()
                if run.machine is not None and not run.machine.closed
            ]
            try:
                answer = yield from self._exchange("poll", room=room, cached=cached)
            except _UNANSWERED:
                yield from pause(self._world, self._queue)
                continue
            for task in answer["workflow_tasks"]:
                self._thinking += 1
                self._spawn(f"thinks {task['run']['id']}", self._take(task))
            for task in answer["activity_tasks"]:
                self._start(task)
            if not answer["workflow_tasks"] and not answer["activity_tasks"]:
                yield from pause(self._world, self._queue)

    def _report(self) -> Script:
        """Send what is in the outbox; what is not answered is sent again, first."""
        while True:
            yield Until(lambda: bool(self._outbox))
            batch, self._outbox = self._outbox, []
            shown = ", ".join(_shown(report) for report in batch)
            try:
                answer = yield from self._exchange(shown, reports=batch)
            except _UNANSWERED:
                self._outbox = batch + self._outbox
                yield Sleep(self._random.choice([0.05, 1.0]))
                continue
            answered = {each["id"]: each for each in answer["reports"]}
            self._answers |= answered
            self._outbox = [r for r in batch if r["id"] not in answered] + self._outbox
            if len(answered) < len(batch):
                yield Sleep(0.05)

    def _submit(self, kind: str, run: Ref, **fields: Any) -> Waiting:
        self._count += 1
        report = {"id": f"{self.name}.{self._count}", "kind": kind, "run": _named(run), **fields}
        self._outbox.append(report)
        yield Until(lambda: report["id"] in self._answers)
        answer = self._answers.pop(report["id"])
        assert answer["status"] != "invalid", answer
        return answer

    def _spawn(self, name: str, script: Script) -> None:
        self._director.spawn(self.name, f"{self.name} {name}", script)

    # -- workflow tasks --------------------------------------------------------------------------

    def _take(self, task: dict[str, Any]) -> Script:
        run = yield from self._hold(_ref(task))
        try:
            yield from self._think(run, task)
        finally:
            run.held = False
            self._thinking -= 1

    def _hold(self, ref: Ref) -> Waiting:
        run = self._runs.setdefault(ref, _Cached())
        yield Until(lambda: not run.held)
        run.held = True
        return run

    def _think(self, run: _Cached, task: dict[str, Any]) -> Script:
        machine = run.machine
        if machine is None or not task["after"] <= machine.delivered <= task["version"]:
            run.forget()
            if task["after"] > 0:
                yield from self._submit("release", _ref(task), lease=task["lease"])
                return
            machine = run.machine = Machine()
        history = yield from self._history(task)
        if history is None:
            run.forget()
            return  # the lease runs out
        machine.feed(event for event in history if event["seq"] > machine.delivered)
        assert machine.delivered == task["version"], "the history ends before its version"
        yield from self._dawdle(task)
        if not self._world.calm and self._random.random() < 0.05:
            run.forget()
            yield from self._submit("release", _ref(task), lease=task["lease"])
            return
        yield from self._commit(run, machine, task)

    def _history(self, task: dict[str, Any]) -> Waiting:
        """All of it, page by page; None: the rest did not come."""
        history, cursor = list(task["history"]), task["history_next"]
        while cursor is not None:
            wanted = [{"run": task["run"], "cursor": cursor}]
            try:
                answer = yield from self._exchange(f"page {cursor}", pages=wanted)
            except _UNANSWERED:
                return None
            if not answer["pages"]:
                return None
            history += answer["pages"][0]["history"]
            cursor = answer["pages"][0]["history_next"]
        return [event for event in history if event["seq"] <= task["version"]]

    def _dawdle(self, task: dict[str, Any]) -> Script:
        if self._world.calm or self._random.random() < 0.7:
            return
        yield Sleep(self._random.choice([0.1, 1.0, 20.0]))
        if self._random.random() < 0.5:
            yield from self._submit("renew", _ref(task), lease=task["lease"])
            yield Sleep(self._random.choice([0.1, 20.0]))

    def _commit(self, run: _Cached, machine: Machine, task: dict[str, Any]) -> Script:
        commands = list(machine.issued)
        answer = yield from self._submit(
            "commands",
            _ref(task),
            lease=task["lease"],
            commands=self._snapshot(machine) + commands,
            eager=self._eager(),
        )
        if answer["status"] != "accepted":
            run.forget()
            if answer["status"] == "stale":
                self._world.ledger.stale(task["run"]["incarnation"], answer["id"])
        else:
            self._world.ledger.committed(task["lease"], answer["id"])
            run.mark, run.known = answer["mark"], answer["version"]
            ends_at = machine.delivered + len(machine.issued)
            if machine.closed or run.known < ends_at:
                run.forget()
            elif run.known == ends_at:
                machine.record()
        self._follow(answer)

    def _snapshot(self, machine: Machine) -> list[dict[str, Any]]:
        """What queries are answered from. It is no event, and not counted."""
        if self._random.random() < 0.8:
            return []
        return [{"type": "RecordSnapshot", "state": {"delivered": machine.delivered}}]

    def _now(self) -> float:
        return self._world.now() + self._clock_off

    def _eager(self) -> int:
        return self._random.choice([0, 1, 5, 50])

    def _follow(self, answer: dict[str, Any]) -> None:
        for task in answer["activities"]:
            self._start(task)

    # -- activities ------------------------------------------------------------------------------

    def _start(self, task: dict[str, Any]) -> None:
        incarnation = task["run"]["incarnation"]
        attempt = self._world.ledger.attempt(task["activity_id"], task["attempt"], incarnation)
        if attempt in self._running:
            return  # a repeated answer
        self._world.ledger.handed_out(attempt, self.name)
        self._running.add(attempt)
        self._spawn(f"works {task['run']['id']}/{task['seq']}", self._attempt(task, attempt))

    def _attempt(self, task: dict[str, Any], attempt: Attempt) -> Script:
        try:
            alive = yield from self._work(task, attempt)
            if alive:
                outcome = programs.perform(task["input"], attempt[1], retried=attempt[2] > 0)
                yield from self._end(task, outcome)
        finally:
            self._running.discard(attempt)

    def _work(self, task: dict[str, Any], attempt: Attempt) -> Waiting:
        """Whether the attempt is still this worker's, as far as it knows."""
        if self._world.calm:
            return True
        for _ in range(self._random.choice([0, 0, 0, 1, 3])):
            yield Sleep(self._random.choice([0.2, 4.0, 15.0]))
            if self._random.random() < 0.3:
                continue  # silent for once
            fields = self._names(task) | {"details": self._random.choice([None, "so far"])}
            answer = yield from self._submit("heartbeat", _ref(task), **fields)
            if answer["status"] == "stale" and self._random.random() < 0.7:
                return False
        if self._random.random() < 0.05:
            self._world.ledger.released.add(attempt)
            yield from self._submit("release", _ref(task), **self._names(task))
            return False
        return True

    def _names(self, task: dict[str, Any]) -> dict[str, Any]:
        fields = {"seq": task["seq"], "attempt": task["attempt"]}
        if self._random.random() < 0.5:
            fields["activity_id"] = task["activity_id"]
        return fields

    def _end(self, task: dict[str, Any], outcome: tuple[bool, str]) -> Script:
        ok, value = outcome
        final = ok or task["attempt"] >= task["max_attempts"]
        if not task["eager"]:
            yield from self._tell(task, ok, value)
            return
        run = yield from self._hold(_ref(task))
        try:
            machine = run.up_to_date
            if machine is None or not final or self._random.random() < 0.1:
                answer = yield from self._tell(task, ok, value)
                run.known = max(run.known, answer["version"] or 0)
            else:
                yield from self._fuse(run, machine, task, outcome)
        finally:
            run.held = False

    def _tell(self, task: dict[str, Any], ok: bool, value: str) -> Waiting:
        fields = self._names(task) | _outcome(ok, value) | {"at": self._now()}
        answer = yield from self._submit(_kind(ok), _ref(task), **fields)
        if ok and answer["status"] == "accepted":
            self._world.ledger.completed(task["run"]["incarnation"], task["seq"], value)
        return answer

    def _fuse(
        self, run: _Cached, machine: Machine, task: dict[str, Any], outcome: tuple[bool, str]
    ) -> Script:
        version, at = machine.delivered, self._now()
        machine.deliver_outcome(task["seq"], *outcome)
        then = {
            "version": version,
            "mark": run.mark,
            "eager": self._eager(),
            "commands": self._snapshot(machine) + list(machine.issued),
        }
        fields = {"seq": task["seq"], "attempt": task["attempt"], "at": at, "then": then}
        fields |= _outcome(*outcome)
        answer = yield from self._submit(_kind(outcome[0]), _ref(task), **fields)
        if answer["status"] == "accepted":
            self._world.ledger.fused(task["run"]["incarnation"], answer["id"])
            machine.record()
            run.mark, run.known = answer["mark"], answer["version"]
            if machine.closed or run.known < machine.delivered:
                run.forget()
        else:
            run.forget()
            if answer["status"] == "stale":
                self._world.ledger.stale(task["run"]["incarnation"], answer["id"])
        self._follow(answer)


def _named(ref: Ref) -> dict[str, str]:
    return {"namespace": ref[0], "id": ref[1], "incarnation": ref[2]}


def _ref(task: dict[str, Any]) -> Ref:
    run = task["run"]
    return run["namespace"], run["id"], run["incarnation"]


def _kind(ok: bool) -> str:
    return "completed" if ok else "failed"


def _outcome(ok: bool, value: str) -> dict[str, Any]:
    return {"result": value} if ok else {"error": value}


def _shown(report: dict[str, Any]) -> str:
    run, then = report["run"]["id"], report.get("then")
    commands = report.get("commands", then["commands"] if then else [])
    inner = " ".join(f"{c['type']}{c.get('seq', '')}" for c in commands)
    place = f"/{report['seq']}#{report['attempt']}" if "seq" in report else ""
    at = f" then v{then['version']}" if then else ""
    return f"{report['id']} {report['kind']} {run}{place}{at} [{inner}]"
