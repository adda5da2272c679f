"""Signals that must not land twice: from another run, and those of a numbered request."""

from dataclasses import dataclass
from typing import Any

from ..core import ids
from ..core.change import Change, Drop
from ..core.history import EventType
from ..core.run import Head
from ..core.values import Parcels
from . import delivery, payloads
from .delivery import Deed, Delivered
from .engine import Engine
from .inbound import Inbound
from .names import RunRef, need


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    name: str
    payload: Any = None
    request_id: str | None = None
    reply_to: str | None = None
    sender: tuple[str, str] | None = None
    """Id and run id of the run that sends it."""


def request(engine: Engine, ref: RunRef, signal: Signal) -> bool:
    """Deliver a signal that its sender may repeat; False if the run is closed and had not got
    it before. Row `signal of a numbered request`."""
    ids.check_name(signal.name, "signal name")
    head = need(engine, ref)
    deed = Deed(
        write=lambda image: append_to(engine, image, signal),
        request_id=ids.check_request(signal.request_id),
    )
    return delivery.deliver(engine, head.key, deed) in (Delivered.NOW, Delivered.BEFORE)


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
    return delivery.append_change(engine, target, event)
