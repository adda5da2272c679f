"""Reads the body of an HTTP/1.1 request, by length or in chunks, up to an HTTP API's 10 MB."""

from email.message import Message
from typing import BinaryIO

from .answers import Answer, refusal

MAX_BODY_BYTES = 10 * 1024 * 1024
_MAX_LINE = 1024


class RefusedBodyError(Exception):
    """The body cannot be read; `answer` says why, and the connection is of no more use."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def read(headers: Message, stream: BinaryIO) -> bytes:
    coding = headers.get("transfer-encoding", "").strip().lower()
    lengths = {value.strip() for value in headers.get_all("content-length", ())}
    if coding:
        if lengths:
            raise _bad("both transfer-encoding and content-length are given")
        if coding != "chunked":
            raise _refused(411, "length_required", f"transfer-encoding {coding} is not supported")
        return _chunks(stream)
    if not lengths:
        return b""
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdigit()):
        raise _bad("content-length is not a number")
    if len(length) > 12 or int(length) > MAX_BODY_BYTES:
        raise _too_large()
    return _exactly(stream, int(length))


def _chunks(stream: BinaryIO) -> bytes:
    body = bytearray()
    while size := _chunk_size(stream):
        if len(body) + size > MAX_BODY_BYTES:
            raise _too_large()
        body += _exactly(stream, size)
        if stream.read(2) != b"\r\n":
            raise _bad("a chunk does not end where it said")
    while _line(stream):
        pass  # trailers: an HTTP API drops them
    return bytes(body)


def _chunk_size(stream: BinaryIO) -> int:
    digits = _line(stream).partition(b";")[0].strip()
    if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
        raise _bad("a chunk's size is not a number")
    return int(digits, 16)


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline(_MAX_LINE)
    if not line.endswith(b"\n"):
        raise _bad("a chunk's line is cut short or too long")
    return line.rstrip(b"\r\n")


def _exactly(stream: BinaryIO, length: int) -> bytes:
    body = stream.read(length)
    if len(body) < length:
        raise _bad("the body is cut short")
    return body


def _bad(text: str) -> RefusedBodyError:
    return _refused(400, "bad_request", text)


def _too_large() -> RefusedBodyError:
    return _refused(413, "too_large", f"the body is over {MAX_BODY_BYTES} bytes")


def _refused(status: int, code: str, text: str) -> RefusedBodyError:
    return RefusedBodyError(refusal(status, code, text))
