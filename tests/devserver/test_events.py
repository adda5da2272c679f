import base64

import pytest

from assay_devserver.events import BadTargetError, Request, path_of, to_event


def event(**changes):
    given = {
        "method": "POST",
        "target": "/api/v1/workflows",
        "headers": [],
        "body": b"",
        "source_ip": "127.0.0.1",
        "protocol": "HTTP/1.1",
        "arrived": 1795004461.5,
    }
    request = Request(**{**given, **changes})
    return to_event(request, path=path_of(request.target), route_key="$default")


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/api/v1/workflows/a%2Fb/signal/x", "/api/v1/workflows/a/b/signal/x"),
        ("/runs/caf%C3%A9", "/runs/café"),
        ("/runs/caf\xc3\xa9", "/runs/café"),
        ("/runs/why%3Fnow/state", "/runs/why"),
        ("/runs/a%23b", "/runs/a#b"),
        ("/runs/a+b%20c?x=%2F", "/runs/a+b c"),
        ("/runs/100%25", "/runs/100%"),
        ("/runs/%zz", "/runs/%zz"),
        ("http://localhost:8080/runs/a?b=c", "/runs/a"),
    ],
)
def test_a_path_is_decoded_and_cut_at_a_question_mark(target, path):
    assert path_of(target) == path


@pytest.mark.parametrize("target", ["/runs/%ff", "/runs/\xe9", "*", "runs/a", "http://localhost"])
def test_a_target_that_is_no_text_path_is_refused(target):
    with pytest.raises(BadTargetError):
        path_of(target)


def test_an_event_has_the_shape_of_payload_format_2():
    made = event(
        target="/api/v1/workflows/w%201?q=a%20b&tag=x&tag=y&empty",
        headers=[
            ("Host", "localhost:8080"),
            ("User-Agent", "lua/5.4"),
            ("X-Tag", "one"),
            ("X-TAG", " two "),
            ("Cookie", "a=1; b=2"),
            ("Connection", "keep-alive"),
            ("Content-Type", "application/json"),
        ],
        body=b'{"input": "\xc3\xa9"}',
    )
    request_id = made["requestContext"].pop("requestId")
    assert len(request_id) == 36
    assert made == {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/api/v1/workflows/w 1",
        "rawQueryString": "q=a%20b&tag=x&tag=y&empty",
        "cookies": ["a=1", "b=2"],
        "headers": {
            "host": "localhost:8080",
            "user-agent": "lua/5.4",
            "x-tag": "one,two",
            "content-type": "application/json",
            "content-length": "15",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-proto": "http",
        },
        "queryStringParameters": {"q": "a b", "tag": "x,y", "empty": ""},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": "localhost:8080",
            "domainPrefix": "localhost:8080",
            "http": {
                "method": "POST",
                "path": "/api/v1/workflows/w 1",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "lua/5.4",
            },
            "routeKey": "$default",
            "stage": "$default",
            "time": "18/Nov/2026:12:21:01 +0000",
            "timeEpoch": 1795004461500,
        },
        "body": '{"input": "é"}',
        "isBase64Encoded": False,
    }


def test_without_query_cookies_and_body_there_are_no_such_fields():
    assert event(method="GET").keys() & {"body", "cookies", "queryStringParameters"} == set()


@pytest.mark.parametrize(
    ("content_type", "body", "is_text"),
    [
        ("application/json; charset=utf-8", b"{}", True),
        ("application/problem+json", b"{}", True),
        ("text/plain", b"hello", True),
        (None, b"hello", True),
        ("application/json", b"\xff\xfe", False),
        (None, b"\xff", False),
        ("application/x-www-form-urlencoded", b"a=b", False),
        ("application/octet-stream", b"plain", False),
    ],
)
def test_a_body_arrives_as_text_or_base64(content_type, body, is_text):
    headers = [("Content-Type", content_type)] if content_type else []
    made = event(headers=headers, body=body)
    expected = body.decode() if is_text else base64.b64encode(body).decode()
    assert (made["body"], made["isBase64Encoded"]) == (expected, not is_text)
