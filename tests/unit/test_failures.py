"""Structured failures, read from what a client sends."""

import pytest

from assay_engine.core import failures
from assay_engine.core.errors import InvalidError

DECLINED = {"kind": "DECLINED", "message": "no funds"}


def test_a_failure_keeps_what_is_known_and_nothing_else() -> None:
    raw = DECLINED | {"details": {"code": 51}, "cause": DECLINED | {"retryable": False}, "x": 1}
    assert failures.read(raw) == {
        "kind": "DECLINED",
        "message": "no funds",
        "retryable": True,
        "details": {"code": 51},
        "cause": {"kind": "DECLINED", "message": "no funds", "retryable": False},
    }
    assert failures.read(None) is None


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ("text", "failure must"),
        ({"message": "m"}, "failure.kind"),
        (DECLINED | {"kind": "declined"}, "failure.kind"),
        (DECLINED | {"kind": "A" * 65}, "failure.kind"),
        ({"kind": "A"}, "failure.message"),
        (DECLINED | {"retryable": "no"}, "failure.retryable"),
        (DECLINED | {"cause": {"kind": "A"}}, "failure.cause.message"),
    ],
)
def test_a_wrong_field_is_named(raw: object, field: str) -> None:
    with pytest.raises(InvalidError, match=field):
        failures.read(raw)


def test_causes_end_somewhere() -> None:
    raw = DECLINED
    for _ in range(failures.MAX_CAUSES):
        raw = DECLINED | {"cause": raw}
    assert failures.read(raw) is not None
    with pytest.raises(InvalidError, match="causes"):
        failures.read(DECLINED | {"cause": raw})
