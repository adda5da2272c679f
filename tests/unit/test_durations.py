"""Durations on the wire."""

from typing import Any

import pytest

from assay_engine.core import durations
from assay_engine.core.errors import InvalidError


@pytest.mark.parametrize(
    ("given", "secs"),
    [
        (0, 0.0),
        (90, 90.0),
        (0.25, 0.25),
        ("90s", 90.0),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("250ms", 0.25),
        ("2d", 172_800.0),
        ("1w", 604_800.0),
        ("1.5h", 5400.0),
        ("1m0.1s200ms", 60.3),
    ],
)
def test_a_duration_is_seconds_or_text_with_units(given: Any, secs: float) -> None:
    assert durations.parse(given, "x") == secs


@pytest.mark.parametrize(
    "given",
    [
        *(-1, "-1s", "", "90", "s", "1 h", "1H", "1h ", "5x", True, None, [], {}, "1e3s", "٣s"),
        *(float("nan"), float("inf"), "9" * 99 + "w", 1e300),
    ],
)
def test_anything_else_is_refused_with_the_name_of_the_field(given: Any) -> None:
    with pytest.raises(InvalidError, match=r"^run_timeout: "):
        durations.parse(given, "run_timeout")


@pytest.mark.parametrize(("secs", "text"), [(60.0, "60 s"), (0.25, "0.25 s"), (2e6, "2000000 s")])
def test_a_duration_is_shown_in_seconds(secs: float, text: str) -> None:
    assert durations.shown(secs) == text
