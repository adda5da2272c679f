"""JSON as the wire has it, in one place."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.errors import UsageError


def _other(value: Any) -> Any:
    """Return a value that says itself how it looks as JSON, as models of pydantic do."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"objects of type {type(value).__name__} are not supported")
    return dump(mode="json")


_encoder = msgspec.json.Encoder(enc_hook=_other)


def encode(value: object) -> bytes:
    """Return `value` as JSON; refuse what JSON cannot say."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise UsageError(f"not expressible as JSON: {error}") from error


def decode(data: bytes | str) -> Any:
    """Return the value that `data` spells."""
    return msgspec.json.decode(data)


def plain(value: object) -> Any:
    """Return `value` as it will look when it comes back from history.

    A tuple becomes a list, an integer key a text, and later changes to `value` do not show: a
    workflow must see the same thing live as in replay.
    """
    return decode(encode(value))
