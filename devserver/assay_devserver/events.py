"""HTTP requests as the events of an API Gateway HTTP API (payload format 2.0).

Faithful where it shows: the path arrives percent-decoded and cut at a decoded `?`, headers
lower-cased and joined, bodies as text or base64. Knows no sockets and no handlers.
"""

import base64
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

ACCOUNT, API_ID, STAGE = "000000000000", "local", "$default"
# What concerns one connection is not the handler's business.
HOP_BY_HOP = frozenset(
    {"connection", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
TEXT_TYPES = ("application/json", "application/javascript", "application/xml")


class BadTargetError(ValueError):
    """The request's target is not a path that an event can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    target: str
    """Path and query as they were sent, one character for each byte."""
    headers: Sequence[tuple[str, str]]
    body: bytes
    source_ip: str
    protocol: str
    arrived: float


def path_of(target: str) -> str:
    """The path as an HTTP API hands it on; `%2F` cannot be told from `/` afterwards."""
    if not target.startswith("/"):
        # A proxy's form of the request line names the host as well.
        target = urlsplit(target).path if "://" in target else target
        if not target.startswith("/"):
            raise BadTargetError("the request's target is not a path")
    try:
        decoded = unquote_to_bytes(target.partition("?")[0].encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise BadTargetError("the path is not UTF-8") from None
    return decoded.partition("?")[0]


def to_event(request: Request, *, path: str, route_key: str) -> dict[str, Any]:
    headers, cookies = _headers(request)
    query = request.target.partition("?")[2]
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": _context(request, headers, path=path, route_key=route_key),
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if query:
        event["queryStringParameters"] = _joined(parse_qsl(query, keep_blank_values=True))
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(request.body, headers)
    return event


def _context(
    request: Request, headers: dict[str, str], *, path: str, route_key: str
) -> dict[str, Any]:
    host = headers.get("host", "localhost")
    return {
        "accountId": ACCOUNT,
        "apiId": API_ID,
        "domainName": host,
        "domainPrefix": host.partition(".")[0],
        "http": {
            "method": request.method,
            "path": path,
            "protocol": request.protocol,
            "sourceIp": request.source_ip,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": str(uuid.uuid4()),
        "routeKey": route_key,
        "stage": STAGE,
        "time": datetime.fromtimestamp(request.arrived, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(request.arrived * 1000),
    }


def _headers(request: Request) -> tuple[dict[str, str], list[str]]:
    kept: list[tuple[str, str]] = []
    cookies: list[str] = []
    for name, value in request.headers:
        lowered = name.lower()
        if lowered == "cookie":
            cookies += [part.strip() for part in value.split(";") if part.strip()]
        elif lowered not in HOP_BY_HOP:
            kept.append((lowered, value.strip()))
    headers = _joined(kept)
    headers["content-length"] = str(len(request.body))
    headers.setdefault("x-forwarded-for", request.source_ip)
    headers.setdefault("x-forwarded-proto", "http")
    return headers, cookies


def _joined(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: bytes, headers: dict[str, str]) -> tuple[str, bool]:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if (
        not kind
        or kind.startswith("text/")
        or kind in TEXT_TYPES
        or kind.endswith(("+json", "+xml"))
    ):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True
