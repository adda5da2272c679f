"""Durations as people write them: seconds, a `timedelta`, or text like "5m" and "1h30m"."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from assay.errors import UsageError

Duration = float | timedelta | str

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")


def seconds(duration: Duration) -> float:
    """Return a duration in seconds; refuse what is none::

    seconds("1h30m") == 5400
    """
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if isinstance(duration, str):
        return _spelled(duration.strip())
    if isinstance(duration, bool) or not isinstance(duration, (int, float)):
        raise UsageError(f"{duration!r} is no duration: use seconds, a timedelta or text like '5m'")
    if not math.isfinite(duration):
        raise UsageError(f"{duration} s is no duration")
    return float(duration)


def _spelled(text: str) -> float:
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f"{text!r} is no duration: use text like '90s', '5m' or '1h30m'")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
