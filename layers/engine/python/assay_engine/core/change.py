"""One conditional write as data: what must hold, and what is done.

Both stores read these: DynamoStore turns them into expressions, `apply` is the specification.
As in DynamoDB, every action sees the record as it was before the write, and an attribute
that is missing satisfies no comparison. Structs, because they cost nothing at a cold start.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, assert_never

from msgspec import Struct

# ("length",) or ("eager", "5", "w"): a field, then keys of the maps inside it.
Path = tuple[str, ...]


class Exists(Struct, frozen=True):
    path: Path


class Missing(Struct, frozen=True):
    path: Path


class Equals(Struct, frozen=True):
    path: Path
    value: Any


class Below(Struct, frozen=True):
    path: Path
    value: float


class AtMost(Struct, frozen=True):
    path: Path
    value: float


class Contains(Struct, frozen=True):
    """A number stands in a number set."""

    path: Path
    value: int


class AnyOf(Struct, frozen=True):
    conditions: tuple["Condition", ...]


class AllOf(Struct, frozen=True):
    conditions: tuple["Condition", ...]


Comparison = Exists | Missing | Equals | Below | AtMost | Contains
Condition = Comparison | AnyOf | AllOf


class Put(Struct, frozen=True):
    path: Path
    value: Any


class PutIfMissing(Struct, frozen=True):
    path: Path
    value: Any


class Copy(Struct, frozen=True):
    """Set a field to what another one holds, unless `keep` and it is there already."""

    path: Path
    source: str
    keep: bool = False


class Plus(Struct, frozen=True):
    path: Path
    amount: float


class Extend(Struct, frozen=True):
    """Append to a list."""

    path: Path
    values: tuple[str, ...]


class Drop(Struct, frozen=True):
    path: Path


class DropFirst(Struct, frozen=True):
    """Remove the first `count` elements of a list."""

    path: Path
    count: int


class Include(Struct, frozen=True):
    """Add numbers to a set, which is absent when empty."""

    path: Path
    members: frozenset[int]


class Exclude(Struct, frozen=True):
    path: Path
    members: frozenset[int]


Combining = Plus | Extend | DropFirst | Include | Exclude
Action = Put | PutIfMissing | Copy | Drop | Combining


class Change(Struct, frozen=True, kw_only=True):
    when: tuple[Condition, ...]
    do: tuple[Action, ...]


R = TypeVar("R")


def holds(record: Any, condition: Condition) -> bool:
    """Whether `record` (None: there is no item) satisfies `condition`."""
    match condition:
        case AnyOf(conditions):
            return any(holds(record, c) for c in conditions)
        case AllOf(conditions):
            return all(holds(record, c) for c in conditions)
        case _:
            return _compares(look_up(record, condition.path), condition)


def _compares(found: Any, condition: Comparison) -> bool:
    match condition:
        case Missing():
            return found is None
        case Exists():
            return found is not None
        case Equals(_, value):
            return bool(found == value)
        case Below(_, value):
            return found is not None and found < value
        case AtMost(_, value):
            return found is not None and found <= value
        case Contains(_, value):
            return value in (found or ())
        case _:
            assert_never(condition)


def apply(record: R, actions: tuple[Action, ...]) -> R:
    """`record` after `actions`, each of which sees the record as it was."""
    new: dict[str, Any] = {}
    for action in actions:
        name, *inner = action.path
        if inner:
            whole = dict(new.get(name, getattr(record, name)) or {})
            _put_inside(whole, inner, _result(record, action))
            new[name] = whole
        else:
            new[name] = _result(record, action)
    return replace(record, **new)  # type: ignore[type-var]


def _result(record: Any, action: Action) -> Any:
    """What stands at the action's path afterwards; None is absence."""
    old = look_up(record, action.path)
    match action:
        case Put(_, value):
            return value
        case PutIfMissing(_, value):
            return value if old is None else old
        case Copy(_, source, keep):
            return old if keep and old is not None else look_up(record, (source,))
        case Drop():
            return None
        case _:
            return _combined(old, action)


def _combined(old: Any, action: Combining) -> Any:
    """What an action makes of the value that is there."""
    match action:
        case Plus(_, amount):
            return old + amount
        case Extend(_, values):
            return (*old, *values)
        case DropFirst(_, count):
            return old[count:]
        case Include(_, members):
            return frozenset(old or ()) | members
        case Exclude(_, members):
            return (frozenset(old or ()) - members) or None
        case _:
            assert_never(action)


def look_up(record: Any, path: Path) -> Any:
    """The value at `path`, or None."""
    if record is None:
        return None
    found = getattr(record, path[0])
    for key in path[1:]:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def _put_inside(whole: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        whole[key] = dict(whole[key])
        whole = whole[key]
    if value is None:
        whole.pop(keys[-1], None)
    else:
        whole[keys[-1]] = value
