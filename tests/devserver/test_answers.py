import json

import pytest

from assay_devserver.answers import MalformedAnswerError, from_result


def test_a_handlers_answer_is_sent_as_it_says():
    answer = from_result(
        {
            "statusCode": 201,
            "headers": {"Content-Type": "application/json", "Content-Length": "99"},
            "multiValueHeaders": {"X-Tag": ["a", "b"]},
            "cookies": ["a=1", "b=2"],
            "body": '{"é": 1}',
            "isBase64Encoded": False,
        }
    )
    assert answer.status == 201
    assert answer.headers == (
        ("content-type", "application/json"),
        ("x-tag", "a"),
        ("x-tag", "b"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    )
    assert answer.body == '{"é": 1}'.encode()


def test_a_base64_body_is_decoded():
    answer = from_result({"statusCode": 200, "body": "/wA=", "isBase64Encoded": True})
    assert answer.body == b"\xff\x00"


def test_a_result_without_a_status_is_the_json_itself():
    answer = from_result({"hello": "world"})
    assert (answer.status, json.loads(answer.body)) == (200, {"hello": "world"})
    assert answer.headers == (("content-type", "application/json"),)


def test_a_body_without_a_type_is_called_text():
    answer = from_result({"statusCode": 200, "body": "ok"})
    assert answer.headers == (("content-type", "text/plain; charset=utf-8"),)


@pytest.mark.parametrize(
    "result",
    [
        {"statusCode": "200"},
        {"statusCode": 99},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "headers": {"x": "a\r\nset-cookie: b"}},
        {"statusCode": 200, "body": "\x00" * (2 * 1024 * 1024)},
    ],
    ids=["text status", "no status", "nested body", "split header", "over 6 MB escaped"],
)
def test_what_an_http_api_would_not_take_is_malformed(result):
    with pytest.raises(MalformedAnswerError):
        from_result(result)


def test_five_megabytes_of_plain_text_fit():
    assert len(from_result({"statusCode": 200, "body": "a" * 5_000_000}).body) == 5_000_000
