"""Stores that die after a chosen write, or let somebody else in before one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.app.world import World


class DiedError(Exception):
    """The process is gone."""


class DyingStore:
    """Dies right after its `last` write, which is applied."""

    def __init__(self, world: World, last: int) -> None:
        self._store, self._left = world.store, last

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("put", "update", "delete", "transact"):
            return found

        def write(*arguments: Any) -> Any:
            answer = found(*arguments)
            self._left -= 1
            if not self._left:
                raise DiedError
            return answer

        return write


class InterruptedStore:
    """Somebody else gets in before a call of this name, once."""

    def __init__(self, world: World, by: Callable[[], object], call: str) -> None:
        self._store, self._by, self._call = world.store, [by], call

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name != self._call:
            return found

        def later(*arguments: Any) -> Any:
            if self._by:
                self._by.pop()()
            return found(*arguments)

        return later


def deaths(make: Callable[[], World], act: Callable[[World], object]) -> list[World]:
    """The worlds in which `act` died after its first write, its second, … and its last."""
    found: list[World] = []
    while True:
        world = make()
        engine = world.engine
        world.engine = replace(engine, store=DyingStore(world, len(found) + 1))
        try:
            act(world)
        except DiedError:
            world.engine = world.process()
            found.append(world)
            continue
        return found


def interrupted(
    world: World, by: Callable[[], object], act: Callable[[], object], call: str = "transact"
) -> None:
    """Run `act`; `by` happens before its first call of the store of this name."""
    engine = world.engine

    def meanwhile() -> None:
        world.engine = engine
        by()

    world.engine = replace(engine, store=InterruptedStore(world, meanwhile, call))
    act()
    world.engine = engine
