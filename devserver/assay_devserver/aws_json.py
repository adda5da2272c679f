"""One signed call of DynamoDB or its streams, JSON in and JSON out.

Plain JSON because that is what Lambda hands to a stream's handler (binary values as base64), and
because building botocore's Python values for every image would cost ten times as much.
"""

import json
import socket
from typing import Any, cast
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session
from botocore.session import Session

TABLE_TARGET, STREAM_TARGET = "DynamoDB_20120810", "DynamoDBStreams_20120810"
CONNECT_SECS, READ_SECS = 3.0, 10.0


class CallRefusedError(Exception):
    """The service answered with an error; `code` is its short name."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class UnreachableError(Exception):
    """Nothing that speaks this protocol answers there."""


class AwsJson:
    """Calls one endpoint; credentials and region are those of the environment."""

    def __init__(self, endpoint: str) -> None:
        session = Session()
        self._endpoint = endpoint
        self._region = session.get_config_variable("region") or "us-east-1"
        self._http = URLLib3Session(
            timeout=cast(Any, (CONNECT_SECS, READ_SECS)),
            # Head and body travel apart: without this the kernel holds the body back for 40 ms.
            socket_options=cast(Any, [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]),
        )
        credentials = session.get_credentials()
        if credentials is None:
            raise UnreachableError("there are no AWS credentials")
        self._credentials = credentials

    def table(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call(self._endpoint, f"{TABLE_TARGET}.{operation}", body)

    def stream(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call(_streams(self._endpoint), f"{STREAM_TARGET}.{operation}", body)

    def _call(self, url: str, target: str, body: dict[str, Any]) -> dict[str, Any]:
        request = AWSRequest(
            method="POST",
            url=url,
            data=json.dumps(body).encode(),
            headers={"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"},
        )
        SigV4Auth(self._credentials, "dynamodb", self._region).add_auth(request)
        try:
            response = self._http.send(request.prepare())
        except BotoCoreError as error:
            raise UnreachableError(str(error)) from error
        return _answer(response.status_code, response.content)


def _answer(status: int, content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except ValueError:
        raise UnreachableError(f"the answer is not DynamoDB's (HTTP status {status})") from None
    if not isinstance(answer, dict) or (status != 200 and "__type" not in answer):
        raise UnreachableError(f"the answer is not DynamoDB's (HTTP status {status})")
    if status != 200:
        code = str(answer["__type"]).rpartition("#")[2]
        raise CallRefusedError(code, str(answer.get("message") or answer.get("Message") or ""))
    return answer


def _streams(endpoint: str) -> str:
    """In AWS the streams have a host of their own; elsewhere they share the table's."""
    host = urlsplit(endpoint).netloc
    if host.startswith("dynamodb.") and ".amazonaws.com" in host:
        return endpoint.replace(host, f"streams.{host}", 1)
    return endpoint
