"""Durations as the wire writes them: a number of seconds, or text such as `1h30m`."""

import math
import re
from typing import Any

from . import limits
from .errors import InvalidError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_PART = r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|w)"
_WHOLE = re.compile(f"(?:{_PART})+")
_EACH = re.compile(_PART)


def parse(value: Any, what: str) -> float:
    """Seconds; a clear 400 naming the field otherwise."""
    secs = _seconds(value)
    if secs is None or not math.isfinite(secs) or secs < 0:
        text = "is no duration: a number of seconds, or text like 250ms, 90s, 5m, 1h30m, 2d"
        raise InvalidError(f"{what}: {str(value)[:40]!r} {text}")
    if secs > limits.MAX_TIMER_SECS:
        raise InvalidError(f"{what}: {str(value)[:40]!r} is longer than a hundred years")
    return secs


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str) or len(value) > 100 or _WHOLE.fullmatch(value) is None:
        return None
    # Rounded: a sum of tenths is to be the number that a person meant.
    return round(sum(float(count) * _UNITS[unit] for count, unit in _EACH.findall(value)), 6)


def shown(secs: float) -> str:
    return f"{round(secs, 3):g} s" if secs < 1e6 else f"{secs:.0f} s"
