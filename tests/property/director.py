"""Who does what next: scripts of workers and clients, drawn by seed, one step at a time."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from assay_engine.app.engine import Engine
from assay_engine.core.errors import AssayError
from tests.property.lanes import Handling, Killed
from tests.property.world import World


class LostError(Exception):
    """The answer never came: the process died, or the connection broke."""


@dataclass(frozen=True, slots=True)
class Call:
    """Ask the engine."""

    what: str
    handler: Callable[[Engine], Any]


@dataclass(frozen=True, slots=True)
class Sleep:
    secs: float


@dataclass(frozen=True, slots=True)
class Until:
    ready: Callable[[], bool]


# Clients of every kind wait this long for an answer.
PATIENCE_SECS = 30.0

Script = Generator[Call | Sleep | Until, Any, None]


def pause(world: World, queue: str) -> Script:
    """What somebody does who found nothing: wait a little; in calm times, until there is
    something to be found."""
    if not world.calm:
        yield Sleep(world.random.choice([0.1, 0.5, 2.0]))
        return
    yield Sleep(0.5)

    def something() -> bool:
        due = world.next_due(queue)
        return due is not None and due <= world.now()

    yield Until(something)


class Actor:
    def __init__(self, owner: str, name: str, script: Script) -> None:
        self.owner = owner
        self.name = name
        self.script = script
        self.wakes_at = 0.0
        self.until: Callable[[], bool] | None = None
        self.call: Call | None = None
        self.process: Engine | None = None
        self.handling: Handling | None = None
        self.called_at = 0.0
        self.asleep = False
        self.answer: tuple[Any, Exception | None] = (None, None)
        """What it goes on with: a value, or an error."""


class Director:
    def __init__(self, world: World) -> None:
        self.world = world
        self.actors: list[Actor] = []
        self.orphans: list[Actor] = []
        """Calls whose caller is dead: the engine goes on with them all the same."""
        self.trace: list[str] = []
        self.lost_answers = 0.0
        self.jumps = 0.0

    def spawn(self, owner: str, name: str, script: Script) -> None:
        self.actors.append(Actor(owner, name, script))

    def kill(self, owner: str) -> None:
        """A worker's process dies, with everything it had under way."""
        for actor in [each for each in self.actors if each.owner == owner]:
            self.actors.remove(actor)
            actor.script.close()
            if actor.handling is not None:
                self.orphans.append(actor)
        self.note(owner, "died")

    def note(self, who: str, what: str) -> None:
        self.trace.append(f"{self.world.now() - 1e6:10.3f} {who:12} {what}")

    def step(self) -> bool:
        """One actor does one thing, or time passes. False: there is nobody left."""
        able = [actor for actor in self.actors if self._able(actor)] + self.orphans
        if not able or (self.jumps and self.world.random.random() < self.jumps):
            return self._pass_time()
        actor = self.world.random.choice(able)
        if not self.world.calm:
            self.world.clock.moment += self.world.random.choice([0.0, 0.001, 0.02, 0.1])
        if self._out_of_patience(actor):
            self._give_up(actor)
        elif actor.handling is not None:
            self.world.lanes.resume(actor.handling)
            self._check_answer(actor)
        else:
            self._go_on(actor)
        return True

    def _out_of_patience(self, actor: Actor) -> bool:
        if actor.handling is None or actor in self.orphans:
            return False
        return self.world.now() > actor.called_at + PATIENCE_SECS

    def _give_up(self, actor: Actor) -> None:
        """The caller hears nothing for too long and goes on; the engine does not know."""
        left = Actor(actor.owner, f"({actor.name})", actor.script)
        left.call, left.process, left.handling = actor.call, actor.process, actor.handling
        self.orphans.append(left)
        actor.handling, actor.answer, actor.wakes_at = None, (None, LostError("time-out")), 0.0
        self.note(actor.name, "gives up waiting")

    def _able(self, actor: Actor) -> bool:
        if actor.handling is not None:
            return True
        if actor.until is not None:
            return actor.until()
        return actor.wakes_at <= self.world.now()

    def _pass_time(self) -> bool:
        sleepers = [a.wakes_at for a in self.actors if a.asleep and a.handling is None]
        if self.jumps and self.world.random.random() < 0.5:
            self.world.clock.moment += self.world.random.choice([1.0, 6.0, 35.0, 70.0])
            return True
        due = self.world.next_due()
        if due is not None and due > self.world.now():
            sleepers.append(due)
        if sleepers:
            self.world.clock.moment = max(self.world.now(), min(sleepers))
        return bool(self.actors)

    def _go_on(self, actor: Actor) -> None:
        (value, error), actor.answer = actor.answer, (None, None)
        actor.until, actor.call, actor.asleep = None, None, False
        try:
            wish = actor.script.send(value) if error is None else actor.script.throw(error)
        except StopIteration:
            if actor in self.actors:
                self.actors.remove(actor)
            return
        match wish:
            case Sleep(secs):
                actor.wakes_at, actor.asleep = self.world.now() + secs, True
            case Until(ready):
                actor.until = ready
            case Call(what, handler):
                process = self.world.random.choice(self.world.processes)
                actor.call, actor.process, actor.called_at = wish, process, self.world.now()
                self.note(actor.name, f"→ {what}")
                actor.handling = self.world.lanes.start(lambda: handler(process))
                self._check_answer(actor)

    def _check_answer(self, actor: Actor) -> None:
        """If the engine has answered, let the actor go on with it."""
        handling = actor.handling
        if handling is None or not handling.done:
            return
        assert actor.call is not None
        actor.handling = None
        error = handling.error
        if isinstance(error, Killed):
            assert actor.process is not None
            self.world.replace(actor.process)
            error = LostError("killed")
        elif error is not None and not isinstance(error, AssayError):
            raise error
        elif self.world.random.random() < self.lost_answers:
            error = LostError("lost")
        told = repr(error) if error else _shown(handling.value)
        self.note(actor.name, f"← {actor.call.what.split(' ')[0]}: {told}")
        actor.answer, actor.until, actor.wakes_at = (handling.value, error), None, 0.0
        if actor in self.orphans:
            self.orphans.remove(actor)


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "reports" in value:
        parts = [f"{r['id']} {r['status']} {r['code'] or ''}" for r in value["reports"]]
        parts += [f"run {t['run']['id']} v{t['version']}" for t in value["workflow_tasks"]]
        parts += [
            f"act {t['run']['id']}/{t['seq']}#{t['attempt']}" for t in value["activity_tasks"]
        ]
        return ", ".join(parts)
    text = repr(value)
    return text if len(text) < 120 else text[:120] + "…"
