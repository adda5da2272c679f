"""The next fire on an ordinary day, of rare dates, and of dates that never come."""

import math
import sys
from datetime import datetime
from types import FrameType

import pytest

from assay_engine.core import cron
from assay_engine.core.errors import InvalidError

UTC = cron.zone("UTC")
BERLIN = cron.zone("Europe/Berlin")


def _at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


NOON = _at("2026-07-01T12:00:00Z")


@pytest.mark.parametrize(
    ("expression", "fire"),
    [
        ("* * * * * *", "2026-07-01T12:00:01Z"),
        ("0 0 12 * * *", "2026-07-02T12:00:00Z"),
        ("30 15 10 ? * MON-FRI", "2026-07-02T10:15:30Z"),
        ("0 0 0 13 * FRI", "2026-11-13T00:00:00Z"),
        ("0 0 0 29 2 MON", "2044-02-29T00:00:00Z"),
        ("0 0 0 1 1 * 2100", "2100-01-01T00:00:00Z"),
        ("59 59 23 31 12 * 2026,2030", "2026-12-31T23:59:59Z"),
    ],
)
def test_the_next_fire_is_the_first_match_strictly_later(expression: str, fire: str) -> None:
    assert cron.parse(expression).next_after(NOON, UTC) == _at(fire)


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 0 30 2 *",
        "0 0 0 31 4,6,9,11 *",
        "0 0 0 * * * 2025",
        "0 0 0 29 2 * 2027/2",
        "0 0 0 29 2 SAT 2026-2031",
        "0 0 11 1 7 * 2026",
    ],
)
def test_a_date_that_never_comes_has_no_next_fire(expression: str) -> None:
    assert cron.parse(expression).next_after(NOON, UTC) is None


def test_a_local_time_that_is_always_skipped_never_comes() -> None:
    sunday_the_clock_is_put_forward = cron.parse("0 30 2 25-31 3 SUN")
    assert sunday_the_clock_is_put_forward.next_after(NOON, BERLIN) is None
    assert sunday_the_clock_is_put_forward.next_after(NOON, UTC) == _at("2027-03-28T02:30:00Z")


@pytest.mark.parametrize("weekday", range(1, 8))
def test_each_weekday_finds_its_29th_of_february_from_any_year(weekday: int) -> None:
    leap_days = [_at(f"{year}-02-29T00:00:00Z") for year in range(1972, 2100, 4)]
    # 1 January 1970, the epoch, was a Thursday: the fifth day from Sunday.
    fires = [day for day in leap_days if (day // 86_400 + 4) % 7 + 1 == weekday]
    schedule = cron.parse(f"0 0 0 29 2 {weekday}")
    for year in range(1970, 2101):
        asked = _at(f"{year}-01-01T00:00:00Z")
        expected = next((fire for fire in fires if fire > asked), None)
        assert schedule.next_after(asked, UTC) == expected


def test_parts_of_a_second_count() -> None:
    each_minute = cron.parse("0 * * * * *")
    assert each_minute.next_after(NOON - 0.001, UTC) == NOON
    assert each_minute.next_after(NOON + 0.001, UTC) == NOON + 60
    assert each_minute.next_after(-0.5, UTC) == 0.0


def test_time_begins_with_1970_and_ends_with_2100_of_the_zone() -> None:
    daily, east = cron.parse("@daily"), cron.zone("Pacific/Kiritimati")
    assert daily.next_after(-math.inf, UTC) == 0.0
    assert cron.parse("@daily").next_after(-1e300, cron.zone("Asia/Tokyo")) == -9 * 3600.0
    last = _at("2100-12-31T00:00:00Z")
    assert daily.next_after(last - 1, UTC) == last
    assert daily.next_after(last, UTC) is None
    assert daily.next_after(last - 14 * 3600, east) is None
    assert cron.parse("0 0 23 * * *").next_after(last + 86_400, cron.zone("Etc/GMT+12")) == (
        last + 35 * 3600
    )
    for late in (_at("2101-06-01T00:00:00Z"), 1e300, math.inf):
        assert daily.next_after(late, UTC) is None


def test_crontabs_five_fields_fire_on_either_day() -> None:
    schedule = cron.parse_classic("0 0 4 * MON")
    fires = schedule.fires_between(NOON, NOON + 14 * 86_400, UTC, 10)
    assert list(fires) == [
        _at("2026-07-04T00:00:00Z"),
        _at("2026-07-06T00:00:00Z"),
        _at("2026-07-13T00:00:00Z"),
    ]


def test_a_day_that_never_comes_does_not_hold_up_the_other() -> None:
    schedule = cron.parse_classic("0 0 30 2 MON")
    assert schedule.next_after(NOON, UTC) == _at("2027-02-01T00:00:00Z")
    assert cron.parse_classic("0 0 30 2 *").next_after(NOON, UTC) is None


def test_fires_between_leaves_out_the_start_and_takes_in_the_end() -> None:
    hourly = cron.parse("@hourly")
    fires = hourly.fires_between(NOON, NOON + 2 * 3600, UTC, 100)
    assert list(fires) == [NOON + 3600, NOON + 2 * 3600]
    assert list(hourly.fires_between(NOON, math.inf, UTC, 3)) == [
        NOON + 3600 * hours for hours in (1, 2, 3)
    ]
    assert list(hourly.fires_between(NOON, NOON, UTC, 3)) == []
    assert list(cron.parse("0 0 0 30 2 *").fires_between(NOON, math.inf, UTC, 3)) == []


def test_threads_that_share_an_expression_do_not_disturb_each_other() -> None:
    """croniter searches from a place that it keeps: between its calls, somebody else asks."""
    each_second = cron.parse("* * * * * *")

    def ask_too(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("croniter"):
            others.append(each_second.next_after(NOON + 86_400, UTC))

    others: list[float | None] = []
    sys.setprofile(ask_too)
    try:
        found = each_second.next_after(NOON, UTC)
    finally:
        sys.setprofile(None)
    assert found == NOON + 1
    assert set(others) == {NOON + 86_401}


def test_an_expression_is_kept_as_it_was_written() -> None:
    assert cron.parse(" @daily").expression == " @daily"
    assert cron.parse_classic("0 9 * * 1-5").expression == "0 9 * * 1-5"


def test_five_fields_are_for_the_classic_form_alone() -> None:
    with pytest.raises(InvalidError, match="write '0 0 9"):
        cron.parse("0 9 * * *")


@pytest.mark.parametrize("name", ["Europe/Berlin", "EST", "GMT", "Etc/UTC", "Etc/GMT+5"])
def test_a_zone_has_its_iana_name(name: str) -> None:
    assert cron.zone(name).key == name


def test_only_utc_may_be_written_in_any_case() -> None:
    assert [cron.zone(name).key for name in ("UTC", "utc", "Utc")] == ["UTC"] * 3


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "Mars/Base", "+02:00", "Europe", "Europe/", "Berlin", "UTC "),
        *("localtime", "posixrules", "Factory", "right/Europe/Berlin", "posix/Europe/Berlin"),
        *("../UTC", "/etc/localtime", "zone.tab", "leapseconds", "Europe/Berlin\0", "Å", "\ud800"),
    ],
)
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidError) as refused:
        cron.zone(name)
    assert str(refused.value) == (
        f"invalid timezone: {name!r} is not an IANA name such as Europe/Berlin"
    )
    assert refused.value.code == "bad_request"


def test_the_name_of_a_zone_has_an_end() -> None:
    with pytest.raises(InvalidError) as refused:
        cron.zone("x" * 100_000)
    assert len(str(refused.value)) < 200
