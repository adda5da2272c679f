"""Fires around clock changes, in five zones, by hand and against a simulated year.

The simulation knows the changes of its year as literals and goes through it by quarters of an hour,
at which all of its schedules fire and all of the clocks change. It shares nothing with the code
under test: neither croniter, nor zoneinfo, nor the idea of a fold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest

from assay_engine.core import cron

QUARTER, HOUR, DAY = 900, 3600, 86_400


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


@dataclass(frozen=True)
class Year:
    """A year of a zone: from when on local time is how much ahead of UTC."""

    zone: str
    number: int
    offset: float
    changes: tuple[tuple[str, float], ...]

    def moments(self) -> Iterator[tuple[int, int]]:
        """Each quarter of an hour of the UTC year, and the local time it has."""
        offset = self.offset
        changes = {_at(moment): hours for moment, hours in self.changes}
        for moment in range(*self.ends(), QUARTER):
            offset = changes.get(moment, offset)
            yield moment, moment + int(offset * HOUR)

    def ends(self) -> tuple[int, int]:
        return _at(f"{self.number}-01-01T00:00:00Z"), _at(f"{self.number + 1}-01-01T00:00:00Z")


YEARS = (
    Year("Europe/Berlin", 2026, 1, (("2026-03-29T01:00Z", 2), ("2026-10-25T01:00Z", 1))),
    Year("America/New_York", 2026, -5, (("2026-03-08T07:00Z", -4), ("2026-11-01T06:00Z", -5))),
    Year("Australia/Lord_Howe", 2026, 11, (("2026-04-04T15:00Z", 10.5), ("2026-10-03T15:30Z", 11))),
    Year("America/Sao_Paulo", 2018, -2, (("2018-02-18T02:00Z", -3), ("2018-11-04T03:00Z", -2))),
    Year("Africa/Cairo", 2026, 2, (("2026-04-23T22:00Z", 3), ("2026-10-29T21:00Z", 2))),
)


def _simulated(year: Year, matches: Callable[[int], bool], *, both_passes: bool) -> list[float]:
    seen: set[int] = set()
    fires = []
    for moment, local in year.moments():
        if matches(local) and (both_passes or local not in seen):
            fires.append(float(moment))
        seen.add(local)
    return fires


def _fires(year: Year, expression: str) -> list[float]:
    start, end = year.ends()
    schedule, zone = cron.parse(expression), cron.zone(year.zone)
    return list(schedule.fires_between(start - 1, end - 1, zone, 10_000))


def _name(year: Year) -> str:
    return year.zone


@pytest.mark.parametrize("year", YEARS, ids=_name)
def test_a_year_of_an_hourly_schedule(year: Year) -> None:
    fires = _fires(year, "0 0 * * * *")
    assert fires == _simulated(year, lambda local: local % HOUR == 0, both_passes=True)


@pytest.mark.parametrize("year", YEARS, ids=_name)
def test_a_year_of_a_schedule_at_given_hours(year: Year) -> None:
    fires = _fires(year, "0 15,45 0-3,23 * * *")
    hours = (0, 1, 2, 3, 23)
    times = {hour * HOUR + quarter * QUARTER for hour in hours for quarter in (1, 3)}
    assert fires == _simulated(year, lambda local: local % DAY in times, both_passes=False)


@pytest.mark.parametrize("year", YEARS, ids=_name)
def test_a_year_of_a_daily_schedule(year: Year) -> None:
    fires = _fires(year, "0 30 2 * * *")
    time = 2 * HOUR + 2 * QUARTER
    assert fires == _simulated(year, lambda local: local % DAY == time, both_passes=False)


def _locally(expression: str, zone: str, after: str, count: int) -> list[str]:
    schedule, where = cron.parse(expression), cron.zone(zone)
    fires = schedule.fires_between(_at(after), float("inf"), where, count)
    return [f"{datetime.fromtimestamp(fire, where):%d %H:%M:%S %z}" for fire in fires]


def test_a_time_that_does_not_exist_is_skipped() -> None:
    assert _locally("0 30 2 * * *", "Europe/Berlin", "2026-03-28T00:00Z", 2) == [
        "28 02:30:00 +0100",
        "30 02:30:00 +0200",
    ]
    assert _locally("0 0 0 * * *", "Africa/Cairo", "2026-04-22T12:00Z", 2) == [
        "23 00:00:00 +0200",
        "25 00:00:00 +0300",
    ]


def test_seconds_go_on_across_a_skipped_hour_and_half_an_hour() -> None:
    assert _locally("*/30 * * * * *", "Europe/Berlin", "2026-03-29T00:59:00Z", 3) == [
        "29 01:59:30 +0100",
        "29 03:00:00 +0200",
        "29 03:00:30 +0200",
    ]
    assert _locally("59,0 59,29,30 1-2 * * *", "Australia/Lord_Howe", "2026-10-03T15:29Z", 3) == [
        "04 01:59:59 +1030",
        "04 02:30:00 +1100",
        "04 02:30:59 +1100",
    ]


def test_a_whole_day_that_does_not_exist_is_skipped() -> None:
    assert _locally("0 0 */12 * * *", "Pacific/Apia", "2011-12-29T11:00Z", 3) == [
        "29 12:00:00 -1000",
        "31 00:00:00 +1400",
        "31 12:00:00 +1400",
    ]
    assert _locally("* * * 30 12 * 2011", "Pacific/Apia", "2011-12-01T00:00Z", 1) == []


def test_a_repeated_hour_is_gone_through_twice_where_the_hour_is_open() -> None:
    assert _locally("0 */20 * * * *", "Europe/Berlin", "2026-10-25T00:20Z", 5) == [
        "25 02:40:00 +0200",
        "25 02:00:00 +0100",
        "25 02:20:00 +0100",
        "25 02:40:00 +0100",
        "25 03:00:00 +0100",
    ]


def test_any_other_schedule_fires_in_the_first_pass_only() -> None:
    for hours in ("2-3", "0-23", "*/1"):
        assert _locally(f"0 */20 {hours} * * *", "Europe/Berlin", "2026-10-25T00:20Z", 2) == [
            "25 02:40:00 +0200",
            "25 03:00:00 +0100",
        ]


@pytest.mark.parametrize(
    ("after", "open_hour", "named_hour"),
    [
        ("2026-10-25T00:59:58Z", "25 02:59:59 +0200", "25 02:59:59 +0200"),
        ("2026-10-25T00:59:59Z", "25 02:59:59 +0100", "26 02:59:59 +0100"),
        ("2026-10-25T01:00:00Z", "25 02:59:59 +0100", "26 02:59:59 +0100"),
        ("2026-10-25T01:59:58Z", "25 02:59:59 +0100", "26 02:59:59 +0100"),
        ("2026-10-25T01:59:59Z", "25 03:59:59 +0100", "26 02:59:59 +0100"),
    ],
)
def test_asked_within_a_repeated_hour_the_answer_is_never_in_the_past(
    after: str, open_hour: str, named_hour: str
) -> None:
    assert _locally("59 59 * * * *", "Europe/Berlin", after, 1) == [open_hour]
    assert _locally("59 59 2 * * *", "Europe/Berlin", after, 1) == [named_hour]


def test_the_second_pass_may_be_the_last_fire_of_all() -> None:
    assert _locally("0 30 * 29 10 * 2026", "Africa/Cairo", "2026-10-29T20:00Z", 3) == [
        "29 23:30:00 +0300",
        "29 23:30:00 +0200",
    ]
    assert _locally("0 30 23 29 10 * 2026", "Africa/Cairo", "2026-10-29T20:00Z", 3) == [
        "29 23:30:00 +0300"
    ]


def test_a_winter_time_that_counts_as_the_exception_is_no_exception_here() -> None:
    # In Irish law summer is standard time and winter is an hour less.
    assert _locally("0 30 1 * * *", "Europe/Dublin", "2026-10-24T12:00Z", 2) == [
        "25 01:30:00 +0100",
        "26 01:30:00 +0000",
    ]
