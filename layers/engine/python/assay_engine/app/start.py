"""Putting a new run: its record first, then the head if absent, so that a loser leaves only
harmless garbage."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..core import keys
from ..core.history import Event, EventType, pack, size
from ..core.keys import Key
from ..core.run import Head, Pointer, Record
from ..core.values import Parcels
from . import payloads, queues
from .engine import Engine
from .ports import ConditionFailedError

VERSION_KEY = "assay_engine_version"


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
    given = run.has_input or run.input is not None
    record = Record(
        key=keys.record(run.key, run.nonce),
        input=parcels.store(run.input, "input") if given else None,
        search_attributes=None
        if run.search_attributes is None
        else parcels.store(run.search_attributes, "search_attributes"),
    )
    payloads.put(engine, run.key, run.nonce, parcels)
    with suppress(
        ConditionFailedError
    ):  # a child's record, put before by somebody who did not get further
        engine.store.put(record)
    queues.announce(engine, run.namespace, run.queue, keys.WORKFLOWS)
    if run.namespace != "main":
        _point(engine, run)
    started = pack(Event(EventType.STARTED, now, {}))
    return Head(
        key=run.key,
        nonce=run.nonce,
        type=run.type,
        slot=keys.slot(run.namespace, run.queue, keys.WORKFLOWS),
        created_at=now,
        length=1,
        tail=(started,),
        tail_bytes=size((started,)),
        due=now,
        parent=run.parent,
    )


def _point(engine: Engine, run: NewRun) -> None:
    with suppress(ConditionFailedError):  # an earlier run of this id
        engine.store.put(Pointer(key=keys.pointer(run.run_id, run.namespace)))
