"""A server that answers as it is told, to show the store what networks do."""

import json
import socket
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
    headers: list[dict[str, str]] = field(default_factory=list)
    sockets: list[socket.socket] = field(default_factory=list)
    endpoint: str = ""
    lock: Lock = field(default_factory=Lock)

    @property
    def connections(self) -> int:
        return len(self.sockets)

    def hang_up(self) -> None:
        for connection in self.sockets:
            connection.shutdown(socket.SHUT_RDWR)

    def next(self, headers: dict[str, str], body: bytes) -> Reply:
        """The last reply is given again and again."""
        with self.lock:
            self.headers.append(headers)
            self.requests.append(json.loads(body))
            return self.replies[min(len(self.requests), len(self.replies)) - 1]


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        script: Script = self.server.script  # type: ignore[attr-defined]
        with script.lock:
            script.sockets.append(self.connection)
        while (headers := self._headers()) is not None:
            body = self.rfile.read(int(headers.get("content-length", 0)))
            reply = script.next(headers, body or b"{}")
            if reply is LOST:
                return
            self.wfile.write(reply.text())
            if reply.torn is not None:
                return

    def _headers(self) -> dict[str, str] | None:
        if not self.rfile.readline():
            return None
        headers = {}
        while (line := self.rfile.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return headers


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
