"""JSON values: one encoding everywhere (compact, keys sorted), and how a value is stored.

A stored value is text: `=` and the JSON itself, `p` and the name of a payload item, or `b`
and the name of a blob. Inside an event it is the field `v` (nested) or `r` (the reference);
a second value there has a name of its own, and its reference that name with an `r`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from . import ids, limits
from .errors import TooLargeError

INLINE, ITEM, BLOB = "=", "p", "b"

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def text(value: Any) -> str:
    return _encoder.encode(value).decode()


def parse(data: str | bytes) -> Any:
    return _decoder.decode(data)


def check_size(data: bytes, what: str) -> bytes:
    if len(data) > limits.MAX_VALUE_BYTES:
        raise TooLargeError(f"{what} is {len(data)} bytes; at most {limits.MAX_VALUE_BYTES}")
    return data


def inline(stored: str) -> bool:
    return stored.startswith(INLINE)


def as_field(stored: str | None) -> dict[str, Any]:
    """The event fields that hold a stored value."""
    if stored is None:
        return {}
    return {"v": parse(stored[1:])} if inline(stored) else {"r": stored}


def from_field(data: Mapping[str, Any]) -> str | None:
    """The stored value that an event's fields hold."""
    if "r" in data:
        return str(data["r"])
    return INLINE + text(data["v"]) if "v" in data else None


def second_field(stored: str, name: str) -> dict[str, Any]:
    """The event fields that hold a further value beside the one in `v`."""
    return {name: parse(stored[1:])} if inline(stored) else {name + "r": stored}


# Reference of an event -> the field that its value is put into.
REFERENCES = {"r": "v", "wr": "w", "mr": "m"}


class Parcels:
    """Values too big to stand in an event: named here, written before the event is.

    Named by their content, so writing one twice, or for an event that is then refused,
    leaves at worst some harmless garbage beside the run.
    """

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}

    def store(self, value: Any, what: str = "value") -> str:
        """The stored form of `value`."""
        data = check_size(encode(value), what)
        if len(data) <= limits.INLINE_VALUE_BYTES:
            return INLINE + data.decode()
        kind = ITEM if len(data) <= limits.ITEM_VALUE_BYTES else BLOB
        name = kind + ids.value_name(data)
        self.items[name] = data
        return name

    def field(self, value: Any, what: str = "value") -> dict[str, Any]:
        """The event fields that hold `value`."""
        return as_field(self.store(value, what))
