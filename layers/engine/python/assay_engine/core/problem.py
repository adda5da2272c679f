"""Why a run does not go on, as the worker that handed it back said it.

Kept in the head as one short text. While it stays, the run is looked at less and less often;
anything new in its history makes it due at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import ids, values
from .errors import InvalidError

FIRST_WAIT_SECS = 30.0
LONGEST_WAIT_SECS = 600.0
MAX_CODE = 64
# The head is to stay small.
MAX_TEXT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    code: str
    text: str
    since: float
    """When the run was first handed back with this code."""
    wait_secs: float
    until: float
    length: int
    """What the worker had seen of the history; more than that makes the run due at once."""


def read(raw: Any) -> tuple[str, str]:
    """Code and text as a worker sends them."""
    if not isinstance(raw, Mapping):
        raise InvalidError("problem must be an object")
    code, text = raw.get("code"), raw.get("text", "")
    if not isinstance(code, str) or not 0 < len(code) <= MAX_CODE:
        raise InvalidError(f"problem.code must be a text of 1 to {MAX_CODE} characters")
    if not isinstance(text, str):
        raise InvalidError("problem.text must be a text")
    return ids.check_name(code, "problem.code"), text[:MAX_TEXT]


def following(before: str | None, told: tuple[str, str], *, length: int, now: float) -> Problem:
    """The problem after a run was handed back once more."""
    code, text = told
    old = unpack(before)
    if old is None or old.code != code:
        since, wait = now, FIRST_WAIT_SECS
    else:
        since, wait = old.since, min(2 * old.wait_secs, LONGEST_WAIT_SECS)
    return Problem(
        code=code, text=text, since=since, wait_secs=wait, until=now + wait, length=length
    )


def pack(problem: Problem) -> str:
    kept = (problem.since, problem.wait_secs, problem.until, problem.length)
    return values.text([problem.code, problem.text, *kept])


def unpack(stored: str | None) -> Problem | None:
    if stored is None:
        return None
    code, text, since, wait, until, length = values.parse(stored)
    return Problem(code=code, text=text, since=since, wait_secs=wait, until=until, length=length)
