"""The HTTP front: each request becomes an event, each result an answer, one thread a connection.

A thread a connection, because calls wait: hundreds of idle long polls must not keep another
call from being answered. What the calls mean is the functions' business.
"""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from . import answers, bodies, events
from .answers import Answer
from .invocation import Function, blame
from .options import ServeError, complain
from .routes import route

IDLE_CONNECTION_SECS = 300.0
_MAX_LINE = 65536
# What a refused client may still be sending is read up to here, so that it sees the answer
# instead of a reset connection.
_DRAIN_BYTES, _DRAIN_SECS = 64 * 1024 * 1024, 2.0
_BODILESS = frozenset({204, 304})


class Gateway(ThreadingHTTPServer):
    """Listens once `open` is called; the port is taken from the start."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(self, host: str, port: int) -> None:
        self._functions: Mapping[str, Function] = {}
        self._written: Callable[[], None] = lambda: None
        self._calls = 0
        self._quiet = threading.Condition()
        self._serving = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self.stopping = False
        self.address_family, address = _address(host, port)
        super().__init__(address, _Connection, bind_and_activate=False)
        try:
            self.server_bind()
        except (OSError, OverflowError) as error:
            self.server_close()
            raise _cannot_listen(host, port, error) from None

    def server_bind(self) -> None:
        # HTTPServer's own asks the DNS for this machine's name, which can take seconds.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        host = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        return f"http://{host}:{self.server_port}"

    def open(
        self, functions: Mapping[str, Function], *, written: Callable[[], None] = lambda: None
    ) -> None:
        """`written` is called after each call that may have changed the table."""
        self._functions, self._written = functions, written
        try:
            self.server_activate()
        except OSError as error:
            raise _cannot_listen(self.server_name, self.server_port, error) from None
        self._serving.start()

    def close(self, grace: float) -> None:
        """Accept nothing more, and give the calls under way `grace` seconds to end."""
        self.stopping = True
        if self._serving.is_alive():
            self.shutdown()
        self.server_close()
        with self._quiet:
            self._quiet.wait_for(lambda: self._calls == 0, timeout=grace)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A call from its start until its answer is sent; `close` waits for it."""
        with self._quiet:
            self._calls += 1
        try:
            yield
        finally:
            with self._quiet:
                self._calls -= 1
                self._quiet.notify_all()

    def answer(self, request: events.Request, caller_gone: Callable[[], bool]) -> Answer:
        try:
            path = events.path_of(request.target)
        except events.BadTargetError as error:
            return answers.refusal(400, "bad_request", str(error))
        chosen = route(request.method, path)
        event = events.to_event(request, path=path, route_key=chosen.key)
        try:
            return answers.from_result(self._functions[chosen.function](event, caller_gone))
        except Exception as error:  # noqa: BLE001 - one call's failure, whatever it is, is one 500
            if not self.stopping:
                complain(f"{request.method} {path} failed: {blame(error)}")
            return answers.internal_error()
        finally:
            if request.method != "GET":
                self._written()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection broke. The client knows, and nobody else needs to."""


class _Connection(BaseHTTPRequestHandler):
    """One client's connection: HTTP/1.1, kept open between calls."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_CONNECTION_SECS

    def handle_one_request(self) -> None:
        self.close_connection = True
        self.command, self.request_version, self.requestline = "", "HTTP/1.1", ""
        try:
            self.raw_requestline = self.rfile.readline(_MAX_LINE + 1)
            if not self.raw_requestline:
                return
            if len(self.raw_requestline) > _MAX_LINE:
                self._refuse(answers.refusal(414, "bad_request", "the request line is too long"))
            elif self.parse_request():
                self._serve()
        except (TimeoutError, ConnectionError):
            self.close_connection = True

    def _serve(self) -> None:
        if self.request_version == "HTTP/0.9":
            self._refuse(answers.refusal(400, "bad_request", "this is not HTTP/1.1"))
            return
        arrived = time.time()
        try:
            body = bodies.read(self.headers, cast(Any, self.rfile))
        except bodies.RefusedBodyError as refused:
            self._refuse(refused.answer)
            return
        request = events.Request(
            method=self.command,
            target=self.path,
            headers=self.headers.items(),
            body=body,
            source_ip=str(self.client_address[0]),
            protocol=self.request_version,
            arrived=arrived,
        )
        gateway = cast(Gateway, self.server)
        with gateway.under_way():
            self._write(gateway.answer(request, self._gone))

    def _gone(self) -> bool:
        """Whether the client has hung up, as a killed one does while it waits."""
        readable = select.poll()
        readable.register(self.connection, select.POLLIN)
        try:
            return bool(readable.poll(0)) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _write(self, answer: Answer) -> None:
        bodiless = answer.status in _BODILESS
        extra = {"date": formatdate(usegmt=True)}
        if not bodiless:
            extra["content-length"] = str(len(answer.body))
        if self.close_connection:
            extra["connection"] = "close"
        elif self.request_version == "HTTP/1.0":
            extra["connection"] = "keep-alive"
        silent = bodiless or self.command == "HEAD"
        self.wfile.write(answer.head(extra) + (b"" if silent else answer.body))

    def _refuse(self, answer: Answer) -> None:
        """Answer a request that was not read to its end, and hang up."""
        self.close_connection = True
        self._write(answer)
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(_DRAIN_SECS)
        left = _DRAIN_BYTES
        while left > 0 and (read := self.connection.recv(65536)):
            left -= len(read)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses: lines and headers that are not HTTP."""
        self.command = self.command or ""
        self._refuse(answers.refusal(code, "bad_request", message or "this is not HTTP/1.1"))

    def log_message(self, format: str, *args: Any) -> None:
        """No line per request."""


def _address(host: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, OverflowError):
        raise ServeError(f"the host {host} cannot be resolved") from None
    # "localhost" should mean the address that most clients try.
    family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, address


def _cannot_listen(host: str, port: int, error: Exception) -> ServeError:
    reason = getattr(error, "strerror", None) or str(error)
    return ServeError(f"cannot listen on {host}:{port}: {reason}")
