"""A failure as it travels."""

from __future__ import annotations

from typing import Any

import pytest

from assay.failure import INTERNAL, Failure

FULL: dict[str, Any] = {
    "kind": "DECLINED",
    "message": "no",
    "retryable": False,
    "details": {"n": 1},
    "cause": {"kind": "BANK", "message": "away", "retryable": True},
}


def test_a_failure_comes_back_as_it_went() -> None:
    failure = Failure.read(FULL)

    assert failure == Failure(
        kind="DECLINED",
        message="no",
        retryable=False,
        details={"n": 1},
        cause=Failure(kind="BANK", message="away"),
    )
    assert failure.wire() == FULL


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("boom", Failure(message="boom")),
        (None, Failure(message="the text")),
        ({"message": "boom"}, Failure(message="boom")),
        ({"kind": "ODD", "message": None}, Failure(kind="ODD", message="the text")),
        (
            {"message": "boom", "cause": "why"},
            Failure(message="boom", cause=Failure(message="why")),
        ),
    ],
)
def test_what_is_missing_does_not_hide_the_rest(body: Any, expected: Failure) -> None:
    assert Failure.read(body, "the text") == expected


def test_a_failure_that_is_only_a_message_says_no_more() -> None:
    assert not Failure(message="boom").says_more
    assert Failure(message="boom").kind == INTERNAL
    for more in (
        {"kind": "A"},
        {"retryable": False},
        {"details": 0},
        {"cause": Failure(message="x")},
    ):
        assert Failure(message="boom", **more).says_more
