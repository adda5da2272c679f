"""The cron dialect: what is read, and what is said where it cannot be."""

from collections.abc import Callable

import pytest

from assay_engine.core import cron_fields
from assay_engine.core.cron_fields import Fields, Values
from assay_engine.core.errors import InvalidError


def _refusal(read: Callable[[str], object], expression: str) -> str:
    with pytest.raises(InvalidError) as refused:
        read(expression)
    return str(refused.value)


def test_six_fields_with_lists_ranges_steps_and_names() -> None:
    assert cron_fields.read("5,10/20 */30 9-17/4 ? JAN-mar,Dec TUES,6-7") == Fields(
        second=Values((5, 10, 30, 50)),
        minute=Values((0, 30)),
        hour=Values((9, 13, 17)),
        day=Values(tuple(range(1, 32)), is_open=True),
        month=Values((1, 2, 3, 12)),
        weekday=Values((2, 5, 6)),
        year=Values(tuple(range(1970, 2101)), is_open=True),
    )


def test_the_seventh_field_is_the_year() -> None:
    assert cron_fields.read("0 0 0 1 1 * 2096/2").year == Values((2096, 2098, 2100))


def test_blanks_around_commas_and_hyphens_and_after_slashes_separate_nothing() -> None:
    assert cron_fields.read("\t0 , 30  0 - 10/ 5 * * *\r\n*\n") == cron_fields.read(
        "0,30 0-10/5 * * * *"
    )


def test_only_a_field_written_open_is_open() -> None:
    hours = [cron_fields.read(f"0 0 {hour} * * *").hour for hour in ("*", "*/1", "0-23", "5,*")]
    assert {hour.allowed for hour in hours} == {tuple(range(24))}
    assert [hour.is_open for hour in hours] == [True, False, False, False]


@pytest.mark.parametrize(
    ("shorthand", "long"),
    [
        ("@yearly", "0 0 0 1 1 *"),
        ("@monthly", "0 0 0 1 * *"),
        (" @weekly", "0 0 0 * * SUN"),
        ("@daily ", "0 0 0 * * *"),
        ("@hourly", "0 0 * * * *"),
    ],
)
def test_a_shorthand_stands_for_its_fields(shorthand: str, long: str) -> None:
    assert cron_fields.read(shorthand) == cron_fields.read(long)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("60 * * * * *", "second: 60 is not within 0-59"),
        ("0 */60 * * * *", "minute: step 60 is not within 1-59"),
        ("0 5/0 * * * *", "minute: step 0 is not within 1-59"),
        ("0 0 22-2 * * *", "hour: '22-2' ends before it begins: write a list"),
        ("0 0 0 L * *", "day of month: 'L' is not a number"),
        ("0 0 0 15W * *", "day of month: cannot read '15W'"),
        ("0 0 0 1,,2 * *", "day of month: an empty place in a list"),
        ("0 0 0 1 SEPT *", "month: 'SEPT' is not a month"),
        ("0 0 0 1 JAN/3 *", "month: cannot read 'JAN/3': steps of names need a range"),
        ("0 0 0 1 ? *", "month: '?' is for day of month and day of week"),
        ("0 0 ?/2 1 * *", "hour: '?' is for day of month and day of week"),
        ("0 0 0 * * 0", "day of week: 0 is not within 1-7"),
        ("0 0 0 * * 1-FRI", "day of week: '1-FRI' mixes a name and a number"),
        ("*5 * * * * *", "second: cannot read '*5'"),
        ("0 0 0 1 1 * 2101", "year: 2101 is not within 1970-2100"),
        ("0 0 0 * * *\xa0", "day of week: cannot read '*\\xa0'"),
        ("@midnight", "not one of @yearly, @monthly, @weekly, @daily, @hourly"),
    ],
)
def test_a_refusal_names_the_field_and_the_reason(expression: str, reason: str) -> None:
    assert _refusal(cron_fields.read, expression) == (
        f"invalid cron expression {expression!r}: {reason}"
    )


NEEDS = "needs 6 or 7 fields, `second minute hour day-of-month month day-of-week [year]`, not"


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("*/5 * * * *", "; seconds come first: write '0 */5 * * * *'"),
        ("0 9 * * 1-5", "; seconds come first: write '0 0 9 * * MON,TUE,WED,THU,FRI'"),
        ("0 9 1 * 7", "; seconds come first, and day of month and day of week must both match"),
        ("0 9 31 31 *", "; seconds come first"),
    ],
)
def test_crontabs_five_fields_are_refused_with_what_to_write(expression: str, hint: str) -> None:
    assert _refusal(cron_fields.read, expression) == (
        f"invalid cron expression {expression!r}: {NEEDS} 5{hint}"
    )


@pytest.mark.parametrize(("expression", "count"), [("", 0), ("0*****", 1), ("* " * 8, 8)])
def test_any_other_number_of_fields_is_refused(expression: str, count: int) -> None:
    for read in (cron_fields.read, cron_fields.read_classic):
        assert _refusal(read, expression) == (
            f"invalid cron expression {expression!r}: {NEEDS} {count}"
        )


def test_an_expression_has_an_end() -> None:
    assert cron_fields.read("0 " + "0," * 492 + "0 * * * *").minute == Values((0,))
    assert _refusal(cron_fields.read, "0 " + "0," * 496 + "0 * * * *") == (
        "invalid cron expression: longer than 1000 characters"
    )


def test_crontabs_five_fields_count_sunday_as_0_or_7() -> None:
    (sundays,) = {
        cron_fields.read_classic(f"*/30 5 * * {day}") for day in ("0", "7", "sun", "SUNDAY")
    }
    assert sundays == (cron_fields.read("0 */30 5 * * SUN"),)
    (weekend,) = cron_fields.read_classic("0 0 * * 5-7")
    assert weekend.weekday == Values((0, 5, 6))


def test_either_day_suffices_in_crontabs_five_fields() -> None:
    assert cron_fields.read_classic("0 0 13 * FRI") == (
        cron_fields.read("0 0 0 13 * *"),
        cron_fields.read("0 0 0 * * FRI"),
    )


def test_the_classic_form_takes_the_others_as_they_are() -> None:
    for expression in ("0 0 0 13 * FRI", "0 0 0 1 1 * 2030", "@daily"):
        assert cron_fields.read_classic(expression) == (cron_fields.read(expression),)


def test_a_bad_classic_field_is_named_too() -> None:
    assert _refusal(cron_fields.read_classic, "0 24 * * *") == (
        "invalid cron expression '0 24 * * *': hour: 24 is not within 0-23"
    )
