"""What is written back: the handler's answer as an HTTP API reads it, or the gateway's own refusal.

A refusal has the body that every error of the engine has.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

# Lambda's limit for an answer, counted as it travels: JSON, the body escaped inside it.
MAX_RESULT_BYTES = 6 * 1024 * 1024
_SURELY_SMALL = MAX_RESULT_BYTES // 6  # no character grows more than sixfold


class MalformedAnswerError(ValueError):
    """The handler returned what an HTTP API would not understand."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def head(self, extra: Mapping[str, str]) -> bytes:
        """Status line and headers, ready to be sent."""
        try:
            reason = HTTPStatus(self.status).phrase
        except ValueError:
            reason = "Unknown"
        lines = [f"HTTP/1.1 {self.status} {reason}"]
        lines += [f"{name}: {value}" for name, value in (*self.headers, *extra.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def refusal(status: int, code: str, text: str, *, retryable: bool = False) -> Answer:
    body = json.dumps({"error": text, "code": code, "retryable": retryable}).encode()
    return Answer(status, (("content-type", "application/json"),), body)


def internal_error() -> Answer:
    return refusal(500, "internal", "internal error", retryable=True)


def from_result(result: Any) -> Answer:
    """The answer in `result`; a result without a status is itself the JSON to send."""
    if not isinstance(result, Mapping) or "statusCode" not in result:
        return Answer(200, (("content-type", "application/json"),), json.dumps(result).encode())
    status = result["statusCode"]
    if not isinstance(status, int) or not 200 <= status <= 599:
        raise MalformedAnswerError(f"statusCode is {status!r}")
    body = _body(result)
    headers = _headers(result)
    if body and all(name != "content-type" for name, _ in headers):
        headers.append(("content-type", "text/plain; charset=utf-8"))
    return Answer(status, tuple(headers), body)


def _body(result: Mapping[str, Any]) -> bytes:
    body = result.get("body") or ""
    if not isinstance(body, str):
        raise MalformedAnswerError(f"body is {type(body).__name__}, not text")
    if len(body) > _SURELY_SMALL and _travelling(body) > MAX_RESULT_BYTES:
        raise MalformedAnswerError("the answer is over Lambda's 6 MB")
    return base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()


def _travelling(body: str) -> int:
    return len(json.dumps(body, ensure_ascii=False).encode())


def _headers(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    given = [(name, str(value)) for name, value in (result.get("headers") or {}).items()]
    for name, values in (result.get("multiValueHeaders") or {}).items():
        given += [(name, str(value)) for value in values]
    given += [("set-cookie", cookie) for cookie in result.get("cookies") or ()]
    headers = [(name.lower(), value) for name, value in given]
    for name, value in headers:
        if "\r" in value or "\n" in value or not value.isascii():
            raise MalformedAnswerError(f"the header {name} cannot be sent")
    return [(name, value) for name, value in headers if name not in _OURS]


# Said by the connection itself.
_OURS = frozenset({"connection", "content-length", "date", "transfer-encoding"})
