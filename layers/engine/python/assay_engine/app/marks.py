"""Marks: a chunk was put and the tail not yet cut. The worker brings the mark back with its
next fused step, which then cuts in the same write. Opaque and signed."""

import base64
import hashlib
import hmac

from .engine import Engine


def make(engine: Engine, nonce: str, base: int, length: int) -> str:
    text = f"{base}.{length}"
    return f"{text}.{_signature(engine, nonce, text)}"


def base_of(engine: Engine, mark: str | None, nonce: str, version: int) -> int | None:
    """Base of the marked chunk, if it is this run's and reaches to `version`."""
    if not mark:
        return None
    text, _, signature = mark.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(engine, nonce, text).encode()):
        return None
    base, _, length = text.partition(".")
    return int(base) if int(base) + int(length) == version else None


def _signature(engine: Engine, nonce: str, text: str) -> str:
    digest = hmac.new(engine.options.mark_key, f"{nonce}.{text}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest.digest()[:9]).decode()
