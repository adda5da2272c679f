"""DynamoDB's calls over http.client, at a quarter of botocore's price.

botocore still finds the credentials, and its exceptions say what went wrong.
Chosen by `TableConfig.lean`. It does not read proxies from the environment, and moto's
`mock_aws` cannot catch it.
"""

import json
import select
import ssl
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from botocore.credentials import Credentials
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.httpsession import get_cert_path
from botocore.parsers import ResponseParserError
from botocore.session import get_session

from .signature import Keys, Signer
from .tables import TableConfig

_TARGET = "DynamoDB_20120810."


class LeanTransport:
    """Any number of threads; each call in flight has a connection of its own."""

    def __init__(self, config: TableConfig) -> None:
        self._config = config
        self._idle: list[HTTPConnection] = []
        self._creation = Lock()
        self.endpoint = config.endpoint or _endpoint_of(config.region)
        parts = urlsplit(self.endpoint)
        self._address = (parts.hostname or "localhost", parts.port)
        self._secure = parts.scheme == "https"
        self._signer = Signer(config.region, parts.netloc)

    def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps(arguments, separators=(",", ":")).encode()
        headers = self._signer.headers(_TARGET + operation, body, self._keys())
        connection = self._connection()
        try:
            status, answer = self._exchange(connection, headers, body)
        except TimeoutError as error:
            connection.close()
            raise ReadTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except (OSError, HTTPException) as error:
            connection.close()
            raise ConnectionClosedError(endpoint_url=self.endpoint, error=error) from error
        return _parsed(operation, status, answer)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _exchange(
        self, connection: HTTPConnection, headers: dict[str, str], body: bytes
    ) -> tuple[int, bytes]:
        connection.request("POST", "/", body, headers)
        response: HTTPResponse = connection.getresponse()
        # Raises where the body is shorter than announced.
        answer = response.read()
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, answer

    def _connection(self) -> HTTPConnection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if _is_alive(connection):
                return connection
            connection.close()
        return self._connect()

    def _connect(self) -> HTTPConnection:
        host, port = self._address
        timeout = self._config.connect_timeout
        if self._secure:
            connection: HTTPConnection = HTTPSConnection(
                host, port, timeout=timeout, context=self._tls
            )
        else:
            connection = HTTPConnection(host, port, timeout=timeout)
        try:
            connection.connect()
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self.endpoint, error=error) from error
        connection.sock.settimeout(self._config.read_timeout)
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=get_cert_path(True))

    def _keys(self) -> Keys:
        """As they are now: those of a role change from hour to hour."""
        frozen = self._credentials.get_frozen_credentials()
        return Keys(str(frozen.access_key), str(frozen.secret_key), frozen.token)

    @cached_property
    def _credentials(self) -> Credentials:
        if self._config.credentials is not None:
            return Credentials(*self._config.credentials)
        with self._creation:
            found = get_session().get_credentials()
        if found is None:
            raise NoCredentialsError
        return found


def _is_alive(connection: HTTPConnection) -> bool:
    """Whether the server has kept it: one that is readable with nothing asked has ended."""
    readable = select.poll()
    readable.register(connection.sock, select.POLLIN)
    return not readable.poll(0)


def _parsed(operation: str, status: int, answer: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(answer.decode())
    except ValueError as error:
        if status < 300:
            raise ResponseParserError(f"{operation}: no JSON") from error
        parsed = {}
    if status < 300:
        return dict(parsed)
    code = str(parsed.get("__type", status)).rpartition("#")[2]
    message = str(parsed.get("message") or parsed.get("Message") or "")
    response: Any = {
        **parsed,
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    raise ClientError(response, operation)


def _endpoint_of(region: str) -> str:
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://dynamodb.{region}.{suffix}"
