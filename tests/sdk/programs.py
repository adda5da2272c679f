"""Workflows as trees, made by chance, and the player that runs one and notes all it sees.

A node is the name of a step, or a tuple of a name and what it is made of::

    ("timeout", ("gather", "activity", ("shield", "sleep")))
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from hypothesis import strategies as st

from assay import workflow
from assay._failures import told
from assay.channel import Channel, select
from assay.saga import Saga

WAITS = ("activity", "parallel", "sleep", "signal_or_time", "child", "effect", "send", "set")
LEAVES = (
    *WAITS,
    *WAITS,  # more often than what ends a program early, or waits for what may never come
    *("spawn", "join", "patient", "tell", "monitor", "exit", "nap", "signal", "receive", "select"),
    *("request", "inbox", "bytes", "upsert", "version", "dice", "fail", "stop_one", "stop_me"),
    *("end", "put", "get", "wait_set", "take", "close", "generator"),
)
PAIRS = ("sequence", "rescue", "clean_up", "lastly", "saga")
CROWDS = ("gather", "lenient", "group", "first", "patience", "completed", "gathers", "pool")
SINGLES = ("background", "shield", "timeout", "wait_for")

Node = Any
T = TypeVar("T")


def _grown(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    crowd = st.lists(nodes, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.sampled_from(PAIRS), nodes, nodes),
        st.builds(lambda kind, many: (kind, *many), st.sampled_from(CROWDS), crowd),
        st.tuples(st.sampled_from(SINGLES), nodes),
    )


NODES = st.recursive(st.sampled_from(LEAVES), _grown, max_leaves=12)


def up_to(most: int, what: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    """Return lists of which each length is as likely as any other; plain ones are short."""
    lengths = st.integers(0, most)
    return lengths.flatmap(lambda count: st.lists(what, min_size=count, max_size=count))


PROGRAMS = up_to(6, NODES)


class BoomError(Exception):
    """What a program raises."""


class Player:
    """One instance of one program. `log` is appended to by all of its tasks, in their order."""

    ctx: workflow.Context

    def __init__(self, program: list[Node], chance: Iterator[int]) -> None:
        self.log: list[Any] = []
        self.mishaps: list[Exception] = []
        self._program = program
        self._chance = chance  # never says the same thing twice: what is seen again was recorded
        self._tasks: list[asyncio.Task[Any]] = []
        self._children: list[workflow.ChildHandle[Any]] = []
        self._channel: Channel[str] = Channel(2)
        self._queue: asyncio.Queue[str] = asyncio.Queue(1)
        self._event = asyncio.Event()

    async def run(self, ctx: workflow.Context, input: Any) -> Any:
        self.ctx = ctx
        try:
            for number, node in enumerate(self._program[:-1]):
                await asyncio.gather(self.play(node, str(number)), return_exceptions=True)
            for node in self._program[-1:]:
                await self.play(node, "last")
        except asyncio.CancelledError:
            await self.play("activity", "undo")
            raise
        finally:
            self.note("end", len(self._tasks))
        return len(self.log)

    def note(self, path: str, what: Any) -> None:
        ctx = self.ctx
        if ctx._machine.closed:  # a task that is given up: what it still does is of no effect
            return
        self.log.append((path, what, ctx.time(), ctx.history_length, ctx.history_size))

    async def play(self, node: Node, path: str) -> Any:
        kind, *parts = (node,) if isinstance(node, str) else node
        path = f"{path}:{kind}"
        self.note(path, "begins")
        try:
            got = await getattr(self, f"_{kind}")(path, *parts)
        except (AttributeError, TypeError, NameError, AssertionError) as error:
            if not self.ctx._machine.closed:
                self.mishaps.append(error)  # of the player, or of asyncio on our loop
            raise
        except BaseException as error:
            self.note(path, told(error))
            raise
        self.note(path, got)
        return got

    def _each(self, path: str, nodes: tuple[Node, ...]) -> list[Any]:
        return [self.play(node, f"{path}.{number}") for number, node in enumerate(nodes)]

    def _started(self, path: str, nodes: tuple[Node, ...]) -> list[asyncio.Task[Any]]:
        return [asyncio.create_task(each) for each in self._each(path, nodes)]

    # -- one thing -------------------------------------------------------------------------------

    async def _activity(self, path: str) -> Any:
        return await self.ctx.execute_activity(path, {"at": len(self.log)})

    async def _parallel(self, path: str) -> Any:
        calls = [(f"{path}.{number}", number) for number in range(3)]
        return list(map(str, await self.ctx.execute_parallel(calls, limit=2, tolerated_failures=1)))

    async def _child(self, path: str) -> Any:
        return await self.ctx.start_child_workflow("Child", path, workflow_id="x")

    async def _patient(self, path: str) -> Any:
        child = self.ctx.start_child_workflow
        return await child("Child", path, workflow_id="y", wait_for_cancellation=True)

    async def _spawn(self, path: str) -> Any:
        self._children.append(self.ctx.spawn_child_workflow("Child", path))
        return self._children[-1].workflow_id

    async def _join(self, path: str) -> Any:
        return await self._children.pop(0).result() if self._children else None

    async def _tell(self, path: str) -> Any:
        return await self.ctx.signal("other", "hey", path)

    async def _monitor(self, path: str) -> Any:
        return await self.ctx.monitor("other")

    async def _exit(self, path: str) -> Any:
        return (await self.ctx.exits.receive()).status

    async def _sleep(self, path: str) -> Any:
        await self.ctx.sleep(1.5)

    async def _nap(self, path: str) -> Any:
        await asyncio.sleep(0)

    async def _signal(self, path: str) -> Any:
        return await self.ctx.wait_for_signal("a")

    async def _signal_or_time(self, path: str) -> Any:
        return await self.ctx.wait_for_signal("b", timeout="2s")

    async def _receive(self, path: str) -> Any:
        return await self.ctx.channel("a", int).receive()

    async def _select(self, path: str) -> Any:
        topic = self.ctx.channel("b")
        channel, value = await select(self._channel, topic, timeout=3)
        return [channel is topic, value]

    async def _request(self, path: str) -> Any:
        message = await self.ctx.messages("ask").receive()
        message.reply(path)
        return [message.sender, message.payload]

    async def _inbox(self, path: str) -> Any:
        return (await self.ctx.inbox().receive()).name

    async def _effect(self, path: str) -> Any:
        return await self.ctx.side_effect(path, lambda: [next(self._chance)])

    async def _bytes(self, path: str) -> Any:
        return self.ctx.random_bytes(4).hex()

    async def _upsert(self, path: str) -> Any:
        self.ctx.attrs(search={"at": path}, memo={"length": len(self.log)})

    async def _version(self, path: str) -> Any:
        return self.ctx.version("change", 1, 2)

    async def _dice(self, path: str) -> Any:
        return [self.ctx.random.random(), str(self.ctx.uuid4())]

    async def _fail(self, path: str) -> Any:
        raise BoomError(path)

    async def _end(self, path: str) -> Any:
        self.ctx.continue_as_new(path)

    async def _stop_one(self, path: str) -> Any:
        running = [task for task in self._tasks if not task.done()]
        return running[0].cancel(path) if running else None

    async def _stop_me(self, path: str) -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel(path)
        await asyncio.sleep(0)

    async def _put(self, path: str) -> Any:
        await self._queue.put(path)

    async def _get(self, path: str) -> Any:
        return await self._queue.get()

    async def _set(self, path: str) -> Any:
        self._event.set()

    async def _wait_set(self, path: str) -> Any:
        return await self._event.wait()

    async def _send(self, path: str) -> Any:
        await self._channel.send(path)

    async def _take(self, path: str) -> Any:
        return await self._channel.receive()

    async def _close(self, path: str) -> Any:
        self._channel.close()

    async def _generator(self, path: str) -> Any:
        async for number in self._numbers(path):
            if number == 1:
                break

    async def _numbers(self, path: str) -> AsyncIterator[int]:
        try:
            for number in itertools.count():
                await asyncio.sleep(number)
                yield number
        finally:
            self.note(path, "generator closes")
            await asyncio.sleep(0)
            self.note(path, "generator closed")

    # -- two things ------------------------------------------------------------------------------

    async def _sequence(self, path: str, one: Node, other: Node) -> Any:
        return [await self.play(one, f"{path}.0"), await self.play(other, f"{path}.1")]

    async def _rescue(self, path: str, one: Node, other: Node) -> Any:
        try:
            return await self.play(one, f"{path}.0")
        except Exception:  # noqa: BLE001  whatever a program comes up with
            return await self.play(other, f"{path}.1")

    async def _clean_up(self, path: str, one: Node, other: Node) -> Any:
        try:
            return await self.play(one, f"{path}.0")
        except asyncio.CancelledError:
            return await self.play(other, f"{path}.1")

    async def _lastly(self, path: str, one: Node, other: Node) -> Any:
        try:
            return await self.play(one, f"{path}.0")
        finally:
            await self.play(other, f"{path}.1")

    async def _saga(self, path: str, one: Node, other: Node) -> Any:
        async with Saga() as saga:
            await self.play(one, f"{path}.0")
            saga.compensate(self.ctx.execute_activity, f"{path}.undo", path)
            return await self.play(other, f"{path}.1")

    # -- things around and beside others ---------------------------------------------------------

    async def _background(self, path: str, node: Node) -> Any:
        async def run() -> Any:
            return await asyncio.gather(self.play(node, f"{path}.0"), return_exceptions=True)

        self._tasks.append(asyncio.create_task(run()))

    async def _shield(self, path: str, node: Node) -> Any:
        return await asyncio.shield(self.play(node, f"{path}.0"))

    async def _timeout(self, path: str, node: Node) -> Any:
        async with asyncio.timeout(2.5):
            return await self.play(node, f"{path}.0")

    async def _wait_for(self, path: str, node: Node) -> Any:
        return await asyncio.wait_for(self.play(node, f"{path}.0"), 0.5)

    async def _gather(self, path: str, *nodes: Node) -> Any:
        return await asyncio.gather(*self._each(path, nodes))

    async def _lenient(self, path: str, *nodes: Node) -> Any:
        got = await asyncio.gather(*self._each(path, nodes), return_exceptions=True)
        return [told(each) if isinstance(each, BaseException) else each for each in got]

    async def _group(self, path: str, *nodes: Node) -> Any:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in self._each(path, nodes)]
        return [task.result() for task in tasks]

    async def _first(self, path: str, *nodes: Node) -> Any:
        tasks = self._started(path, nodes)
        done, pending = await asyncio.wait(set(tasks), return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        return self._seen(tasks, done, pending)

    async def _patience(self, path: str, *nodes: Node) -> Any:
        tasks = self._started(path, nodes)
        return self._seen(tasks, *await asyncio.wait(set(tasks), timeout=2))

    def _seen(self, tasks: list[Any], done: set[Any], pending: set[Any]) -> Any:
        for task in done:
            if not task.cancelled():
                task.exception()
        return [[tasks.index(task) for task in some] for some in (done, pending)]

    async def _completed(self, path: str, *nodes: Node) -> Any:
        return [await each for each in asyncio.as_completed(self._each(path, nodes))]

    async def _gathers(self, path: str, *nodes: Node) -> Any:
        both = [asyncio.gather(each, return_exceptions=True) for each in self._each(path, nodes)]
        return self._seen(both, *await asyncio.wait(set(both), timeout=4))

    async def _pool(self, path: str, *nodes: Node) -> Any:
        jobs: Channel[int] = Channel(1)

        async def work(name: int) -> None:
            async for job in jobs:
                await self.play(nodes[job], f"{path}.{name}.{job}")

        async with asyncio.TaskGroup() as group:
            for name in range(2):
                group.create_task(work(name))
            for job in range(len(nodes)):
                await jobs.send(job)
            jobs.close()
