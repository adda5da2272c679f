"""We answer as the original did, but for what is listed, and for all that is listed."""

from functools import cache

import pytest

from tests.conformance import differences
from tests.conformance.places import ABSENT, FILES, SHARED, VERSIONS
from tests.conformance.replays import Replays

ISSUES = {
    "Schedules",
    "Seeing what is there",
    "Who may do what",
    "Dashboard",
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_listed_answers_differ_from_the_recorded_ones(
    replays: Replays, version: str, file: str
) -> None:
    found = replays.differences(version, file)
    listed = differences.listed(version, file)
    unexpected = {name: text for name, text in found.items() if name not in listed}
    no_longer = listed - found.keys()
    assert (unexpected, no_longer) == ({}, set())


def test_each_listed_difference_is_wanted_by_a_sentence_that_exists() -> None:
    if not SHARED.exists():
        pytest.skip(ABSENT)
    unfounded = [one for one in differences.read() if not _founded(one.reason)]
    assert unfounded == []


def _founded(reason: str) -> bool:
    if due := differences.DUE.fullmatch(reason):
        return due[1] in ISSUES
    quoted = differences.QUOTED.fullmatch(reason)
    if quoted is None:
        return False
    return quoted[1] == "ISSUE" or quoted[2] in _text(quoted[1])


@cache
def _text(document: str) -> str:
    return " ".join((SHARED / f"{document}.md").read_text("utf-8").split())
