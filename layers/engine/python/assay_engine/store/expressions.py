"""Conditions and actions of `core.change` as PynamoDB's, which renders them.

Values are passed already encoded, so PynamoDB only places them.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, assert_never

from pynamodb.expressions.condition import Condition as Expression
from pynamodb.expressions.operand import Path as Operand
from pynamodb.expressions.operand import Value
from pynamodb.expressions.update import (
    Action as Step,
)
from pynamodb.expressions.update import (
    AddAction,
    DeleteAction,
    RemoveAction,
    SetAction,
)

from ..core import limits
from ..core.change import (
    Action,
    AllOf,
    AnyOf,
    AtMost,
    Below,
    Condition,
    Contains,
    Copy,
    Drop,
    DropFirst,
    Equals,
    Exclude,
    Exists,
    Extend,
    Include,
    Missing,
    Path,
    Plus,
    Put,
    PutIfMissing,
)
from ..core.errors import TooLargeError
from .mapping import encode
from .tables import PK

Names = Mapping[str, str]
"""Field -> attribute."""


_NO_ATTRIBUTE = "none"


class _Place(Operand):
    """A document path whose parts are taken as they are: PynamoDB's own would read the
    signal name `a[0]` as the first element of a list `a`."""

    def _serialize_value(
        self, value: list[str], placeholder_names: dict[str, str], _values: dict[str, str]
    ) -> str:
        return ".".join(
            placeholder_names.setdefault(part, f"#{len(placeholder_names)}") for part in value
        )


def is_there() -> Expression:
    return _Place([PK]).exists()


def is_not_there() -> Expression:
    return _Place([PK]).does_not_exist()


def all_of(expressions: Iterable[Expression]) -> Expression:
    return reduce(lambda left, right: left & right, expressions)


def condition(wanted: Condition, names: Names) -> Expression:
    match wanted:
        case AnyOf(conditions):
            return reduce(lambda left, right: left | right, _each(conditions, names))
        case AllOf(conditions):
            return all_of(_each(conditions, names))
        case Missing(path) | Equals(path, None):
            return _place(path, names).does_not_exist()
        case Exists(path):
            return _place(path, names).exists()
        case Contains(path, value):
            return _place(path, names).contains(encode(value))
        case _:
            return _comparison(wanted, names)


def _comparison(wanted: Equals | Below | AtMost, names: Names) -> Expression:
    place, value = _place(wanted.path, names), Value(encode(wanted.value))
    match wanted:
        case Equals():
            return place == value
        case Below():
            return place < value
        case AtMost():
            return place <= value
        case _:
            assert_never(wanted)


def _each(conditions: Iterable[Condition], names: Names) -> list[Expression]:
    return [condition(c, names) for c in conditions]


def steps(actions: Iterable[Action], names: Names) -> list[Step]:
    """What there is to do: actions without an effect are left out."""
    found = [step for action in actions for step in _steps(action, names)]
    # DynamoDB takes an update that does nothing; moto needs something to do.
    return found or [RemoveAction(Operand([_NO_ATTRIBUTE]))]


def _steps(action: Action, names: Names) -> list[Step]:
    place = _place(action.path, names)
    match action:
        case Put(_, value) if value is None or value == frozenset():
            return [RemoveAction(place)]
        case Put(_, value):
            return [SetAction(place, Value(encode(value)))]
        case Drop():
            return [RemoveAction(place)]
        case DropFirst(_, count):
            return _cut(place, count)
        case Include(_, members):
            return [AddAction(place, Value(encode(members)))] if members else []
        case Exclude(_, members):
            return [DeleteAction(place, Value(encode(members)))] if members else []
        case _:
            return [SetAction(place, _new_value(action, place, names))]


def _new_value(action: PutIfMissing | Copy | Plus | Extend, place: _Place, names: Names) -> Any:
    match action:
        case PutIfMissing(_, value):
            return place | Value(encode(value))
        case Copy(_, source, keep):
            other = _Place([names[source]])
            return place | other if keep else other
        case Plus(_, amount):
            return place + Value(encode(amount))
        case Extend(_, values):
            return place.append(Value(encode(values)))
        case _:
            assert_never(action)


def _cut(place: _Place, count: int) -> list[Step]:
    if count > limits.MAX_CUT:
        raise TooLargeError(f"{count} list elements cannot be cut at once")
    # Highest index first: dynoxide removes one after the other on the shifting list.
    return [RemoveAction(Operand(list(place.path))[i]) for i in reversed(range(count))]


def _place(path: Path, names: Names) -> _Place:
    return _Place([names[path[0]], *path[1:]])
