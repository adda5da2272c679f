"""The HTTP front over real sockets, with handlers of a few lines behind it."""

import http.client
import json
import socket
import threading
from contextlib import closing

import pytest

from assay_devserver.bodies import MAX_BODY_BYTES
from assay_devserver.gateway import Gateway
from assay_devserver.invocation import Function
from assay_devserver.options import ServeError

PATIENCE = 30


class Echo:
    """Answers with the event; `/wait` answers once released, `/boom` never."""

    def __init__(self):
        self.released = threading.Event()
        self.waiting = threading.Semaphore(0)

    def __call__(self, event, context):
        if event["rawPath"] == "/wait":
            self.waiting.release()
            self.released.wait(PATIENCE)
        if event["rawPath"] == "/boom":
            raise ValueError("broken\non purpose")
        if event["rawPath"] == "/status":
            return {"statusCode": int(event["rawQueryString"]), "body": "body"}
        echoed = {"event": event, "function": context.function_name}
        return {
            "statusCode": 200,
            "headers": {"Content-Type": "application/json"},
            "body": json.dumps(echoed),
        }


@pytest.fixture
def echo():
    return Echo()


@pytest.fixture
def gateway(echo):
    opened = Gateway("127.0.0.1", 0)
    opened.open({name: Function(name, echo) for name in ("api", "worker")})
    yield opened
    echo.released.set()
    opened.close(grace=PATIENCE)


@pytest.fixture
def client(gateway):
    with closing(connect(gateway)) as connection:
        yield connection


def connect(gateway):
    return http.client.HTTPConnection("127.0.0.1", gateway.server_port, timeout=PATIENCE)


def call(client, method, target, body=None, headers=None):
    client.request(method, target, body=body, headers=headers or {})
    response = client.getresponse()
    return response, response.read()


def echoed(client, method, target, **given):
    _, body = call(client, method, target, **given)
    return json.loads(body)["event"]


def raw(gateway, sent, *, done=False):
    """What comes back for these bytes until the server hangs up."""
    with socket.create_connection(("127.0.0.1", gateway.server_port), PATIENCE) as connection:
        connection.sendall(sent)
        if done:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        return received


@pytest.mark.parametrize(
    "method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]
)
def test_every_method_reaches_the_handler(client, method):
    assert echoed(client, method, "/x")["requestContext"]["http"]["method"] == method


def test_path_query_headers_and_body_arrive_as_an_http_api_hands_them_on(client):
    event = echoed(
        client,
        "POST",
        "/api/v1/workflows/a%2Fb%3Fc/signal?note=1%2B1&note=2",
        body="{}",
        headers={"X-Mixed-Case": "Kept", "Content-Type": "application/json"},
    )
    assert event["rawPath"] == "/api/v1/workflows/a/b"
    assert event["rawQueryString"] == "note=1%2B1&note=2"
    assert event["queryStringParameters"] == {"note": "1+1,2"}
    assert event["headers"]["x-mixed-case"] == "Kept"
    assert (event["body"], event["isBase64Encoded"]) == ("{}", False)


def test_a_workers_call_reaches_the_worker_function(client):
    _, body = call(client, "POST", "/api/v1/workers/exchange", body="{}")
    assert json.loads(body)["function"] == "assay-worker"


def test_a_connection_serves_many_calls(client):
    call(client, "GET", "/first")
    kept = client.sock
    call(client, "POST", "/second", body="x" * 100_000)
    assert echoed(client, "GET", "/third")["rawPath"] == "/third"
    assert client.sock is kept


def test_a_chunked_body_arrives_whole(client):
    parts = [b"a" * 10, b"b" * 70_000, b"c"]
    client.request(
        "POST",
        "/x",
        body=iter(parts),
        encode_chunked=True,
        headers={"Transfer-Encoding": "chunked", "Content-Type": "text/plain"},
    )
    event = json.loads(client.getresponse().read())["event"]
    assert event["body"] == b"".join(parts).decode()
    assert event["headers"]["content-length"] == "70011"
    assert "transfer-encoding" not in event["headers"]
    assert echoed(client, "GET", "/next")["rawPath"] == "/next"


def test_a_client_that_asks_before_sending_is_told_to_go_on(gateway):
    head = b"POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
    received = raw(gateway, head + b"Connection: close\r\n\r\n{}")
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_head_gets_the_headers_alone(client):
    response, body = call(client, "HEAD", "/x")
    assert (response.status, body) == (200, b"")
    assert int(response.headers["content-length"]) > 100
    assert echoed(client, "GET", "/next")["rawPath"] == "/next"


def test_no_content_has_no_body(client):
    response, body = call(client, "GET", "/status?204")
    assert (response.status, body, response.headers["content-length"]) == (204, b"", None)
    assert echoed(client, "GET", "/next")["rawPath"] == "/next"


def test_a_failing_handler_is_a_500_and_one_line_of_the_log(client, capfd):
    response, body = call(client, "GET", "/boom")
    assert response.status == 500
    assert json.loads(body) == {"error": "internal error", "code": "internal", "retryable": True}
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("assay serve: GET /boom failed: ValueError: broken on purpose (")
    assert echoed(client, "GET", "/next")["rawPath"] == "/next"


def test_a_path_that_is_not_utf8_is_a_bad_request(client):
    response, body = call(client, "GET", "/runs/%ff")
    assert response.status == 400
    assert json.loads(body) == {
        "error": "the path is not UTF-8",
        "code": "bad_request",
        "retryable": False,
    }


CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/banana\r\n\r\n", 400),
        (b"GET /\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        (CHUNKED + b"Content-Length: 1\r\n\r\n0\r\n\r\n", 400),
        (CHUNKED + b"\r\nzz\r\n", 400),
        (CHUNKED + b"\r\n2\r\nabc\r\n0\r\n\r\n", 400),
        (CHUNKED + b"\r\nfffffff\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 411),
    ],
)
def test_what_is_not_http_is_refused_in_json(gateway, sent, status):
    head, _, body = raw(gateway, sent, done=True).partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    assert json.loads(body).keys() == {"error", "code", "retryable"}


def test_a_body_over_ten_megabytes_is_refused_while_it_is_still_being_sent(client):
    response, body = call(client, "POST", "/x", body=b"x" * (MAX_BODY_BYTES + 1))
    assert (response.status, json.loads(body)["code"]) == (413, "too_large")


def test_a_body_of_ten_megabytes_is_taken(client):
    event = echoed(client, "POST", "/x", body=b"x" * 4_000_000, headers={"content-type": "text/a"})
    assert len(event["body"]) == 4_000_000


def test_hundreds_of_idle_calls_do_not_block_another(gateway, echo, client):
    idle = [connect(gateway) for _ in range(300)]
    for connection in idle:
        connection.request("GET", "/wait")
    for _ in idle:
        assert echo.waiting.acquire(timeout=PATIENCE)
    client.timeout = 5
    assert echoed(client, "GET", "/quick")["rawPath"] == "/quick"
    echo.released.set()
    for connection in idle:
        with closing(connection):
            assert connection.getresponse().status == 200


def test_closing_lets_a_call_under_way_finish(echo):
    gateway = Gateway("127.0.0.1", 0)
    gateway.open({"api": Function("api", echo)})
    with closing(connect(gateway)) as client:
        client.request("GET", "/wait")
        assert echo.waiting.acquire(timeout=PATIENCE)
        threading.Timer(0.1, echo.released.set).start()
        gateway.close(grace=PATIENCE)
        assert client.getresponse().status == 200


def test_closing_does_not_wait_for_ever(echo):
    gateway = Gateway("127.0.0.1", 0)
    gateway.open({"api": Function("api", echo)})
    with closing(connect(gateway)) as client:
        client.request("GET", "/wait")
        assert echo.waiting.acquire(timeout=PATIENCE)
        gateway.close(grace=0.05)
        assert not echo.released.is_set()
        echo.released.set()
        client.getresponse().read()


def test_calls_that_may_write_are_told_of(echo):
    told = []
    gateway = Gateway("127.0.0.1", 0)
    gateway.open({"api": Function("api", echo)}, written=lambda: told.append(True))
    with closing(connect(gateway)) as client:
        call(client, "GET", "/x")
        call(client, "POST", "/x")
        gateway.close(grace=PATIENCE)
    assert told == [True]


def test_a_taken_port_is_said_in_one_line(gateway):
    with pytest.raises(ServeError, match=r"^cannot listen on 127\.0\.0\.1:\d+: Address alr"):
        Gateway("127.0.0.1", gateway.server_port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_ours_is_said_in_one_line(host):
    with pytest.raises(ServeError, match=host):
        Gateway(host, 0)
