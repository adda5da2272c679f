"""A process that dies at a chosen write, and what others do in the middle of one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from assay_engine.core.errors import BusyError
from assay_engine.core.keys import Key
from tests.app.world import World

WRITES = ("put", "update", "delete", "transact")


class Died(Exception):  # noqa: N818 - nobody in the engine may catch it
    """The process is gone; what it had written stays."""


class Watched:
    """A store that calls `look(name, arguments)` before each write, `after` behind it."""

    def __init__(
        self,
        store: Any,
        before: Callable[[str, tuple[Any, ...]], None] = lambda *_: None,
        after: Callable[[str, tuple[Any, ...]], None] = lambda *_: None,
    ) -> None:
        self._store = store
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in WRITES:
            return found

        def write(*arguments: Any, **options: Any) -> Any:
            self._before(name, arguments)
            result = found(*arguments, **options)
            self._after(name, arguments)
            return result

        return write


def worlds_that_die(act: Callable[[World], None], prepare: Callable[[], World]) -> Iterator[World]:
    """`act` in a fresh world, dying before or after each of its writes in turn; a new process
    takes over. Ends with the world in which nobody died."""
    for count in range(1, 100):
        for when in ("before", "after"):
            world = prepare()
            survived = _run(world, act, count, when)
            yield world
            if survived:
                return
    raise AssertionError("it never ends")


def _run(world: World, act: Callable[[World], None], count: int, when: str) -> bool:
    left = [count]

    def die(*_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Died

    store = Watched(world.store, **{when: die})
    world.engine = replace(world.engine, store=store)
    try:
        act(world)
    except Died:
        return False
    finally:
        world.engine = world.process()
    return True


def recover(world: World, secs: int = 15) -> None:
    """Time passes, and the tick looks after what was left behind."""
    for _ in range(secs):
        world.pass_secs(1)
        world.tick()


def in_the_middle(world: World, act: Callable[[], None], when: str, count: int = 1) -> None:
    """Let `act` happen once, just before the engine's next write of the kind `when`; `act` sees
    the engine as other processes do."""
    left = [count]

    def before(name: str, _: tuple[Any, ...]) -> None:
        if name != when:
            return
        left[0] -= 1
        if left[0] == 0:
            mine, world.engine = world.engine, world.process()
            act()
            world.engine = mine

    world.engine = replace(world.engine, store=Watched(world.store, before))


def keep_busy(world: World, key: Key) -> None:
    """Nobody can write this item for a while."""

    def refuse(_: str, arguments: tuple[Any, ...]) -> None:
        named = [*arguments, *(getattr(arguments[0], "__iter__", tuple)() if arguments else ())]
        if any(key in (one, getattr(one, "key", None)) for one in named):
            raise BusyError("throttled")

    world.engine = replace(world.engine, store=Watched(world.store, refuse))
