"""Signals that must not land twice: from another run, and those of a numbered request."""

from dataclasses import dataclass
from typing import Any

from ..core import ids
from ..core.change import Change, Drop, Equals
from ..core.history import EventType
from ..core.run import Head
from ..core.values import Parcels
from . import inbound, payloads
from .engine import Engine
from .inbound import Inbound


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    name: str
    payload: Any = None
    request_id: str | None = None
    reply_to: str | None = None
    sender: tuple[str, str] | None = None
    """Id and run id of the run that sends it."""


def received(signal: Signal, parcels: Parcels) -> Inbound:
    field = {} if signal.payload is None else parcels.field(signal.payload, "payload")
    extra = {"u": signal.request_id, "y": signal.reply_to, "s": signal.sender}
    given = {letter: value for letter, value in extra.items() if value is not None}
    return Inbound(
        type=EventType.SIGNAL_RECEIVED,
        data={"n": signal.name, **field, **given},
        also=(Drop(("awaited", ids.short_hash(signal.name))),),
    )


def append_to(engine: Engine, target: Head, signal: Signal) -> Change:
    """The append as a change of this very image; a long payload is put beside the run."""
    parcels = Parcels()
    event = received(signal, parcels)
    payloads.put(engine, target.key, target.nonce, parcels)
    return of_image(engine, target, event)


def of_image(engine: Engine, target: Head, event: Inbound) -> Change:
    """An inbound append on condition that the run is still the one that was looked at."""
    change = inbound.change(engine.now(), event, target.lease_token is not None)
    return Change(when=(*change.when, Equals(("nonce",), target.nonce)), do=change.do)
