"""Small workflows as data, which travel as the run's input, and what each must come to.

A program is a list of operations. What it does is a function of its history alone, and what
it comes to does not depend on when things happen, so the undisturbed outcome is known before.
"""

from random import Random
from typing import Any

SERIAL, FORKED = "Serial", "Forked"
"""Serial programs run on any worker; forked ones wait for several things at once, which the
legacy client cannot."""

QUEUE, OTHER_QUEUE = "q", "q2"
PATIENT = {"max_attempts": 99, "initial_interval_secs": 0.5, "backoff_coefficient": 1.0}
IMPATIENT = {"max_attempts": 2, "initial_interval_secs": 0.5, "backoff_coefficient": 1.0}
ONCE = {"max_attempts": 1}

_SERIAL = ("act", "par", "sleep", "signal", "side", "child", "clash")
_FORKED = ("fork", "upsert", "detach", "abandon", "tell", "watch", "link")
_KINDS = _SERIAL + _FORKED
_ALONE = ("child", "detach", "watch", "tell", "link")
_STARTING = ("child", "detach", "clash", "watch")

CLOSE_POLICIES: tuple[str | None, ...] = (
    *(None, None),
    *("terminate", "request_cancel", "abandon"),
)

Program = dict[str, Any]
Op = dict[str, Any]


class Author:
    """Writes programs by seed."""

    def __init__(self, random: Random, *, forked: float = 0.5, policies: bool = False) -> None:
        # With policies a parent's end may end its children, whatever they are at.
        self._policies = CLOSE_POLICIES if policies else ()
        self._random = random
        self._forked = forked
        self._labels = 0
        self._clashed: set[str] = set()
        # Each seed has its likings, so that every mixture comes up somewhere.
        self._tastes = {kind: random.choice([1, 1, 3, 8]) for kind in _KINDS}
        self._widest = random.choice([3, 5, 5, 60])

    def program(self, name: str, *, depth: int = 0) -> Program:
        forked = self._random.random() < self._forked
        ops = [
            self._op(name, forked, depth)
            for _ in range(self._random.randint(1, 8 - 4 * min(depth, 1)))
        ]
        if depth < 2 and self._random.random() < 0.2:
            again = {"op": "again", "as": self._random.choice([None, self._label(name) + "+"])}
            ops.insert(self._random.randint(0, len(ops)), again)
        return {
            "name": name,
            "type": FORKED if forked else SERIAL,
            "ops": ops,
            "fails": self._random.random() < 0.1,
            "cleanup": forked and self._random.random() < 0.5,
        }

    def _op(self, name: str, forked: bool, depth: int) -> Op:
        kinds = [*_SERIAL, *_FORKED] if forked else [*_SERIAL]
        if depth > 0:
            kinds = [kind for kind in kinds if kind not in _STARTING]
        weights = [self._tastes[kind] for kind in kinds]
        kind = self._random.choices(kinds, weights)[0]
        if kind == "act":
            return self._activity(name, alone=True)
        return self._written(kind, name, depth)

    def _written(self, kind: str, name: str, depth: int) -> Op:
        match kind:
            case "act":
                return self._activity(name)
            case "par":
                acts = [self._activity(name) for _ in range(self._random.randint(2, self._widest))]
                return {"op": "par", "acts": acts}
            case "sleep":
                return {"op": "sleep", "secs": self._random.choice([0, 0.5, 3, 15, 70])}
            case "signal":
                return {"op": "signal", "name": self._random.choice(["s", "t"])}
            case "side":
                return {"op": "side", "label": self._label(name)}
            case "upsert":
                return {"op": "upsert", "patch": {self._label(name): 1}}
            case "clash" if name not in self._clashed:
                self._clashed.add(name)
                return {"op": "child", "program": {"name": name, "type": SERIAL, "clash": True}}
            case "clash":
                return self._activity(name)
            case "abandon":
                secs = self._random.choice([0.5, 3, 70, 5000])
                return {"op": "abandon", "secs": secs, "act": self._activity(name)}
            case "tell" | "link":
                # Perhaps not started yet, perhaps closed, perhaps itself.
                other = f"r{self._random.randrange(4)}"
                return {"op": kind, "to": other, "mark": self._label(name)}
            case "child" | "detach" | "watch":
                child = self.program(self._label(name), depth=depth + 1)
                policy = self._random.choice(self._policies) if self._policies else None
                return {"op": kind, "program": child, "policy": policy}
            case _:
                branches = [self._branch(name, depth) for _ in range(self._random.randint(2, 3))]
                return {"op": "fork", "branches": branches}

    def _branch(self, name: str, depth: int) -> list[Op]:
        kinds = ["act", "act", "act", "sleep", "signal", "side"]
        chosen = self._random.choices(kinds, k=self._random.randint(1, 3))
        return [self._written(kind, name, depth) for kind in chosen]

    def _activity(self, name: str, *, alone: bool = False) -> Op:
        return {
            "op": "act",
            "label": self._label(name),
            "queue": OTHER_QUEUE if self._random.random() < 0.2 else QUEUE,
            "fails": self._random.choices([0, 1, 2, -1, -2], [24, 4, 2, 3, 2])[0],
            "must": alone and self._random.random() < 0.1,
            "heals": self._random.random() < 0.3,
            "size": self._random.choices([0, 300, 900, 2000], [8, 2, 1, 1])[0],
            "beats": self._random.random() < 0.2,
        }

    def _label(self, name: str) -> str:
        self._labels += 1
        return f"{name.split('.', maxsplit=1)[0]}.{self._labels}"


def schedule(seq: int, op: Op) -> dict[str, Any]:
    command = {
        "type": "ScheduleActivity",
        "seq": seq,
        "name": "work",
        "task_queue": op["queue"],
        "input": {key: op[key] for key in ("label", "fails", "size", "beats", "heals", "must")},
        "start_to_close_secs": 20.0,
        **{-1: IMPATIENT, -2: ONCE}.get(op["fails"], PATIENT),
    }
    return command | ({"heartbeat_timeout_secs": 5.0} if op["beats"] else {})


def perform(work: dict[str, Any], attempt: int, *, retried: bool = False) -> tuple[bool, str]:
    """What an activity does: succeed with a text that names it, or fail. Some recover once
    somebody has asked for a retry of the run that they made fail."""
    hopeless = work["fails"] < 0 and not (retried and heals(work))
    if hopeless or attempt <= work["fails"]:
        return False, f"no luck with {work['label']}"
    return True, work["label"] + "x" * work["size"]


def heals(op: Op) -> bool:
    """Whether a run that this activity makes fail is worth a retry."""
    return bool(op["must"] and op["heals"] and op["fails"] < 0)


def start_child(op: Op) -> dict[str, Any]:
    child = op["program"]
    return {
        "type": "StartChildWorkflow",
        "workflow_type": child["type"],
        "workflow_id": child["name"],
        "task_queue": QUEUE,
        "input": child,
        "parent_close_policy": op.get("policy"),
    }


def stands_alone(program: Program) -> bool:
    """Whether it can run again under its id: it leaves nothing behind that takes an id."""
    return all(op["op"] not in _ALONE and op.get("as") is None for op in program["ops"])


def call(seq: int, what: str, run_id: str, **fields: Any) -> dict[str, Any]:
    named = {"seq": seq, "call": what, "workflow_id": run_id}
    return {"type": "CallWorkflow", **named, **fields}


def continuation(program: Program, carried: list[Any], place: int) -> dict[str, Any]:
    rest = program | {"ops": program["ops"][place + 1 :], "carried": carried}
    command = {"type": "ContinueAsNew", "input": rest}
    target = program["ops"][place]["as"]
    return command if target is None else command | {"workflow_id": target}


def closing(program: Program, out: list[Any]) -> dict[str, Any]:
    if program["fails"]:
        return {"type": "FailWorkflow", "error": program["name"]}
    return {"type": "CompleteWorkflow", "result": out}


def outcome_text(ok: bool, value: Any, label: str) -> Any:
    """What a program notes of a child or an activity; errors differ from history to history."""
    return value if ok else f"failed {label}"


def waits(ops: list[Op]) -> dict[str, int]:
    """How many signals of each name a program consumes before it closes."""
    found: dict[str, int] = {}
    for op in ops:
        match op["op"]:
            case "again":
                break
            case "signal":
                found[op["name"]] = found.get(op["name"], 0) + 1
            case "fork":
                for branch in op["branches"]:
                    for name, count in waits(branch).items():
                        found[name] = found.get(name, 0) + count
    return found


class _Raised(Exception):  # noqa: N818 - a program's own failure
    pass


def expected(program: Program, *, retried: bool = False) -> tuple[str, Any]:
    """Status and result (or error) that the undisturbed program comes to, continued to its end.
    `retried`: a run that can be retried was."""
    if program.get("clash"):
        return "FAILED", "a run with that id exists"
    out: list[Any] = list(program.get("carried", []))
    try:
        for op in program["ops"]:
            _expect(op, out, retried)
    except _Raised as raised:
        return "FAILED", str(raised)
    if program["fails"]:
        return "FAILED", program["name"]
    return "COMPLETED", out


def _expect(op: Op, out: list[Any], retried: bool) -> None:
    match op["op"]:
        case "act":
            ok, value = perform(op, 99, retried=retried)
            if not ok and op["must"]:
                raise _Raised(op["label"])
            out.append(outcome_text(ok, value, op["label"]))
        case "par":
            for each in op["acts"]:
                _expect(each, out, retried)
        case "side":
            out.append(op["label"])
        case "abandon":
            _expect(op["act"], out, retried)
        case "child" | "watch":
            status, value = expected(op["program"])
            out.append(outcome_text(status == "COMPLETED", value, op["program"]["name"]))
        case "fork":
            for branch in op["branches"]:
                for each in branch:
                    _expect(each, out, retried)
