"""Putting a new run: its record first, then the head if absent, so that a loser leaves only
harmless garbage."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..core import keys, options
from ..core.history import Event, EventType, pack, size
from ..core.keys import Key
from ..core.options import Options
from ..core.run import Head, Pointer, Record
from ..core.values import Parcels
from . import payloads, queues
from .engine import Engine
from .ports import ConditionFailedError

VERSION_KEY = "assay_engine_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A signal that is there when the run begins."""

    name: str
    payload: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    namespace: str
    run_id: str
    type: str
    queue: str
    nonce: str
    input: Any = None
    has_input: bool = False
    """Tells a null input from none: on children they differ."""
    search_attributes: Any = None
    parent: Mapping[str, Any] | None = None
    options: Options = options.NONE
    messages: tuple[Message, ...] = ()
    attempt: int | None = None
    chain_until: float | None = None
    """Where an earlier run of the chain has set it."""
    earlier: Mapping[str, Any] | None = None

    @property
    def key(self) -> Key:
        return keys.head(self.namespace, self.run_id)


def stamped(attributes: Any) -> Any:
    """Attributes of a run started by a client carry the engine's version."""
    if attributes is None:
        return {VERSION_KEY: __version__}
    if isinstance(attributes, dict):
        return {VERSION_KEY: __version__} | attributes
    return attributes


def put_run(engine: Engine, run: NewRun) -> Head:
    """Create the run; raises ConditionFailedError with the head that is there already."""
    head = prepare_run(engine, run)
    engine.store.put(head)
    engine.wakeups.notify(head.slot)
    return head


def prepare_run(engine: Engine, run: NewRun) -> Head:
    """Everything but the head itself."""
    now = engine.now()
    parcels = Parcels()
    record = _record(run, parcels)
    events = _first_events(run, parcels, now)
    payloads.put(engine, run.key, run.nonce, parcels)
    with suppress(
        ConditionFailedError
    ):  # a child's record, put before by somebody who did not get further
        engine.store.put(record)
    queues.announce(engine, run.namespace, run.queue, keys.WORKFLOWS)
    if run.namespace != "main":
        _point(engine, run)
    return Head(
        key=run.key,
        nonce=run.nonce,
        type=run.type,
        slot=keys.slot(run.namespace, run.queue, keys.WORKFLOWS),
        created_at=now,
        length=len(events),
        tail=events,
        tail_bytes=size(events),
        parent=run.parent,
        attempt=run.attempt,
        earlier=run.earlier,
        **_from_options(run, now),
    )


def _record(run: NewRun, parcels: Parcels) -> Record:
    def stored(value: Any, what: str) -> str | None:
        return None if value is None else parcels.store(value, what)

    given = run.has_input or run.input is not None
    return Record(
        key=keys.record(run.key, run.nonce),
        input=parcels.store(run.input, "input") if given else None,
        search_attributes=stored(run.search_attributes, "search_attributes"),
        memo=stored(run.options.memo, "memo"),
        options=stored(options.kept(run.options) or None, "context"),
    )


def _first_events(run: NewRun, parcels: Parcels, now: float) -> tuple[str, ...]:
    signals = (signal_data(message, parcels) for message in run.messages)
    return (
        pack(Event(EventType.STARTED, now, {})),
        *(pack(Event(EventType.SIGNAL_RECEIVED, now, data)) for data in signals),
    )


def signal_data(message: Message, parcels: Parcels) -> dict[str, Any]:
    field = {} if message.payload is None else parcels.field(message.payload, "payload")
    return {"n": message.name, **field}


def _from_options(run: NewRun, now: float) -> dict[str, Any]:
    """What the head has to know of the options. Time-outs count from the end of a delay."""
    given = run.options
    begin = now + (given.start_delay or 0.0)
    chain = None if given.execution_timeout is None else begin + given.execution_timeout
    return {
        "due": begin,
        "start_at": begin if given.start_delay else None,
        "run_until": None if given.run_timeout is None else begin + given.run_timeout,
        "chain_until": chain if run.chain_until is None else run.chain_until,
        "task_secs": given.task_timeout,
        "retries": None if given.retry_policy is None else 1,
        "has_context": None if given.context is None else 1,
    }


def _point(engine: Engine, run: NewRun) -> None:
    with suppress(ConditionFailedError):  # an earlier run of this id
        engine.store.put(Pointer(key=keys.pointer(run.run_id, run.namespace)))
