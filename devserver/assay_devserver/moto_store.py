"""The store of last resort: moto in this process, in memory, gone on exit.

Small tables only (docs: every query copies the table). One lock around it, because moto lets
two threads win the same conditional write.
"""

import logging
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class MotoStore:
    def __init__(self) -> None:
        # Half a second of imports that nobody pays who has the binary.
        from moto.moto_server.werkzeug_app import (  # noqa: PLC0415
            DomainDispatcherApplication,
            create_backend_app,
        )
        from werkzeug.serving import make_server  # noqa: PLC0415

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        dispatcher: Any = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, OneAtATime(dispatcher), threaded=True)
        self._serving = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.port}"

    def start(self) -> None:
        self._serving.start()

    def stop(self) -> None:
        if self._serving.is_alive():
            self._server.shutdown()
        self._server.server_close()


class OneAtATime:
    """A WSGI application that is never entered twice at once."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        with self._lock:
            return [b"".join(self._application(environ, start_response))]
