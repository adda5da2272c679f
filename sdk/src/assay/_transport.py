"""The only place that speaks HTTP. Whatever has the same two methods may stand in its place.

A transport moves one request and knows nothing of retries, codes or what a body means.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from assay import _json
from assay.errors import ApiError, ConnectionFailedError, api_error

_CONNECT_SECS = 5.0

# It logs every request at INFO, which would be a line for each step of a workflow.
if logging.getLogger("httpx").level == logging.NOTSET:
    logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call: the path is relative to the engine's address, the body is JSON."""

    method: str
    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_secs: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back, whatever its status."""

    status: int
    body: bytes = b""


class Transport(Protocol):
    """The seam of the management client."""

    def send(self, request: Request) -> Response:
        """Return the answer, or raise `ConnectionFailedError`."""

    def close(self) -> None:
        """Let go of the connections."""


class AsyncTransport(Protocol):
    """The seam of the worker."""

    async def send(self, request: Request) -> Response:
        """Return the answer, or raise `ConnectionFailedError`."""

    async def close(self) -> None:
        """Let go of the connections."""


class HttpTransport:
    """Blocking calls over a pool of kept connections."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._client = httpx.Client(base_url=url, headers=_headers(token))

    def send(self, request: Request) -> Response:
        try:
            answer = self._client.request(
                request.method,
                request.path,
                params=dict(request.query),
                headers=dict(request.headers),
                content=request.body,
                timeout=_timeout(request),
            )
        except (httpx.TransportError, ssl.SSLError) as error:
            raise _failed(self._client.base_url, error) from error
        return Response(status=answer.status_code, body=answer.content)

    def close(self) -> None:
        self._client.close()


class AsyncHttpTransport:
    """The same calls on an event loop."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._client = httpx.AsyncClient(base_url=url, headers=_headers(token))

    async def send(self, request: Request) -> Response:
        try:
            answer = await self._client.request(
                request.method,
                request.path,
                params=dict(request.query),
                headers=dict(request.headers),
                content=request.body,
                timeout=_timeout(request),
            )
        except (httpx.TransportError, ssl.SSLError) as error:
            raise _failed(self._client.base_url, error) from error
        return Response(status=answer.status_code, body=answer.content)

    async def close(self) -> None:
        await self._client.aclose()


def error_of(response: Response) -> ApiError:
    """Return the error that a response above 399 stands for."""
    try:
        body = _json.decode(response.body)
    except ValueError:
        body = None
    told = body if isinstance(body, dict) else {}
    text = str(told.get("error") or response.body[:200].decode(errors="replace") or "no text")
    code = str(told.get("code") or f"http_{response.status}")
    retryable = bool(told.get("retryable", response.status in (429, 502, 503, 504)))
    return api_error(response.status, text, code=code, retryable=retryable)


def _headers(token: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return headers


def _timeout(request: Request) -> httpx.Timeout:
    return httpx.Timeout(request.timeout_secs, connect=_CONNECT_SECS)


def _failed(url: httpx.URL, error: Exception) -> ConnectionFailedError:
    return ConnectionFailedError(f"{url}: {str(error) or type(error).__name__}")
