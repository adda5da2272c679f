"""What programs are started with, by seed: delays, time-outs, retries, messages, policies."""

from random import Random
from typing import Any

from assay_engine.app import runs
from assay_engine.app.start import Message
from assay_engine.app.starting import IdConflictPolicy, IdReusePolicy
from assay_engine.core import options
from tests.property.ledger import Ledger, Signal
from tests.property.programs import QUEUE, Program, stands_alone

_CONFLICT = list(IdConflictPolicy)


class Starts:
    """Writes the starts of programs; notes in the ledger what they send, and what they disturb."""

    def __init__(self, random: Random, ledger: Ledger, *, share: float) -> None:
        self._random = random
        self._ledger = ledger
        self._share = share
        """Of starts that have options."""
        self._messages = 0

    def first(self, program: Program) -> tuple[runs.StartRun, list[Signal]]:
        """The first start of a program: its id is free."""
        given = self._options(program) if self._random.random() < self._share else {}
        messages, sent = self._some_messages(program) if given else ((), [])
        return self._request(program, given, messages=messages), sent

    def again(self, program: Program) -> tuple[runs.StartRun, list[Signal]]:
        """A start with an id that was used before, perhaps still is."""
        policy = self._random.choice(_CONFLICT)
        if policy is IdConflictPolicy.TERMINATE_EXISTING:
            self._ledger.disturbed.add(program["name"])
        messages, sent = self._some_messages(program)
        given = self._options(program)
        policies = {"on_conflict": policy, "on_reuse": IdReusePolicy.ALLOW}
        return self._request(program, given, messages=messages, **policies), sent

    def _request(self, program: Program, given: dict[str, Any], **rest: Any) -> runs.StartRun:
        return runs.StartRun(
            run_id=program["name"],
            type=program["type"],
            queue=QUEUE,
            input=program,
            options=options.read(given),
            **rest,
        )

    def _options(self, program: Program) -> dict[str, Any]:
        choose = self._random.choice
        given: dict[str, Any] = {
            "start_delay": choose([None, None, 0.3, 20.0]),
            "task_timeout": choose([None, None, 1.0, 5.0, 100.0]),
            "context": choose([None, {"trace": program["name"]}, {"long": "x" * 2000}]),
            "memo": {"of": program["name"]},
        }
        if stands_alone(program):
            interval, most = choose([0, 0.5, 30.0]), choose([1, 2, 3])
            policy = {"initial_interval": interval, "maximum_attempts": most}
            given["retry_policy"] = choose([None, policy])
        if self._random.random() < 0.2:
            # Nobody knows how far it comes: the checks see by its record that it is limited.
            given[choose(["run_timeout", "execution_timeout"])] = choose([0.4, 5.0, 90.0])
        return given

    def _some_messages(self, program: Program) -> tuple[tuple[Message, ...], list[Signal]]:
        sent = []
        for _ in range(self._random.choice([0, 1, 3])):
            self._messages += 1
            sent.append(Signal(program["name"], f"message{self._messages}"))
        self._ledger.signals += sent
        return tuple(Message(name="noise", payload=signal.mark) for signal in sent), sent
