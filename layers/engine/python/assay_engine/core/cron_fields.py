"""The cron dialect: which values each field of an expression allows. Knows no clock and no zone.

`second minute hour day-of-month month day-of-week [year]`, Sunday = 1, as the original engine
reads it (tests/conformance/test_cron_golden.py), but for fields run together without a space:
`*5 * * * * *` would be seven fields, which nobody means. croniter reads another dialect, so it
never sees what a person wrote: it gets each field as a list of numbers (see cron.py).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .errors import InvalidError

# Longer than the longest sensible list, short enough to quote in an answer.
MAX_CHARS = 1_000
FIRST_YEAR, LAST_YEAR = 1970, 2100

SHORTHANDS = {
    "@yearly": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 1",
    "@daily": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
SHAPE = "`second minute hour day-of-month month day-of-week [year]`"

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")

# Unlike \s: no vertical tab and none of Unicode's blanks, as in the original.
_BLANKS = "[ \t\r\n]"
_AROUND_SIGN = re.compile(f"{_BLANKS}*([,-]){_BLANKS}*|(/){_BLANKS}+")
_BETWEEN_FIELDS = re.compile(f"{_BLANKS}+")
_ITEM = re.compile(
    r"(?:(?P<open>[*?])|(?P<first>[0-9]+|[A-Za-z]+)(?:-(?P<last>[0-9]+|[A-Za-z]+))?)"
    r"(?:/(?P<step>[0-9]+))?"
)


@dataclass(frozen=True, slots=True)
class Values:
    """What one field allows, ascending; `is_open` where it was written `*` or `?`."""

    allowed: tuple[int, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A moment matches if each of its parts is allowed. Weekdays count from Sunday = 0."""

    second: Values
    minute: Values
    hour: Values
    day: Values
    month: Values
    weekday: Values
    year: Values


@dataclass(frozen=True, slots=True)
class _Kind:
    """What may stand in a field."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] | None = None
    takes_question_mark: bool = False


def _numbered(words: Sequence[str], start: int) -> dict[str, int]:
    return {name: number for number, word in enumerate(words, start) for name in (word, word[:3])}


def _days_from(sunday: int) -> _Kind:
    names = _numbered(_DAYS, sunday) | {"tues": sunday + 2, "thurs": sunday + 4}
    # Counted from 0, Sunday is 7 as well; counted from 1, Saturday is 7.
    return _Kind("day of week", sunday, 7, names, takes_question_mark=True)


_SECOND = _Kind("second", 0, 59)
_MINUTE = _Kind("minute", 0, 59)
_HOUR = _Kind("hour", 0, 23)
_DAY = _Kind("day of month", 1, 31, takes_question_mark=True)
_MONTH = _Kind("month", 1, 12, _numbered(_MONTHS, 1))
_WEEKDAY = _days_from(1)
_CLASSIC_WEEKDAY = _days_from(0)
_YEAR = _Kind("year", FIRST_YEAR, LAST_YEAR)


def read(expression: str) -> Fields:
    """The fields of six or seven, or of a shorthand."""
    words = _words(expression)
    if len(words) not in {6, 7}:
        raise _bad(expression, f"needs 6 or 7 fields, {SHAPE}, not {len(words)}{_hint(words)}")
    return _fields(expression, words, _WEEKDAY)


def read_classic(expression: str) -> tuple[Fields, ...]:
    """Crontab's five fields too: without seconds, Sunday = 0 or 7, either day suffices.

    A moment matches if it matches one of the answers.
    """
    words = _words(expression)
    if len(words) != 5:
        return (read(expression),)
    fields = _fields(expression, ["0", *words], _CLASSIC_WEEKDAY)
    if fields.day.is_open or fields.weekday.is_open:
        return (fields,)
    every_day, every_weekday = _all(_DAY), Values(tuple(range(7)), is_open=True)
    return replace(fields, weekday=every_weekday), replace(fields, day=every_day)


def _words(expression: str) -> list[str]:
    if len(expression) > MAX_CHARS:
        raise InvalidError(f"invalid cron expression: longer than {MAX_CHARS} characters")
    text = expression.strip(" \t\r\n")
    if text.startswith("@"):
        if text not in SHORTHANDS:
            raise _bad(expression, f"not one of {', '.join(SHORTHANDS)}")
        text = SHORTHANDS[text]
    joined = _AROUND_SIGN.sub(lambda sign: sign[1] or sign[2], text)
    return [word for word in _BETWEEN_FIELDS.split(joined) if word]


def _hint(words: list[str]) -> str:
    """What to write instead of crontab's five fields, where one line says it."""
    if len(words) != 5:
        return ""
    try:
        fields = _fields("", ["0", *words], _CLASSIC_WEEKDAY)
    except InvalidError:
        return "; seconds come first"
    if not (fields.day.is_open or fields.weekday.is_open):
        return "; seconds come first, and day of month and day of week must both match"
    *others, weekday = words
    if not fields.weekday.is_open:
        # By name, because crontab counts the days from 0.
        weekday = ",".join(_DAYS[day][:3].upper() for day in fields.weekday.allowed)
    return f"; seconds come first: write '{' '.join(['0', *others, weekday])}'"


def _fields(expression: str, words: list[str], weekday: _Kind) -> Fields:
    kinds = [_SECOND, _MINUTE, _HOUR, _DAY, _MONTH, weekday, _YEAR]
    try:
        read_words = [_values(kind, word) for kind, word in zip(kinds, words, strict=False)]
    except _UnreadableError as reason:
        raise _bad(expression, str(reason)) from None
    second, minute, hour, day, month, days, *year = read_words
    from_sunday = {(number - weekday.low) % 7 for number in days.allowed}
    return Fields(
        second=second,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=replace(days, allowed=tuple(sorted(from_sunday))),
        year=year[0] if year else _all(_YEAR),
    )


def _all(kind: _Kind) -> Values:
    return Values(tuple(range(kind.low, kind.high + 1)), is_open=True)


def _values(kind: _Kind, word: str) -> Values:
    if word in {"*", "?"}:
        _check_question_mark(kind, word)
        return _all(kind)
    allowed = {number for item in word.split(",") for number in _numbers(kind, item)}
    return Values(tuple(sorted(allowed)))


def _numbers(kind: _Kind, item: str) -> range:
    found = _ITEM.fullmatch(item)
    if found is None:
        raise _UnreadableError(
            kind, f"cannot read {item!r}" if item else "an empty place in a list"
        )
    first, last, step = found["first"], found["last"], found["step"]
    if found["open"]:
        _check_question_mark(kind, item)
        low, high = kind.low, kind.high
    elif last is None:
        low = _number(kind, first)
        high = low if step is None else _end_of_steps(kind, item, first)
    else:
        low, high = _ends(kind, first, last)
    return range(low, high + 1, _step(kind, step))


def _check_question_mark(kind: _Kind, item: str) -> None:
    if "?" in item and not kind.takes_question_mark:
        raise _UnreadableError(kind, "'?' is for day of month and day of week")


def _end_of_steps(kind: _Kind, item: str, first: str) -> int:
    if first.isalpha():
        raise _UnreadableError(kind, f"cannot read '{item}': steps of names need a range")
    return kind.high


def _ends(kind: _Kind, first: str, last: str) -> tuple[int, int]:
    low, high = _number(kind, first), _number(kind, last)
    if first.isalpha() != last.isalpha():
        raise _UnreadableError(kind, f"'{first}-{last}' mixes a name and a number")
    if low > high:
        raise _UnreadableError(kind, f"'{first}-{last}' ends before it begins: write a list")
    return low, high


def _number(kind: _Kind, text: str) -> int:
    if not text.isalpha():
        return _within(kind, int(text), kind.low)
    if kind.names is None:
        raise _UnreadableError(kind, f"'{text}' is not a number")
    if text.lower() not in kind.names:
        raise _UnreadableError(kind, f"'{text}' is not a {kind.name}")
    return kind.names[text.lower()]


def _step(kind: _Kind, text: str | None) -> int:
    return 1 if text is None else _within(kind, int(text), 1, "step ")


def _within(kind: _Kind, number: int, low: int, what: str = "") -> int:
    if not low <= number <= kind.high:
        raise _UnreadableError(kind, f"{what}{number} is not within {low}-{kind.high}")
    return number


class _UnreadableError(Exception):
    def __init__(self, kind: _Kind, reason: str) -> None:
        super().__init__(f"{kind.name}: {reason}")


def _bad(expression: str, reason: str) -> InvalidError:
    return InvalidError(f"invalid cron expression {expression!r}: {reason}")
