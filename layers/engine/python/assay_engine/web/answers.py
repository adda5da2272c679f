"""How an answer becomes a response, and whether it fits one: Lambda bounds an answer as it
is encoded there, which is this body escaped into JSON once more."""

import json
from typing import Any

import msgspec
from aws_lambda_powertools.event_handler import Response, content_types

from assay_engine.core import limits
from assay_engine.core.errors import TooLargeError

Answer = Response[str]

_encoder = msgspec.json.Encoder()
# A character takes at most six bytes when it is escaped.
_SURELY_FITS = limits.MAX_ANSWER_BYTES // 6
TOO_LARGE = "response_too_large"


def ok(value: Any, *, hint: str = "ask for less") -> Answer:
    """200 with a record or a list. `hint` says what to do should it not fit."""
    return _answer(200, value, hint)


def created(value: Any) -> Answer:
    return _answer(201, value, "ask for less")


def empty(status: int = 200) -> Answer:
    """A success without content: gateways may drop `content-length: 0`, so it is `{}`."""
    return Response(status, content_types.APPLICATION_JSON, "{}")


def fits(text: str) -> bool:
    return len(text) <= _SURELY_FITS or len(json.dumps(text)) <= limits.MAX_ANSWER_BYTES


def encode(value: Any) -> str:
    return _encoder.encode(value).decode()


def _answer(status: int, value: Any, hint: str) -> Answer:
    text = encode(value)
    if not fits(text):
        raise TooLargeError(
            f"the answer does not fit {limits.MAX_ANSWER_BYTES} bytes: {hint}", code=TOO_LARGE
        )
    return Response(status, content_types.APPLICATION_JSON, text)
