"""`assay serve`: puts the store, the functions, the loops and the HTTP front together.

The only module here that knows all parts. The main thread starts the store and waits; everything
else happens in other threads.
"""

import importlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from types import FrameType

from . import environment, loops, stores
from .aws_json import AwsJson
from .delivery import Delivery
from .gateway import Gateway
from .invocation import Function, Handler, blame, load
from .loops import Loop
from .options import ServeError, ServeOptions, complain
from .stores import OpenStore
from .stream import StreamReader

GRACE_SECS = 2.0
TRIGGERS = ("api", "worker", "tick", "stream")
MAX_DEATHS, DEATHS_SECS = 10, 10.0
_STOP, _STORE_DIED = "stop", "store died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What is served: a table to prepare, and a handler for each trigger."""

    prepare: Callable[[], None]
    load: Callable[[str], Handler]


def _prepare() -> None:
    # Imported late: the engine reads the environment, which is set by then.
    importlib.import_module("assay_engine.runtime").prepare()


ENGINE = Engine(prepare=_prepare, load=load)


class _StoppedEarlyError(BaseException):
    """A signal came before there was anything to stop."""


def serve(options: ServeOptions, engine: Engine = ENGINE) -> int:
    """Run the local engine until a signal ends it; the exit code."""
    messages: SimpleQueue[str] = SimpleQueue()
    try:
        with ExitStack() as stack:
            _on_signals(_stop_early, stack)
            store = _start(options, engine, stack, messages)
            _on_signals(lambda _number, _frame: messages.put(_STOP), stack)
            _wait(store, messages)
    except ServeError as error:
        complain(str(error))
        return 1
    except _StoppedEarlyError:
        return 0
    return 0


def _start(
    options: ServeOptions, engine: Engine, stack: ExitStack, messages: SimpleQueue[str]
) -> OpenStore:
    # The port first: it is what most often is taken, and nothing has been started yet.
    gateway = Gateway(options.host, options.port)
    stack.callback(gateway.server_close)
    store = stores.open_store(options, stack, lambda: messages.put(_STORE_DIED))
    environment.prepare(os.environ, endpoint=store.endpoint, blobs=store.blobs, shared=store.shared)
    if store.shared:
        stores.check_reachable(store.endpoint)
    functions = _load(engine)
    stream = _start_loops(functions, store, stack)
    gateway.open(functions, written=stream.nudge)
    stack.callback(gateway.close, GRACE_SECS)
    print(f"assay serve: listening on {gateway.url} (store: {store.label})", flush=True)
    return store


def _load(engine: Engine) -> dict[str, Function]:
    try:
        engine.prepare()
    except Exception as error:
        raise ServeError(f"the table could not be prepared: {blame(error)}") from error
    return {trigger: Function(trigger, engine.load(trigger)) for trigger in TRIGGERS}


def _start_loops(functions: dict[str, Function], store: OpenStore, stack: ExitStack) -> Loop:
    service, table = AwsJson(store.endpoint), os.environ["ASSAY_TABLE"]

    def check_store() -> None:
        service.table("DescribeTable", {"TableName": table})

    def trim(before: int) -> None:
        if store.process is not None:
            store.process.trim(table, before)

    reader = StreamReader(service, table, Delivery(functions["stream"], check_store), trim=trim)
    stream = Loop("stream", reader.step)
    tick = Loop("tick", loops.tick(functions["tick"], stream.nudge))

    def save() -> None:
        # What is not saved is delivered once more after the next start.
        with suppress(Exception):
            reader.save()

    stack.callback(save)
    for loop in (stream, tick):
        stack.callback(loop.stop)
        loop.start()
    return stream


def _wait(store: OpenStore, messages: SimpleQueue[str]) -> None:
    deaths: deque[float] = deque(maxlen=MAX_DEATHS)
    while messages.get() != _STOP:
        deaths.append(time.monotonic())
        if len(deaths) == MAX_DEATHS and deaths[-1] - deaths[0] < DEATHS_SECS:
            raise ServeError("the store keeps dying")
        complain("the store died and is started again")
        if store.process is not None:
            store.process.revive()


def _on_signals(handler: Callable[[int, FrameType | None], None], stack: ExitStack) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            continue  # nohup
        stack.callback(signal.signal, number, signal.signal(number, handler))


def _stop_early(_number: int, _frame: FrameType | None) -> None:
    raise _StoppedEarlyError
