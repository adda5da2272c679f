"""Records <-> raw DynamoDB items. Absent and None are the same, and so is an empty set.

By hand instead of through PynamoDB's models, because every call passes here: values are
encoded by their Python type and decoded by the field's annotation (a number alone does not
say whether it was 5 or 5.0).
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Generic, TypeVar, cast, get_args

from ..app.ports import Stored
from ..core.keys import Key
from . import tables

Raw = dict[str, Any]
"""An attribute value, such as {"N": "5"}."""
Item = dict[str, Raw]
R = TypeVar("R")


def number_text(value: float) -> str:
    """As DynamoDB itself writes it, so that 5.0 and 5 are one text."""
    text = repr(value)
    return text.removesuffix(".0")


def encode(value: Any) -> Raw:
    kind = type(value)
    if kind is str:
        return {"S": value}
    if kind is int or kind is float:
        return {"N": number_text(value)}
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value)
    for base, encoder in _ENCODERS.items():
        if isinstance(value, base):
            return encoder(value)
    raise TypeError(f"{kind.__name__} cannot be stored")


# bool before int, which it is a kind of; StrEnum and the like are found by isinstance.
_ENCODERS: dict[type[Any], Callable[[Any], Raw]] = {
    bool: lambda value: {"BOOL": value},
    str: lambda value: {"S": str(value)},
    int: lambda value: {"N": str(int(value))},
    float: lambda value: {"N": number_text(value)},
    tuple: lambda value: {"L": [encode(element) for element in value]},
    list: lambda value: {"L": [encode(element) for element in value]},
    frozenset: lambda value: {"NS": [number_text(member) for member in sorted(value)]},
    type(None): lambda _: {"NULL": True},
    Mapping: lambda value: {"M": {name: encode(inner) for name, inner in value.items()}},
}


def _text(raw: Raw) -> str:
    return cast(str, raw["S"])


def _whole(raw: Raw) -> int:
    return int(raw["N"])


def _moment(raw: Raw) -> float:
    return float(raw["N"])


def _texts(raw: Raw) -> tuple[str, ...]:
    return tuple([element["S"] for element in raw["L"]])


def _members(raw: Raw) -> frozenset[int]:
    return frozenset(map(int, raw["NS"]))


def _any(raw: Raw) -> Any:
    ((tag, value),) = raw.items()
    if tag in ("S", "BOOL"):
        return value
    return _BY_TAG[tag](value)


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


_BY_TAG: dict[str, Callable[[Any], Any]] = {
    "N": _number,
    "M": lambda value: {name: _any(inner) for name, inner in value.items()},
    "L": lambda value: tuple(_any(element) for element in value),
    "NS": lambda value: frozenset(map(_number, value)),
    "NULL": lambda _: None,
}


def _map_of(inner: Callable[[Raw], Any]) -> Callable[[Raw], Mapping[str, Any]]:
    return lambda raw: {name: inner(value) for name, value in raw["M"].items()}


Decoder = Callable[[Raw], Any]
# Annotation of a field -> the attribute's type in DynamoDB, and how it is read.
_TYPES: dict[Any, tuple[str, Decoder]] = {
    str: ("S", _text),
    int: ("N", _whole),
    float: ("N", _moment),
    tuple[str, ...]: ("L", _texts),
    frozenset[int]: ("NS", _members),
    Mapping[str, str]: ("M", _map_of(_text)),
    Mapping[str, int]: ("M", _map_of(_whole)),
    Mapping[str, float]: ("M", _map_of(_moment)),
    Mapping[str, Any]: ("M", _map_of(_any)),
    Mapping[str, Mapping[str, Any]]: ("M", _map_of(_any)),
}
_TYPES |= {annotation | None: entry for annotation, entry in _TYPES.items()}


class Codec(Generic[R]):
    """One record kind as items."""

    def __init__(self, kind: type[R]) -> None:
        self.kind = kind
        attributes = tables.attributes(cast(type[Stored], kind))
        self.names: dict[str, str] = {}
        """Field -> attribute."""
        self._decoders: dict[str, tuple[str, Decoder]] = {}
        self._absent: dict[str, None] = {}
        """What a missing attribute says, whatever the field's default."""
        for field in fields(kind):  # type: ignore[arg-type]
            if field.name == "key":
                continue
            attribute = attributes.get(field.name)
            tag, decoder = _TYPES.get(field.type, ("unknown", _any))
            if attribute is None or attribute.attr_type != tag:
                raise TypeError(
                    f"store.tables does not say how {kind.__name__}.{field.name} is kept"
                )
            self.names[field.name] = attribute.attr_name
            self._decoders[attribute.attr_name] = (field.name, decoder)
            if type(None) in get_args(field.type):
                self._absent[field.name] = None

    def item(self, record: R) -> Item:
        key: Key = record.key  # type: ignore[attr-defined]
        item: Item = {tables.PK: {"S": key.pk}, tables.SK: {"S": key.sk}}
        for field, name in self.names.items():
            value = getattr(record, field)
            if value is not None and value != frozenset():
                item[name] = encode(value)
        return item

    def record(self, item: Item) -> R:
        values: dict[str, Any] = dict(self._absent)
        decoders = self._decoders
        for name, raw in item.items():
            if name in decoders:
                field, decode = decoders[name]
                values[field] = decode(raw)
        return cast(Callable[..., R], self.kind)(key=key_of(item), **values)


def key_of(item: Item) -> Key:
    return Key(item[tables.PK]["S"], item[tables.SK]["S"])


def key_item(key: Key) -> Item:
    return {tables.PK: {"S": key.pk}, tables.SK: {"S": key.sk}}


_CODECS: dict[type[Any], Codec[Any]] = {kind: Codec(kind) for kind in tables.ROWS}


def codec(kind: type[R]) -> Codec[R]:
    return _CODECS[kind]
