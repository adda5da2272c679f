"""Stops workflow code that reaches for the outside: clock, randomness, files, network, threads.

Nothing is patched and no import is hooked. While a workflow runs, and on its thread alone, calls
of a few built-in functions are looked at, and the interpreter's audit events for I/O.
"""

from __future__ import annotations

import _thread
import datetime as dt
import gc
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from assay.errors import ForbiddenCallError

_CLOCK: Final = "use ctx.now(), or ctx.time() for seconds"
_CHANCE: Final = "use ctx.random, ctx.uuid4() or ctx.random_bytes(n)"
_OUTSIDE: Final = "do it in an activity, and await ctx.execute_activity(...)"
_THREADS: Final = "run what blocks in an activity, and await ctx.execute_activity(...)"
_SLEEP: Final = "use await ctx.sleep(...), or asyncio.sleep(...)"

_shared: Final[Any] = random.random.__self__  # type: ignore[attr-defined]  # behind random.random()

_CALLS: Final[dict[Callable[..., Any], str]] = {
    **dict.fromkeys(
        (
            time.time,
            time.time_ns,
            time.monotonic,
            time.monotonic_ns,
            time.perf_counter,
            time.perf_counter_ns,
            time.process_time,
            time.process_time_ns,
            dt.datetime.now,
            dt.datetime.utcnow,
            dt.datetime.today,
            dt.date.today,
        ),
        _CLOCK,
    ),
    **dict.fromkeys((os.urandom, _shared.random, _shared.getrandbits), _CHANCE),
    # Both are audit events too, but not in every version of Python.
    time.sleep: _SLEEP,
    _thread.start_new_thread: _THREADS,
}
for _module, _name, _instead in (  # not on every platform
    (time, "clock_gettime", _CLOCK),
    (time, "clock_gettime_ns", _CLOCK),
    (os, "getrandom", _CHANCE),
    (uuid, "_generate_time_safe", _CHANCE),  # behind uuid.uuid1()
):
    if (_call := getattr(_module, _name, None)) is not None:
        _CALLS[_call] = _instead
_EVENTS: Final = {
    "time.sleep": _SLEEP,
    "_thread.start_new_thread": _THREADS,
    "_thread.start_joinable_thread": _THREADS,  # from 3.13 on
    "open": _OUTSIDE,
    "os.listdir": _OUTSIDE,
    "os.scandir": _OUTSIDE,
    "os.remove": _OUTSIDE,
    "os.rename": _OUTSIDE,
    "os.mkdir": _OUTSIDE,
    "os.rmdir": _OUTSIDE,
    "os.system": _OUTSIDE,
    "os.exec": _OUTSIDE,
    "os.fork": _OUTSIDE,
    "os.posix_spawn": _OUTSIDE,
    "subprocess.Popen": _OUTSIDE,
    "socket.connect": _OUTSIDE,
    "socket.bind": _OUTSIDE,
    "socket.sendto": _OUTSIDE,
    "socket.getaddrinfo": _OUTSIDE,
    "socket.gethostbyname": _OUTSIDE,
    "sqlite3.connect": _OUTSIDE,
}
# They look at the clock or read source files, and nothing of it reaches the workflow.
_HARMLESS: Final = {
    "logging",
    "loguru",
    "structlog",
    "traceback",
    "linecache",
    "warnings",
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "zipimport",
}
_here = threading.local()
_installing = threading.Lock()
_installed = False


class guarded:  # noqa: N801  reads as a statement: `with guarded():`
    """Refuse what a workflow must not do, until the block ends. A profiler that runs is kept."""

    __slots__ = ("_profiler",)

    def __enter__(self) -> None:
        if not _installed:
            _install()
        self._profiler = sys.getprofile()
        _collector.pause()
        _here.on = _here.running = True
        if self._profiler is None:
            sys.setprofile(_look_at_call)

    def __exit__(self, *_: object) -> None:
        if self._profiler is None:
            sys.setprofile(None)
        _here.on = _here.running = False
        _collector.go_on()


@contextmanager
def unguarded() -> Iterator[None]:
    """Let workflow code do what it otherwise must not; what comes of it must change nothing.

    For a metrics or logging library that looks at the clock by itself::

        with workflow.unguarded():
            metrics.increment("orders")
    """
    was_on, profiler = _is_on(), sys.getprofile()
    _here.on = False
    if profiler is _look_at_call:
        sys.setprofile(None)
    try:
        yield
    finally:
        if getattr(_here, "running", False):  # not so where a run that waits here is given up
            _here.on = was_on
            if profiler is _look_at_call:
                sys.setprofile(_look_at_call)


def _is_on() -> bool:
    return getattr(_here, "on", False)


class _Collector:
    """Keeps the garbage collector out while a workflow runs: finalizers may do what they like."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._was_on = False

    def pause(self) -> None:
        with self._lock:
            if self._users == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._users += 1

    def go_on(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._was_on:
                gc.enable()


_collector = _Collector()


def _look_at_call(frame: FrameType, event: str, arg: Any) -> None:
    if event == "c_call" and arg in _CALLS and _is_on() and not _is_harmless(frame):
        name = f"{getattr(arg, '__module__', None) or type(arg.__self__).__name__}.{arg.__name__}"
        _look_again(frame)
        raise ForbiddenCallError(f"{_spelled(arg, name)}() in a workflow: {_CALLS[arg]}")


def _look_again(frame: FrameType) -> None:
    """Go on looking when `frame` gets the error: a profiler that raises is taken off."""
    tracer, local = sys.gettrace(), frame.f_trace

    def restore(_frame: FrameType, _event: str, _arg: Any) -> Any:
        sys.settrace(tracer)
        frame.f_trace = local
        sys.setprofile(_look_at_call)
        return local

    sys.settrace(restore)
    frame.f_trace = restore


def _spelled(call: Any, name: str) -> str:
    """Return the name by which people know it."""
    owner = getattr(call, "__self__", None)
    if isinstance(owner, type):
        return f"{owner.__name__}.{call.__name__}"
    return f"random.{call.__name__}" if owner is _shared else name.replace("posix.", "os.")


def _audit(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and getattr(_here, "on", False) and not _is_harmless(sys._getframe(1)):
        raise ForbiddenCallError(f"{event} in a workflow: {_EVENTS[event]}")


def _is_harmless(frame: FrameType | None) -> bool:
    """Say whether the call is made for a library that only tells what happens."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module == "assay._loop":
            return False
        if module.partition(".")[0] in _HARMLESS:
            return True
        frame = frame.f_back
    return False


def _install() -> None:
    global _installed  # noqa: PLW0603  an audit hook can be added once and never removed
    if not _installed:
        with _installing:
            if not _installed:
                sys.addaudithook(_audit)
                _installed = True
