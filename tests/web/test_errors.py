"""Every error is JSON with a text, a code and whether to repeat; nothing else gets out."""

import json
import logging
from typing import Any

import pytest
from assay_functions.api import handler as api

from assay_engine.app.engine import Engine
from assay_engine.core import errors
from assay_engine.web import errors as web_errors
from tests.web.calls import Calls


@pytest.mark.parametrize(
    ("error", "status", "code", "retryable"),
    [
        (errors.InvalidError("x"), 400, "bad_request", False),
        (errors.NotFoundError("x"), 404, "not_found", False),
        (web_errors.MethodError("x", allow="GET"), 405, "method_not_allowed", False),
        (errors.ConflictError("x"), 409, "conflict", False),
        (errors.ConflictError("x", code="already_exists"), 409, "already_exists", False),
        (errors.StaleError("x"), 409, "stale", False),
        (errors.AmbiguousError("x"), 409, "ambiguous_id", False),
        (errors.TooLargeError("x"), 413, "too_large", False),
        (web_errors.MediaTypeError("x"), 415, "unsupported_media_type", False),
        (errors.ShapeError("x"), 422, "wrong_shape", False),
        (errors.AssayError("x"), 500, "internal", False),
        (errors.BusyError("x"), 503, "busy", True),
    ],
)
def test_each_error_has_its_status(
    error: errors.AssayError, status: int, code: str, retryable: bool
) -> None:
    response = web_errors.answer(error)
    text = "not found: x" if status == 404 else "x"
    assert (response.status_code, json.loads(response.body or "")) == (
        status,
        {"error": text, "code": code, "retryable": retryable},
    )


def test_every_error_of_the_engine_has_a_status() -> None:
    def leaves(kind: type) -> list[type]:
        return [kind, *(leaf for below in kind.__subclasses__() for leaf in leaves(below))]

    for kind in leaves(errors.AssayError)[1:]:
        assert any(parent in web_errors.STATUSES for parent in kind.__mro__), kind


def test_a_not_found_text_begins_as_the_contract_says_once() -> None:
    response = web_errors.answer(errors.NotFoundError("not found: workflow a"))
    assert json.loads(response.body or "")["error"] == "not found: workflow a"


def test_a_busy_answer_says_when_to_come_back() -> None:
    assert web_errors.answer(errors.BusyError("x")).headers["Retry-After"] == "1"


def test_the_texts_of_the_original_are_kept(calls: Calls) -> None:
    gone = "not found: workflow nope not found or already terminal"
    texts = {
        "/workflows/nope/cancel": gone,
        "/workflows/nope/terminate": gone,
    }
    assert {path: calls.post(path, {}).body["error"] for path in texts} == texts
    assert calls.get("/workflows/nope").body["error"] == "not found: workflow nope"
    assert calls.get("/activities/7").body["error"] == "not found: activity 7 not found"


class BrokenStore:
    """Fails in a manner nobody foresaw, with something in the text that must not get out."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("secret-password in /etc/passwd")


class Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.getMessage()}: {record.exc_info}")


def test_an_unexpected_error_is_logged_and_not_told(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept()
    monkeypatch.setattr(api.app, "engine", BrokenEngine)
    web_errors.logger.addHandler(kept)
    try:
        answer = Calls().get("/workflows/a")
    finally:
        web_errors.logger.removeHandler(kept)
    assert (answer.status, answer.body) == (
        500,
        {"error": "internal error", "code": "internal", "retryable": True},
    )
    assert ["secret-password" in text for text in kept.texts] == [True]


class BrokenEngine:
    """Where an engine should be."""

    store = BrokenStore()


def test_a_stale_worker_changes_nothing(calls: Calls) -> None:
    calls.start("a")
    calls.claim()
    answer = calls.command("a", {"type": "CompleteWorkflow"}, worker_id="w-other")
    assert (answer.status, answer.body["code"]) == (409, "stale")
    assert calls.get("/workflows/a").body["status"] == "RUNNING"
    assert calls.command("a", {"type": "CompleteWorkflow"}).status == 200


def test_a_taken_id_is_a_conflict(calls: Calls) -> None:
    calls.start("a")
    answer = calls.start("a")
    assert (answer.status, answer.body["code"]) == (409, "already_exists")
