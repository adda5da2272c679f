"""Handlers that overlap. Each has a thread, but only one ever runs: a baton goes round.

A handler gives the baton back wherever it may be interrupted (`pause`), and the director
decides who goes on. So every interleaving of store calls can happen, and the same seed makes
the same one again.
"""

from collections.abc import Callable
from threading import Lock, Thread
from typing import Any


class Killed(BaseException):
    """The process that ran a handler is gone. Nothing in the engine may catch it."""


class Handling:
    """One call of the engine, from its start to its answer."""

    def __init__(self, handler: Callable[[], Any]) -> None:
        self.handler = handler
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.killed = False
        self.lane: _Lane | None = None


class _Lane(Thread):
    def __init__(self, back: Lock) -> None:
        super().__init__(daemon=True)
        self.baton = Lock()
        self.baton.acquire()
        self.back = back
        self.handling: Handling | None = None

    def run(self) -> None:
        while True:
            self.baton.acquire()
            handling = self.handling
            if handling is None:
                return
            try:
                handling.value = handling.handler()
            except BaseException as error:  # noqa: BLE001 - it is the director's to judge
                handling.error = error
            handling.done = True
            self.back.release()


class Lanes:
    def __init__(self) -> None:
        self._back = Lock()
        self._back.acquire()
        self._idle: list[_Lane] = []
        self._all: list[_Lane] = []
        self._running: Handling | None = None
        self.under_way: list[Handling] = []

    def start(self, handler: Callable[[], Any]) -> Handling:
        """Run a handler until it ends or pauses."""
        handling = Handling(handler)
        if self._idle:
            lane = self._idle.pop()
        else:
            lane = _Lane(self._back)
            self._all.append(lane)
            lane.start()
        handling.lane, lane.handling = lane, handling
        self.under_way.append(handling)
        self.resume(handling)
        return handling

    def resume(self, handling: Handling) -> None:
        assert handling.lane is not None
        self._running = handling
        handling.lane.baton.release()
        self._back.acquire()
        self._running = None
        if handling.done:
            self.under_way.remove(handling)
            self._idle.append(handling.lane)

    def pause(self) -> None:
        """Inside a handler: let others run. Outside of one it does nothing."""
        handling = self._running
        if handling is None or handling.lane is None:
            return
        self._back.release()
        handling.lane.baton.acquire()
        self._running = handling
        if handling.killed:
            raise Killed

    def close(self) -> None:
        for handling in list(self.under_way):
            handling.killed = True
            self.resume(handling)
        for lane in self._all:
            lane.handling = None
            lane.baton.release()
            lane.join()
