"""A server that answers as it is told, to show the store what networks do."""

import json
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any


@dataclass(frozen=True)
class Reply:
    """An answer; `torn`: the connection breaks after that many bytes of its body."""

    body: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    torn: int | None = None

    def text(self) -> bytes:
        body = json.dumps(self.body).encode()
        lines = [
            f"HTTP/1.1 {self.status} Whatever",
            "Content-Type: application/x-amz-json-1.0",
            f"Content-Length: {len(body)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body[: self.torn]


LOST = Reply(torn=-1, status=0)
"""The request arrives, its answer never does."""


def error(code: str, status: int = 400, **rest: Any) -> Reply:
    kind = f"com.amazonaws.dynamodb.v20120810#{code}"
    return Reply({"__type": kind, "message": code, **rest}, status)


@dataclass
class Script:
    replies: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    endpoint: str = ""
    lock: Lock = field(default_factory=Lock)

    def next(self, request: dict[str, Any]) -> Reply:
        """The last reply is given again and again."""
        with self.lock:
            self.requests.append(request)
            return self.replies[min(len(self.requests), len(self.replies)) - 1]


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        script: Script = self.server.script  # type: ignore[attr-defined]
        with script.lock:
            script.connections += 1
        while (request := self._request()) is not None:
            reply = script.next(request)
            if reply is LOST:
                return
            self.wfile.write(reply.text())
            if reply.torn is not None:
                return

    def _request(self) -> dict[str, Any] | None:
        length = 0
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self.rfile.read(length)
        return dict(json.loads(body)) if body else None


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def scripted(*replies: Reply) -> Iterator[Script]:
    script = Script(list(replies))
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.script = script  # type: ignore[attr-defined]
        script.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()
