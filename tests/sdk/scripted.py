"""A client whose engine says what the test has written down, blocking and on a loop alike."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from assay._transport import Request, Response
from assay.async_client import AsyncClient
from assay.client import Client

from .fake_clock import FakeClock

PREFIX = "/api/v1/engine/workflow"
RECORD: dict[str, Any] = {
    "id": "w-1",
    "namespace": "main",
    "run_id": "run-w-1-5",
    "workflow_type": "Order",
    "task_queue": "default",
    "status": "COMPLETED",
    "input": '{"n":1}',
    "result": '"done"',
    "error": None,
    "parent_id": None,
    "claimed_by": None,
    "search_attributes": '{"env":"prod"}',
    "archived_at": None,
    "archive_uri": None,
    "created_at": 1.0,
    "updated_at": 2.0,
    "completed_at": 3.0,
    "continued_to": None,
    "problem": None,
}
RUNNING = {**RECORD, "status": "RUNNING", "result": None, "completed_at": None}
STARTED = {"workflow_id": "w-1", "run_id": "run-w-1-5", "status": "PENDING"}
BUSY = (503, {"error": "busy", "code": "busy", "retryable": True})


class Script:
    """Answers with what it was given, one after the other; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.closed = False

    def send(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        raw = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        return Response(status=status, body=raw)

    def close(self) -> None:
        self.closed = True

    def asked(self) -> list[tuple[str, str, dict[str, Any], Any]]:
        """What was sent: method, path, query, body."""
        return [
            (
                request.method,
                request.path.removeprefix(PREFIX),
                dict(request.query),
                None if request.body is None else json.loads(request.body),
            )
            for request in self.requests
        ]


class AsyncScript:
    """The same script, awaited."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def send(self, request: Request) -> Response:
        await asyncio.sleep(0)
        return self._script.send(request)

    async def close(self) -> None:
        self._script.close()


class HastyClock(FakeClock):
    """Time passes as soon as somebody waits for it, also on a loop."""

    async def wait(self, event: asyncio.Event, secs: float) -> bool:
        self.pause(secs)
        return event.is_set()


Do = Callable[[Any], Any]
Play = Callable[..., Any]


def play_blocking(script: Script, do: Do, clock: FakeClock | None = None, **options: Any) -> Any:
    """Return what `do` makes of a client."""
    with Client("http://e", transport=script, clock=clock or HastyClock(), **options) as client:
        return do(client)


def play_awaiting(script: Script, do: Do, clock: FakeClock | None = None, **options: Any) -> Any:
    """Return what `do`, awaited, makes of an asynchronous client."""

    async def main() -> Any:
        there = AsyncScript(script)
        chosen = clock or HastyClock()
        async with AsyncClient("http://e", transport=there, clock=chosen, **options) as client:
            return await do(client)

    return asyncio.run(main())


BOTH = (play_blocking, play_awaiting)
