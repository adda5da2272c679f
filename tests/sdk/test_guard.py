"""What workflow code must not do is refused, with what to do instead; everything else goes on."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import importlib
import logging
import os
import random
import secrets
import socket
import subprocess
import sys
import threading
import time
import traceback
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay import workflow
from assay._guard import guarded
from assay._replay import Machine
from assay.errors import ForbiddenCallError

from .histories import STARTED, history, machine

CLOCK = r"use ctx\.now\(\)"
CHANCE = r"use ctx\.random, ctx\.uuid4\(\) or ctx\.random_bytes\(n\)"
OUTSIDE = r"do it in an activity, and await ctx\.execute_activity"
FORBIDDEN: list[tuple[Callable[[], object], str, str]] = [
    (lambda: time.time(), "time.time", CLOCK),  # noqa: PLW0108, TID251
    (lambda: time.monotonic(), "time.monotonic", CLOCK),  # noqa: PLW0108
    (lambda: dt.datetime.now(dt.UTC), "datetime.now", CLOCK),  # noqa: TID251
    (lambda: dt.date.today(), "date.today", CLOCK),  # noqa: DTZ011, PLW0108, TID251
    (lambda: random.random(), "random.random", CHANCE),  # noqa: PLW0108
    (lambda: random.randint(1, 6), "random.getrandbits", CHANCE),
    (lambda: random.choice("abc"), "random.getrandbits", CHANCE),
    (lambda: uuid.uuid4(), "os.urandom", CHANCE),  # noqa: PLW0108
    (lambda: uuid.uuid1(), "generate_time_safe", CHANCE),  # noqa: PLW0108
    (lambda: os.urandom(4), "os.urandom", CHANCE),
    (lambda: secrets.token_hex(4), "os.urandom", CHANCE),
    (lambda: secrets.randbelow(4), "os.urandom", CHANCE),
    (lambda: Path(__file__).open(), "open", OUTSIDE),  # noqa: SIM115
    (lambda: Path(__file__).read_text(), "open", OUTSIDE),
    (lambda: os.listdir(), "os.listdir", OUTSIDE),  # noqa: PLW0108, PTH208
    (lambda: socket.create_connection(("127.0.0.1", 9)), "socket.", OUTSIDE),
    (lambda: socket.gethostbyname("localhost"), "socket.gethostbyname", OUTSIDE),
    (lambda: subprocess.run(["true"], check=False), "subprocess.Popen", OUTSIDE),
    (lambda: threading.Thread(target=print).start(), "_thread.start", "run what blocks in an"),
    (lambda: time.sleep(0), "time.sleep", r"use await ctx\.sleep"),
]


def started(code: Callable[[workflow.Context, Any], Any]) -> Machine:
    run = machine(code)
    run.feed(history(STARTED))
    return run


def result_of(inside: Callable[[], Any]) -> Any:
    """Return what a workflow returns that does nothing but call `inside`."""

    async def code(ctx: workflow.Context, input: Any) -> Any:
        return inside()

    [command] = started(code).commands()
    return command.get("result")


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Whatever a test does, its thread is as free afterwards as it was."""
    before = (sys.getprofile(), sys.gettrace(), gc.isenabled())
    yield
    time.monotonic()
    assert (sys.getprofile(), sys.gettrace(), gc.isenabled()) == before


@pytest.mark.parametrize(("call", "name", "instead"), FORBIDDEN)
def test_a_forbidden_call_is_named_with_its_replacement(
    call: Callable[[], object], name: str, instead: str
) -> None:
    with pytest.raises(ForbiddenCallError, match=rf"{name}.* in a workflow: {instead}"):
        result_of(call)


def test_each_forbidden_call_is_refused_also_when_the_code_catches_the_error() -> None:
    def try_all() -> list[str]:
        said = []
        for call, name, _ in FORBIDDEN * 2:
            try:
                call()
            except ForbiddenCallError:
                continue
            said.append(name)
        return said

    assert result_of(try_all) == []


def test_a_forbidden_call_in_a_task_of_a_group_stops_the_run_too() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        async with asyncio.TaskGroup() as group:
            group.create_task(ask())

    async def ask() -> None:
        os.urandom(1)

    with pytest.raises(ForbiddenCallError):
        started(code)


def test_a_forbidden_call_leaves_a_debugger_or_coverage_in_place() -> None:
    lines: list[int] = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        lines.append(frame.f_lineno)
        return tracer

    def ask_twice() -> list[str]:
        said = []
        for _ in range(2):
            try:
                time.monotonic()
            except ForbiddenCallError:
                said.append("refused")
        return said

    outer = sys.gettrace()
    sys.settrace(tracer)
    try:
        got = result_of(ask_twice)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(outer)

    assert got == ["refused", "refused"]
    assert lines


def test_logs_imports_tracebacks_and_warnings_go_on(caplog: pytest.LogCaptureFixture) -> None:
    def tell() -> str:
        logging.getLogger("shop").warning("order %s", 7)
        sys.modules.pop("colorsys", None)
        importlib.import_module("colorsys")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        try:
            raise ValueError("bad")
        except ValueError:
            return traceback.format_exc().splitlines()[-1]

    assert result_of(tell) == "ValueError: bad"
    assert "order 7" in caplog.text


def test_what_is_random_or_timed_by_the_context_is_allowed() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        ctx.uuid4()
        ctx.random.choice("abc")
        ctx.random_bytes(3)
        await ctx.side_effect(
            "outside", lambda: [time.monotonic(), Path.cwd().name, uuid.uuid4().hex]
        )
        return ctx.now().isoformat()

    assert started(code).commands()[-1]["result"] == "1970-01-01T00:01:41+00:00"


def test_unguarded_code_may_do_everything_and_only_there() -> None:
    def measured() -> list[bool]:
        with workflow.unguarded():
            free = time.monotonic() > 0 and len(os.urandom(2)) == 2 and Path(__file__).exists()
            Path(__file__).read_text()
        try:
            time.monotonic()
        except ForbiddenCallError:
            return [free, True]
        return [free, False]

    assert result_of(measured) == [True, True]


def test_a_run_that_is_given_up_while_unguarded_does_not_leave_its_thread_guarded() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        with workflow.unguarded():
            await ctx.sleep(10)

    run = started(code)
    run.drop()

    assert time.monotonic() > 0
    assert os.urandom(1)


def test_other_threads_and_activities_are_not_affected() -> None:
    inside, done = threading.Event(), threading.Event()
    free: list[Any] = []

    def elsewhere() -> None:
        inside.wait(10)
        free.append((time.monotonic() > 0, len(uuid.uuid4().hex), bool(Path(__file__).read_text())))
        done.set()

    def wait() -> bool:
        inside.set()
        return done.wait(10)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    assert result_of(wait) is True
    thread.join()
    assert free == [(True, 32, True)]


def test_a_profiler_of_the_user_survives_and_sees_the_workflow() -> None:
    called: list[str] = []

    def profiler(frame: Any, event: str, arg: Any) -> None:
        called.append(frame.f_code.co_name)

    def charge_customer() -> int:
        return 1

    sys.setprofile(profiler)
    try:
        got = result_of(charge_customer)
        kept = sys.getprofile()
    finally:
        sys.setprofile(None)

    assert (got, kept) == (1, profiler)
    assert "charge_customer" in called


def test_input_and_output_are_refused_also_under_a_profiler_of_the_user() -> None:
    sys.setprofile(lambda frame, event, arg: None)
    try:
        with pytest.raises(ForbiddenCallError, match="open in a workflow"):
            result_of(lambda: Path(__file__).read_text())
    finally:
        sys.setprofile(None)


def test_the_garbage_collector_rests_while_a_workflow_runs() -> None:
    assert result_of(gc.isenabled) is False
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        result_of(gc.isenabled)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_comes_back_when_the_last_of_two_workflow_threads_is_done() -> None:
    in_first, first_may_end = threading.Event(), threading.Event()

    def first() -> None:
        with guarded():
            in_first.set()
            first_may_end.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    in_first.wait(10)
    with guarded():
        pass
    while_first_runs = gc.isenabled()
    first_may_end.set()
    thread.join()

    assert (while_first_runs, gc.isenabled()) == (False, True)


def test_a_workflow_that_raises_leaves_nothing_switched() -> None:
    def fail() -> None:
        raise KeyError("x")

    async def code(ctx: workflow.Context, input: Any) -> Any:
        fail()

    [command] = started(code).commands()
    assert command["type"] == "FailWorkflow"
    assert gc.isenabled()
