"""How a request's body becomes a struct: what is malformed (400), what has the wrong shape
(422), what is too large (413). Knows JSON and msgspec, not which calls there are.

The rules are those of the original's parser: fields may come as an array in their order, a
field given twice is a wrong shape, nesting ends at 127, and an integer beyond 64 bits is a
float. msgspec does the common case; what it sees otherwise goes the slow way round.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from assay_engine.core import limits
from assay_engine.core.errors import InvalidError, ShapeError, TooLargeError
from assay_engine.web.errors import MediaTypeError

T = TypeVar("T", bound=msgspec.Struct)

MAX_NESTING = 127
NO_FIELDS = frozenset({b"", b"null", b"[]", b"{}"})
_BLANKS = b" \t\r\n"
# A minus zero, and integers that may not fit 64 bits: msgspec reads them as Python integers.
_ODD_NUMBER = re.compile(rb"-0(?![0-9.eE])|[0-9]{19}")
_JSON_TYPE = re.compile(r"application/([^;\s]+\+)?json\s*(;.*)?", re.IGNORECASE | re.DOTALL)


def check_content_type(content_type: str | None) -> None:
    if content_type is None or _JSON_TYPE.fullmatch(content_type.strip()) is None:
        raise MediaTypeError("expected a request with `Content-Type: application/json`")


def check_size(body: bytes) -> None:
    if len(body) > limits.MAX_BODY_BYTES:
        raise TooLargeError(f"the body is larger than {limits.MAX_BODY_BYTES} bytes")


def decode(body: bytes, kind: type[T]) -> T:
    """`body` as a `kind`."""
    start = body.lstrip(_BLANKS)[:1]
    if start == b"[" or _ODD_NUMBER.search(body):
        return _by_hand(body, kind)
    result: T = _guarded(body, kind)
    _check_nesting(
        body, [getattr(result, name) for name in kind.__struct_fields__], MAX_NESTING - 1
    )
    _check_repeated(body, kind)
    return result


def decode_object(body: bytes) -> dict[str, Any]:
    """`body` as an object whose fields somebody else checks."""
    value = _plain(body)
    if not isinstance(value, dict):
        raise ShapeError("expected an object")
    return value


def _by_hand(body: bytes, kind: type[T]) -> T:
    value = _plain(body)
    if isinstance(value, list):
        value = _by_position(value, kind)
    else:
        _check_repeated(body, kind)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ShapeError(str(error)) from None


def _by_position(items: list[Any], kind: type[T]) -> dict[str, Any]:
    """The fields of an array, in their order. One too many is trailing text to the original."""
    fields = getattr(kind, "POSITIONS", kind.__struct_fields__)
    if len(items) > len(fields):
        raise InvalidError(f"trailing items after {len(fields)} fields", code="malformed_json")
    if len(items) < len(fields):
        raise ShapeError(f"{len(items)} items, expected the fields {', '.join(fields)}")
    return dict(zip(fields, items, strict=True))


def _plain(body: bytes) -> Any:
    value = _guarded(body, Any)
    _check_nesting(body, [value], MAX_NESTING)
    if _ODD_NUMBER.search(body):
        value = json.loads(body, parse_int=_integer)
    return value


def _guarded(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        # msgspec's only complaint about a number's size, whatever type was asked for.
        if "out of range" in str(error):
            raise InvalidError("a number is out of range", code="malformed_json") from None
        raise ShapeError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        raise InvalidError(f"malformed JSON: {reason}", code="malformed_json") from None
    except RecursionError:
        raise _too_deep() from None


def _check_nesting(body: bytes, items: Iterable[Any], allowed: int) -> None:
    if body.count(b"[") + body.count(b"{") <= MAX_NESTING:
        return
    level = _containers(items)
    for _ in range(allowed):
        if not level:
            return
        level = [inner for outer in level for inner in _containers(_items(outer))]
    if level:
        raise _too_deep()


def _containers(items: Iterable[Any]) -> list[Any]:
    return [item for item in items if isinstance(item, dict | list)]


def _items(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _too_deep() -> InvalidError:
    return InvalidError(f"nested deeper than {MAX_NESTING} levels", code="malformed_json")


def _check_repeated(body: bytes, kind: type[msgspec.Struct]) -> None:
    """Refuse a field given twice. Only a name that occurs twice anywhere is worth the look."""
    names = [name for name in kind.__struct_fields__ if body.count(f'"{name}"'.encode()) > 1]
    if not names:
        return
    top: list[tuple[str, Any]] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        top[:] = pairs  # objects end inside out: the last one is the outermost
        return dict(pairs)

    json.loads(body, object_pairs_hook=keep)
    keys = [key for key, _ in top]
    twice = [name for name in names if keys.count(name) > 1]
    if twice:
        raise ShapeError(f"duplicate field `{twice[0]}`")


def _integer(text: str) -> int | float:
    if text == "-0" or len(text) > 20 or not -(2**63) <= int(text) < 2**64:
        return _float(text)
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise InvalidError("a number is out of range", code="malformed_json")
    return number
