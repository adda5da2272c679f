"""Ids and names: which texts are allowed, and ids made from other ids."""

import hashlib
import re
import unicodedata

from . import limits
from .errors import InvalidError

_CONTINUED = re.compile(r"-continued-\d+(\.\d+)?$")


def check_name(text: str, what: str) -> str:
    """`text` if it can be an id or a name; a clear 400 otherwise."""
    if len(text.encode()) > limits.MAX_NAME_BYTES:
        raise InvalidError(f"{what} is longer than {limits.MAX_NAME_BYTES} bytes")
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise InvalidError(f"{what} contains a control character")
    return text


def check_request(text: object, what: str = "request_id") -> str:
    if not isinstance(text, str) or not 0 < len(text) <= limits.MAX_REQUEST_ID:
        raise InvalidError(f"{what} must be a text of 1 to {limits.MAX_REQUEST_ID} characters")
    return check_name(text, what)


NONCE_CHARS = 10


def run_id_text(run_id: str, created_at: float, nonce: str | None = None) -> str:
    suffix = "" if nonce is None else f"-{nonce}"
    return f"run-{run_id}-{int(created_at)}{suffix}"


def nonce_in(run_text: str, run_id: str) -> str | None:
    """The nonce in a `run_id_text` of this id; None: it is the first incarnation's."""
    return run_text.removeprefix(f"run-{run_id}-").partition("-")[2] or None


def continued_id(run_id: str, now: float, attempt: int) -> str:
    """The id of the run that continues `run_id`; later attempts are told apart by a suffix."""
    base = _CONTINUED.sub("", run_id)
    suffix = f".{attempt}" if attempt else ""
    return f"{base}-continued-{int(now)}{suffix}"


def activity_id(nonce: str, event_seq: int) -> int:
    """A JSON integer below 2^53, the same for everybody who computes it."""
    return (_number(f"{nonce}:{event_seq}") & ((1 << 53) - 1)) or 1


def child_nonce(parent_nonce: str, event_seq: int) -> str:
    """Whoever puts the child puts the same one."""
    return _text(f"{parent_nonce}>{event_seq}", 10)


def child_mark(nonce: str, child_id: str) -> str:
    """What the parent's head remembers of an open child: its nonce, and a hash of its id."""
    return nonce + _text(child_id, 8)


def same_child(mark: str, child_id: str) -> bool:
    return mark.endswith(_text(child_id, 8))


def value_name(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:32]


def short_hash(text: str) -> str:
    return _text(text, 12)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _text(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
