"""We read and fire each recorded expression as the original did, but for what is listed.

cron-differences.txt lists the exceptions and why; it is held exact, and each reason is checked.
Around clock changes the recordings hold two answers: `iterated`, with both passes of a repeated
hour, is the reference where the hour is `*`, and `one_by_one`, with the first alone, elsewhere.
"""

import json
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay_engine.core import cron
from assay_engine.core.errors import InvalidError
from tests.conformance.places import ABSENT, GOLDEN

LISTED = Path(__file__).with_name("cron-differences.txt")
RUN_TOGETHER = 'ISSUE: "fields run together without a space"'
IN_THE_PAST = 'ISSUE: "fires in the past during a repeated hour"'
BOTH_PASSES = 'ISSUE: "a schedule whose hour field is `*` fires in both passes"'

# Whether an expression is accepted, and its fires.
Answer = tuple[bool, list[str]]


class Case(NamedTuple):
    name: str
    theirs: Answer
    ours: Answer


@cache
def _recorded() -> Any:
    if not GOLDEN.exists():
        pytest.skip(ABSENT)
    return json.loads((GOLDEN / "cron.json").read_text("utf-8"))


def _ours(expression: str, zone: str, after: str, count: int) -> Answer:
    try:
        schedule = cron.parse(expression)
    except InvalidError:
        return False, []
    start = datetime.fromisoformat(after).timestamp()
    fires = schedule.fires_between(start, float("inf"), cron.zone(zone), count)
    return True, [f"{datetime.fromtimestamp(fire, UTC):%Y-%m-%dT%H:%M:%SZ}" for fire in fires]


def _utc() -> list[Case]:
    utc = _recorded()["utc"]
    return [
        Case(
            one["expr"],
            (one["accepted"], one.get("next", [])),
            _ours(one["expr"], "UTC", utc["after"], utc["fires"]),
        )
        for group in utc["groups"]
        for one in group["expressions"]
    ]


def _zones() -> list[Case]:
    zones = _recorded()["zones"]
    return [
        Case(
            f"{change['zone']} {change['after']} {one['expr']}",
            (True, _reference(one)),
            _ours(one["expr"], change["zone"], change["after"], zones["fires"]),
        )
        for change in zones["transitions"]
        for one in change["expressions"]
    ]


def _reference(one: dict[str, Any]) -> list[str]:
    # Where the iterator gives nothing else than single questions do, it is not recorded.
    iterated = one.get("iterated", one["one_by_one"])
    return [utc for utc, _ in (iterated if _is_open(one["expr"]) else one["one_by_one"])]


def _is_open(expression: str) -> bool:
    return expression == "@hourly" or expression.split()[2:3] == ["*"]


def _asked_inside() -> list[Case]:
    """The first answer alone, which is what the original acts on; `zones` has its iterator."""
    return [
        Case(
            f"{one['zone']} {one['after']} {one['expr']}",
            (True, [one["next"][0][0]]),
            _ours(one["expr"], one["zone"], one["after"], 1),
        )
        for one in _recorded()["asked_inside_a_repeated_hour"]
    ]


PARTS = {"utc": (_utc, 372), "zones": (_zones, 400), "asked": (_asked_inside, 60)}


def _listed(part: str) -> dict[str, str]:
    lines = LISTED.read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return {case: reason for in_part, case, reason in rows if in_part == part}


@pytest.mark.parametrize("part", PARTS)
def test_only_the_listed_expressions_differ_and_for_their_reason(part: str) -> None:
    read, count = PARTS[part]
    cases = read()
    assert len(cases) == count
    found = {case.name: _reason(case) for case in cases if case.theirs != case.ours}
    assert found == _listed(part)


def _reason(case: Case) -> str:
    accepted, recorded = case.theirs
    ours_accepted, fires = case.ours
    if accepted and not ours_accepted:
        return RUN_TOGETHER if _is_run_together(case.name) else "refused"
    after, hour = case.name.split()[1], case.name.split()[4]
    if any(later <= earlier for earlier, later in pairwise([after, *recorded])):
        return IN_THE_PAST
    if hour == "*" and fires < recorded:
        return BOTH_PASSES
    return f"none: {fires} instead of {recorded}"


def _is_run_together(expression: str) -> bool:
    """Whether an open field touches another one, or a number a name."""
    pairs = pairwise(expression)
    return any(
        (one in "*?" and (other in "*?" or other.isalnum()))
        or (one.isalnum() and other in "*?")
        or (one.isdigit() and other.isalpha())
        for one, other in pairs
    )


def test_where_the_original_steps_back_we_fire_at_the_same_times_in_order() -> None:
    """Its iterator gives both passes of one time before it goes on to the next."""
    both = [(case.theirs[1], case.ours[1]) for case in _zones() if case.theirs != case.ours]
    stepping_back = [(theirs, ours) for theirs, ours in both if len(theirs) == len(ours)]
    assert len(stepping_back) == 3
    assert [sorted(theirs) for theirs, _ in stepping_back] == [ours for _, ours in stepping_back]
