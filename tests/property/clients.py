"""Everybody who is no worker: clients, the stream, the tick."""

from typing import Any

from assay_engine.app import notices, queries, recovery, retrying, runs
from assay_engine.app.names import RunRef
from assay_engine.core import keys
from assay_engine.core.errors import AssayError, ConflictError, NotFoundError
from assay_engine.core.history import EventType
from assay_engine.core.run import Head, Record, Status
from tests.property import programs
from tests.property.director import Call, Director, LostError, Script, Sleep, Until
from tests.property.ledger import Signal
from tests.property.programs import Program
from tests.property.starts import Starts
from tests.property.world import World

_UNANSWERED = (AssayError, LostError)
TERMINATED = "that is enough"


def program_of(world: World, head: Head) -> Program:
    """A run's program: the input it was started with."""
    record = world.witness.get(Record, keys.record(head.key, head.nonce))
    assert record is not None
    assert record.input is not None
    return world.value(head, record.input)


class Client:
    """Starts programs, and then interferes with them."""

    def __init__(self, director: Director, roots: list[Program], starts: Starts) -> None:
        self._starts = starts
        self._director = director
        self._world = director.world
        self._random = director.world.random
        self._roots = roots
        self._signals = 0
        self.starting = len(roots)
        for program in roots:
            director.spawn("client", "client starts", self._start(program))
        director.spawn("client", "supplier", self._supply())
        director.spawn("client", "retrier", self._retry())

    def interfere(self) -> None:
        self._director.spawn("meddler", "meddler", self._meddle())

    def _start(self, program: Program) -> Script:
        request, messages = self._starts.first(program)
        yield Sleep(self._random.choice([0.0, 0.5, 5.0]))
        while True:
            try:
                yield Call(f"start {program['name']}", lambda e: runs.start(e, request))
            except ConflictError:
                pass  # by an earlier request that was not answered
            except _UNANSWERED:
                yield Sleep(0.5)
                continue
            for message in messages:
                message.answered = True
            self._world.ledger.started.add(program["name"])
            self.starting -= 1
            return

    def _start_again(self, program: Program) -> Script:
        if not programs.stands_alone(program) or self.starting:
            return
        request, messages = self._starts.again(program)
        answered: bool | None = None
        try:
            yield Call(f"start again {program['name']}", lambda e: runs.start(e, request))
            answered = True
        except ConflictError:
            answered = False
        except _UNANSWERED:
            pass
        for message in messages:
            message.answered = answered

    def _supply(self) -> Script:
        """Send the signals that programs wait for, until each has all of them."""
        while True:
            for head in sorted(self._world.witness.heads(), key=lambda head: head.key):
                name = self._lacks(head)
                if name is not None and (self._world.calm or self._random.random() < 0.3):
                    yield from self._signal(head.id, name)
            yield Sleep(10.0 if self._world.calm else self._random.choice([0.5, 2.0]))

    def _lacks(self, head: Head) -> str | None:
        if not head.is_open:
            return None
        log = self._world.witness.logs[head.key, head.nonce]
        got = [e.data["n"] for e in log.events if e.type is EventType.SIGNAL_RECEIVED]
        for name, count in programs.waits(program_of(self._world, head)["ops"]).items():
            if got.count(name) < count:
                return name
        return None

    def _retry(self) -> Script:
        """Ask for a retry of every run that failed by an activity which may heal."""
        while True:
            yield Sleep(1.0)
            yield Until(lambda: any(self.retryable(head) for head in self._world.witness.heads()))
            for head in sorted(self._world.witness.heads(), key=lambda head: head.key):
                if not self.retryable(head):
                    continue
                ref = RunRef(run_id=head.id, namespace="main")
                try:
                    yield Call(
                        f"retry {head.id}", lambda e, r=ref: retrying.retry(e, r, "me", "again")
                    )
                except _UNANSWERED:
                    pass

    def retryable(self, head: Head) -> bool:
        if head.status is not Status.FAILED or head.parent or head.id in self._disturbed:
            return False
        closing = self._world.witness.logs[head.key, head.nonce].events[-1]
        label = closing.data.get("e")
        ops = program_of(self._world, head)["ops"]
        return any(op["op"] == "act" and op["label"] == label and programs.heals(op) for op in ops)

    @property
    def _disturbed(self) -> set[str]:
        return self._world.ledger.disturbed

    def _signal(self, run_id: str, name: str) -> Script:
        self._signals += 1
        sent = Signal(run_id, f"{name}{self._signals}")
        self._world.ledger.signals.append(sent)
        ref = RunRef(run_id=run_id, namespace="main" if self._random.random() < 0.5 else None)
        try:
            sent.answered = yield Call(
                f"signal {run_id} {sent.mark}", lambda e: runs.signal(e, ref, name, sent.mark)
            )
        except NotFoundError:
            sent.answered = False
        except _UNANSWERED:
            pass

    def _meddle(self) -> Script:
        while True:
            yield Sleep(self._random.choice([0.1, 0.3, 2.0]))
            everybody = sorted(head.id for head in self._world.witness.heads() if head.is_open)
            run_id = self._random.choice(self._roots)["name"]
            kind = self._random.choices(
                ["noise", "signal", "read", "again", "cancel", "terminate", "continue"],
                [12, 4, 6, 3, 1, 1, 1],
            )[0]
            match kind:
                case "again":
                    yield from self._start_again(self._random.choice(self._roots))
                case "noise" | "signal":
                    someone = self._random.choice([*everybody, run_id])
                    yield from self._signal(someone, "noise" if kind == "noise" else "s")
                case "read":
                    yield from self._read(run_id)
                case _:
                    yield from self._disturb(kind, run_id)

    def _disturb(self, kind: str, run_id: str) -> Script:
        self._disturbed.add(run_id)
        ref = RunRef(run_id=run_id, namespace="main")
        deadline = self._random.choice([None, None, 2.0, 20.0])
        value: Any = {"name": run_id, "type": "", "ops": [], "fails": False, "cleanup": False}
        calls = {
            "cancel": lambda e: runs.cancel(e, ref, "enough", deadline),
            "terminate": lambda e: runs.terminate(e, ref, TERMINATED),
            "continue": lambda e: runs.continue_as_new(e, ref, value, None),
        }
        try:
            yield Call(f"{kind} {run_id}", calls[kind])
        except _UNANSWERED:
            pass

    def _read(self, run_id: str) -> Script:
        """Whatever is read is what history says, from its beginning and without a gap."""
        ref = RunRef(run_id=run_id, namespace="main")
        try:
            events = yield Call(f"read {run_id}", lambda e: queries.events(e, ref, None))
        except _UNANSWERED:
            return
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), "gaps"
        if events:
            head = self._world.witness.get(Head, keys.head("main", run_id))
            assert head is not None
            known = self._world.witness.logs[head.key, head.nonce].events[: len(events)]
            assert [event.type for event in events] == [event.type for event in known]


class Stream:
    """Tells parents of closed children: late, in any order, sometimes twice or not at all."""

    def __init__(self, director: Director, *, loses: float) -> None:
        self._world = director.world
        self._random = director.world.random
        self._loses = loses
        self._taken = 0
        self.waiting: list[Head] = []
        director.spawn("stream", "stream", self._deliver())

    @property
    def empty(self) -> bool:
        return not self.waiting and self._taken == len(self._world.witness.closed)

    def _deliver(self) -> Script:
        while True:
            closed = self._world.witness.closed
            for head in closed[self._taken :]:
                if self._random.random() >= self._loses:
                    self.waiting.append(head)
            self._taken = len(closed)
            if not self.waiting:
                yield Sleep(0.2)
                yield Until(lambda: not self.empty)
                continue
            head = self._random.choice(self.waiting)
            self.waiting.remove(head)
            try:
                yield Call(f"notice {head.id}", lambda e, h=head: notices.closed(e, [h]))
            except _UNANSWERED:
                self.waiting.append(head)
                continue
            if not self._world.calm and self._random.random() < 0.2:
                self.waiting.append(head)


def ticking(world: World) -> Script:
    while True:
        yield Sleep(60.0 if world.calm else world.random.choice([5.0, 30.0]))
        try:
            yield Call("tick", recovery.tick)
        except _UNANSWERED:
            pass
