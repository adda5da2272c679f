"""What asyncio has for waiting works in a workflow, live and replayed; what it has for I/O not."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import sys
from asyncio import as_completed as imported_before
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from assay import _loop, workflow
from assay._history import Command
from assay._replay import Machine
from assay.errors import ForbiddenCallError, UsageError

from .histories import STARTED, Code, completed, history, machine, scheduled, signal
from .programs_played import fired, named, played, result

# -- waiting -------------------------------------------------------------------------------------


def test_gather_returns_in_the_order_of_its_arguments() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return await asyncio.gather(ctx.execute_activity("a"), ctx.execute_activity("b"))

    assert result(code, completed(2, "B"), completed(1, "A")) == ["A", "B"]


def test_wait_returns_what_is_done_first() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        tasks = [asyncio.create_task(ctx.execute_activity(name), name=name) for name in "abc"]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return [[task.get_name() for task in some] for some in (done, pending)]

    assert result(code, completed(2)) == [["b"], ["a", "c"]]


def test_wait_returns_when_its_time_is_over() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        task = asyncio.create_task(ctx.execute_activity("slow"))
        done, pending = await asyncio.wait([task], timeout=5)
        return [len(done), len(pending), ctx.time()]

    assert result(code, fired(1))[:2] == [0, 1]


@pytest.mark.parametrize("in_time", [True, False])
def test_wait_for_and_timeout_end_what_takes_too_long(in_time: bool) -> None:
    async def slow(ctx: workflow.Context) -> Any:
        async with asyncio.timeout(5):
            return await ctx.execute_activity("slow")

    async def code(ctx: workflow.Context, input: Any) -> Any:
        waits = (slow(ctx), asyncio.wait_for(ctx.execute_activity("slow"), 5))
        got = await asyncio.gather(*waits, return_exceptions=True)
        return [type(each).__name__ if isinstance(each, Exception) else each for each in got]

    if in_time:
        assert result(code, completed(1, "x"), completed(2, "y")) == ["x", "y"]
    else:
        assert result(code, fired(1), fired(2)) == ["TimeoutError", "TimeoutError"]


def test_a_task_group_cancels_the_others_when_one_fails() -> None:
    ended: list[str] = []

    async def noted(ctx: workflow.Context, name: str) -> None:
        try:
            await ctx.execute_activity(name)
        except asyncio.CancelledError:
            ended.append(name)
            raise

    async def code(ctx: workflow.Context, input: Any) -> Any:
        ended.clear()
        try:
            async with asyncio.TaskGroup() as group:
                for name in "abcd":
                    group.create_task(noted(ctx, name))
        except* workflow.ActivityError:
            pass
        return list(ended)

    failed = ("ActivityFailed", {"activity_seq": 2, "error": "no", "final_attempt": 1})
    assert result(code, failed) == ["a", "c", "d"]


def test_queues_events_locks_and_conditions_join_tasks() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        done, lock, condition = asyncio.Event(), asyncio.Lock(), asyncio.Condition()
        got: list[Any] = []

        async def produce() -> None:
            for number in range(3):
                await queue.put(number)
            done.set()
            async with condition:
                condition.notify_all()

        async def consume() -> None:
            while len(got) < 3:
                async with lock:
                    got.append(await queue.get())
                    await ctx.execute_activity("take", got[-1])

        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            group.create_task(consume())
            async with condition:
                await condition.wait_for(done.is_set)
        return got

    assert result(code, completed(1), completed(2), completed(3)) == [0, 1, 2]


def test_what_is_shielded_goes_on() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        inner = asyncio.ensure_future(ctx.execute_activity("keep"))
        try:
            async with asyncio.timeout(5):
                await asyncio.shield(inner)
        except TimeoutError:
            return ["too late", await inner]

    assert result(code, fired(1), completed(1, "kept")) == ["too late", "kept"]


def test_as_completed_begins_in_the_order_given_and_yields_as_they_end() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        calls = (ctx.execute_activity(name) for name in "abcdefgh")
        return [await each for each in asyncio.as_completed(calls)]

    ends = [completed(seq, seq) for seq in (3, 1, 8, 2, 7, 4, 6, 5)]
    assert named(played(code)[0]) == list("abcdefgh")
    assert result(code, *ends) == [3, 1, 8, 2, 7, 4, 6, 5]


def test_an_as_completed_whose_order_is_chance_is_refused() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return [await each for each in imported_before([ctx.execute_activity("a")])]

    if imported_before is not asyncio.as_completed:  # the SDK was imported after it
        [command] = played(code)[0]
        assert "asyncio.as_completed(...)" in command["error"]


def test_as_completed_outside_of_workflows_is_that_of_asyncio() -> None:
    async def main() -> list[int]:
        return [await each for each in asyncio.as_completed([asyncio.sleep(0, 1)], timeout=5)]

    assert asyncio.run(main()) == [1]


def test_generators_that_are_not_read_to_their_end_are_closed_at_once_and_in_the_workflow() -> None:
    async def numbers(ctx: workflow.Context) -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await ctx.execute_activity("close")

    async def code(ctx: workflow.Context, input: Any) -> Any:
        async for _ in numbers(ctx):
            break
        return await ctx.execute_activity("go on")

    async def inside_another_loop() -> list[list[Command]]:
        issued = played(code)
        await asyncio.sleep(0)
        return issued

    assert played(code) == asyncio.run(inside_another_loop())
    assert named(played(code)[0]) == ["go on", "close"]


def test_context_variables_belong_to_their_task() -> None:
    order: contextvars.ContextVar[str] = contextvars.ContextVar("order", default="none")

    async def read(ctx: workflow.Context, name: str) -> str:
        order.set(name)
        await ctx.execute_activity("x")
        return order.get()

    async def code(ctx: workflow.Context, input: Any) -> Any:
        return [order.get(), *await asyncio.gather(read(ctx, "a"), read(ctx, "b")), order.get()]

    order.set("of the worker")
    assert result(code, completed(2), completed(1)) == ["none", "a", "b", "none"]


def test_the_order_of_a_set_of_gatherings_is_that_of_their_making() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        every = [asyncio.gather(asyncio.sleep(0, number)) for number in range(20)]
        done, _ = await asyncio.wait(set(every))
        return [each.result()[0] for each in done]

    assert result(code) == list(range(20))


# -- timers --------------------------------------------------------------------------------------


def test_a_timer_that_its_own_activation_cancels_is_never_issued() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
        await ctx.sleep(7)

    assert played(code)[0] == [{"type": "ScheduleTimer", "seq": 1, "duration_secs": 7.0}]


def test_a_timer_that_is_cancelled_later_is_taken_back() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        async with asyncio.timeout(60):
            await ctx.execute_activity("quick")
        await ctx.sleep(1)

    assert played(code, completed(1))[1] == [
        {"type": "CancelTimer", "seq": 1},
        {"type": "ScheduleTimer", "seq": 2, "duration_secs": 1.0},
    ]


def test_a_timer_that_fires_though_it_was_cancelled_does_nothing() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        async with asyncio.timeout(60):
            await ctx.wait_for_signal("go")
        await ctx.wait_for_signal("on")

    run = machine(code)
    wait = ("WorkflowAwaitingSignal", {"signal": "go"})
    timer = ("TimerScheduled", {"timer_seq": 1})
    run.feed(history(STARTED, timer, wait, signal("go"), fired(1)))

    assert named(run.commands()) == ["CancelTimer", "on"]
    run.drop()


def test_a_cancel_request_stops_the_timers_and_those_still_wanted_begin_again() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        kept = asyncio.create_task(ctx.sleep(100))
        try:
            await ctx.sleep(50)
        except asyncio.CancelledError:
            await kept
        return "cleaned up"

    cancel = ("WorkflowCancelRequested", None)
    _, again, last = played(code, cancel, fired(3))
    [command] = again
    assert (command["type"], command["seq"]) == ("ScheduleTimer", 3)
    assert 99 < command["duration_secs"] < 100
    assert last == [{"type": "CompleteWorkflow", "result": "cleaned up"}]


# -- what cannot be done -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in dir(asyncio.AbstractEventLoop)
        if name.startswith(("sock_", "create_", "connect_", "subprocess_", "getaddr", "start_tls"))
        and name not in ("create_future", "create_task")
    ],
)
def test_each_method_for_io_says_what_to_use_instead(name: str) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await getattr(asyncio.get_running_loop(), name)()

    with pytest.raises(ForbiddenCallError, match=f"^{name} in a workflow: do the input"):
        played(code)


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda: asyncio.to_thread(print), "run_in_executor in a workflow: run what"),
        (lambda: asyncio.open_connection("h", 1), "create_connection in a workflow"),
        (lambda: asyncio.create_subprocess_shell("ls"), "subprocess_shell in a workflow"),
    ],
)
def test_threads_connections_and_processes_are_refused(
    call: Callable[[], Any], instead: str
) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await call()

    with pytest.raises(ForbiddenCallError, match=instead):
        played(code)


def test_going_round_without_waiting_is_an_error_and_no_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        while True:  # noqa: ASYNC110
            await asyncio.sleep(0)

    monkeypatch.setattr(_loop, "_MOST_STEPS", 1_000)
    run = machine(code)
    with pytest.raises(UsageError, match="goes round without ever waiting"):
        run.feed(history(STARTED))
    run.drop()


def test_a_workflow_that_exits_fails_and_leaves_its_worker_alone() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        sys.exit(3)

    assert played(code)[0] == [{"type": "FailWorkflow", "error": "SystemExit: 3"}]


# -- what is left behind -------------------------------------------------------------------------


def leftover(ended: list[str]) -> Code:
    """Return a workflow with tasks that wait, that have not begun, and that clean up at length."""

    async def stubborn(ctx: workflow.Context) -> None:
        try:
            await ctx.execute_activity("long")
        finally:
            ended.append("first")
            try:
                await asyncio.gather(asyncio.sleep(5), asyncio.sleep(0))
                await asyncio.wait_for(asyncio.sleep(1), 2)
            finally:
                ended.append("second")
                with pytest.raises(UsageError, match="the run has ended"):
                    await ctx.execute_activity("clean_up")
                ended.append("refused")

    async def code(ctx: workflow.Context, input: Any) -> Any:
        left = [asyncio.create_task(stubborn(ctx)), asyncio.ensure_future(asyncio.sleep(9))]
        await ctx.wait_for_signal("end")
        left.append(asyncio.create_task(asyncio.sleep(1)))
        return len(left)

    return code


@pytest.mark.parametrize("evicted", [True, False])
def test_what_is_left_behind_is_quiet_and_can_issue_nothing(
    evicted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[str] = []
    run: Machine | None = machine(leftover(ended))
    assert run is not None
    wait = ("WorkflowAwaitingSignal", {"signal": "end"})
    timer = ("TimerScheduled", {"timer_seq": 1})
    events = history(STARTED, wait, scheduled(1, "long"), timer, signal("end"))
    run.feed(events[:3])
    before = run.commands()
    if evicted:
        run.drop()
        assert run.commands() == before
    else:
        run.feed(events)
        assert named(run.commands())[-1] == "CompleteWorkflow"
    run = None
    gc.collect()

    assert ended == ["first", "second", "refused"]
    assert caplog.records == []


def test_a_background_task_that_ends_the_run_is_nothing_to_warn_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        async def end() -> None:
            ctx.continue_as_new(1)

        ending = asyncio.create_task(end())
        await ctx.sleep(1)
        return ending

    caplog.set_level(logging.WARNING)
    assert played(code)[0][-1] == {"type": "ContinueAsNew", "input": 1}
    gc.collect()
    assert caplog.records == []
