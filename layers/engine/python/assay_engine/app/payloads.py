"""Values too big for an event: written before it, fetched when it is read."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core import keys, values
from ..core.history import Event, Numbered
from ..core.keys import Key
from ..core.run import Payload, Record
from ..core.values import Parcels
from .engine import Engine
from .ports import ConditionFailedError


def put(engine: Engine, head_key: Key, nonce: str, parcels: Parcels) -> None:
    """Write what a decision put aside. Named by content, so there is nothing to overwrite."""
    for name, data in parcels.items.items():
        if name.startswith(values.BLOB):
            engine.blobs.put(name, data)
            continue
        with suppress(ConditionFailedError):  # the same bytes
            engine.store.put(Payload(key=keys.payload(head_key, nonce, name), text=data.decode()))


def text(engine: Engine, head_key: Key, nonce: str, stored: str | None) -> str | None:
    """The JSON text of a stored value."""
    if stored is None:
        return None
    if values.inline(stored):
        return stored[1:]
    return fetch(engine, head_key, nonce, {stored})[stored]


def context(engine: Engine, head_key: Key, nonce: str) -> Any:
    """The context a run was started with; one read, so only for a run that has one."""
    return context_in(engine, engine.store.get(Record, keys.record(head_key, nonce)), nonce)


def context_in(engine: Engine, record: Record | None, nonce: str) -> Any:
    if record is None or record.options is None:
        return None
    kept = values.parse(text(engine, record.key, nonce, record.options) or "{}")
    return kept.get("context")


def fetch(engine: Engine, head_key: Key, nonce: str, names: Iterable[str]) -> dict[str, str]:
    """Name -> JSON text."""
    wanted = set(names)
    found = {
        name: engine.blobs.get(name).decode() for name in wanted if name.startswith(values.BLOB)
    }
    places = {keys.payload(head_key, nonce, name): name for name in wanted - found.keys()}
    for key, payload in engine.store.get_many(Payload, list(places)).items():
        found[places[key]] = payload.text
    return found


def second(engine: Engine, head_key: Key, nonce: str, data: Mapping[str, Any], name: str) -> Any:
    """A further value of an event, see `values.second_field`; None if it has none."""
    stored = data.get(name + "r")
    if stored is None:
        return data.get(name)
    return values.parse(fetch(engine, head_key, nonce, {stored})[stored])


def resolve(engine: Engine, head_key: Key, nonce: str, events: list[Numbered]) -> list[Numbered]:
    """The events with every reference replaced by its value."""
    names = {
        str(n.event.data[reference])
        for n in events
        for reference in values.REFERENCES
        if reference in n.event.data
    }
    if not names:
        return events
    texts = fetch(engine, head_key, nonce, names)
    return [_resolved(n, texts) for n in events]


def _resolved(numbered: Numbered, texts: dict[str, str]) -> Numbered:
    event = numbered.event
    data: dict[str, Any] = dict(event.data)
    for reference, name in values.REFERENCES.items():
        if reference in data:
            data[name] = values.parse(texts[str(data.pop(reference))])
    return replace(numbered, event=Event(event.type, event.at, data))
