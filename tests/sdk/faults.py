"""Transports that break, refuse or are busy, in front of the engine in memory."""

from __future__ import annotations

import json
from collections.abc import Callable

from assay._transport import Request, Response
from assay.errors import ConnectionFailedError

from .fake_engine import FakeEngine
from .fake_runs import Json


class FlakyTransport:
    """Breaks the connection where `breaks` says so: before the engine hears, or after."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.breaks: Callable[[Json], str | None] = lambda asked: None

    async def send(self, request: Request) -> Response:
        how = self.breaks(json.loads(request.body or b"{}"))
        if how == "before":
            raise ConnectionFailedError("broken before the request was out")
        response = await self._engine.send(request)
        if how == "after":
            raise ConnectionFailedError("broken before the answer was in")
        return response

    async def close(self) -> None:
        await self._engine.close()


class Busy:
    """Answers 503 a few times before the engine is reached."""

    def __init__(self, engine: FakeEngine, times: int) -> None:
        self._engine = engine
        self._left = times

    async def send(self, request: Request) -> Response:
        if self._left:
            self._left -= 1
            return Response(status=503, body=b'{"error": "busy", "code": "busy"}')
        return await self._engine.send(request)

    async def close(self) -> None:
        return None


class Refusing:
    """An engine in front of which a gateway refuses requests above some size."""

    def __init__(self, engine: FakeEngine, limit: int) -> None:
        self._engine = engine
        self._limit = limit

    async def send(self, request: Request) -> Response:
        if len(request.body or b"") > self._limit:
            return Response(status=413, body=b'{"error": "too large", "code": "too_large"}')
        return await self._engine.send(request)

    async def close(self) -> None:
        return None
