"""When a schedule fires: the next moment of a cron expression in a time zone.

croniter finds the next date and time that matches, on a calendar without zones. Added here: the
dialect (cron_fields.py), years up to 2100, dates that never come, and clock changes, of which
croniter moves a time that does not exist and repeats every time that occurs twice. A schedule
fires at a moment whose local time matches; where local time is repeated, in the first pass, and
in the second only if the hour is written `*`. A time that does not exist is thereby skipped.

A *wall* is local time as a number: the seconds of 1970-01-01T00:00:00 to it, were it UTC.
"""

import copy
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from . import cron_fields
from .cron_fields import LAST_YEAR, Fields
from .errors import InvalidError

if TYPE_CHECKING:
    from croniter import croniter  # type: ignore[import-untyped]

# Any day of the year falls on any weekday within 28 years, or 40 across 2100.
_MAX_YEARS_APART = 40
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  walls have no zone
# Outside of these nothing fires in any zone, and datetime ends somewhere.
_EARLIEST = -2.0 * 86_400
_LATEST = datetime(LAST_YEAR + 1, 1, 3, tzinfo=UTC).timestamp()

# Files that lie among the zones: the machine's own, a placeholder, copies that count leap seconds.
_NOT_ZONES = re.compile(r"localtime|posixrules|Factory|(posix|right)/.*")


def parse(expression: str) -> "Cron":
    """Read `second minute hour day-of-month month day-of-week [year]` or a shorthand."""
    return Cron(expression=expression, alternatives=(cron_fields.read(expression),))


def parse_classic(expression: str) -> "Cron":
    """Read what `parse` reads, and the five fields of crontab."""
    return Cron(expression=expression, alternatives=cron_fields.read_classic(expression))


@lru_cache(maxsize=256)
def zone(name: str) -> ZoneInfo:
    """The zone of an IANA name; only `UTC` may be written in any case."""
    if name.upper() == "UTC":
        return ZoneInfo("UTC")
    if not _NOT_ZONES.fullmatch(name):
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass  # no such file, no name of a file, a file of something else, or a folder
    raise InvalidError(f"invalid timezone: {name[:64]!r} is not an IANA name such as Europe/Berlin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """An expression that was read. It fires when one of `alternatives` does."""

    expression: str
    alternatives: tuple[Fields, ...]

    def next_after(self, moment: float, zone: ZoneInfo) -> float | None:
        """The first fire strictly later than `moment`; None if there is none before 2101."""
        if moment >= _LATEST:
            return None
        second = math.floor(max(moment, _EARLIEST))
        found = [_next_fire(fields, second, zone) for fields in self.alternatives]
        fires = [fire for fire in found if fire is not None]
        return float(min(fires)) if fires else None

    def fires_between(
        self, start: float, end: float, zone: ZoneInfo, limit: int
    ) -> Iterator[float]:
        """The first `limit` fires later than `start` and not later than `end`."""
        for _ in range(limit):
            fire = self.next_after(start, zone)
            if fire is None or fire > end:
                return
            yield fire
            start = fire


# ---------------------------------------------------------------------------- clock changes
def _next_fire(fields: Fields, second: int, zone: ZoneInfo) -> int | None:
    now = datetime.fromtimestamp(second, zone)
    wall = _wall(now)
    repeated = -_change(wall, zone)
    if not repeated:
        return _first_pass(fields, wall, zone)
    # Only from within a repeated time can a second pass come before the next first pass.
    end = _end_of_change(wall, zone)
    first = _first_pass(fields, end - 1 if now.fold else wall, zone)
    if not fields.hour.is_open:
        return first
    again = _next_wall(fields, wall if now.fold else end - repeated - 1)
    if again is None or again >= end:
        return first
    second_pass = again - _offset(again, zone, fold=1)
    return second_pass if first is None else min(first, second_pass)


def _first_pass(fields: Fields, wall: int, zone: ZoneInfo) -> int | None:
    """The fire of the first later wall that exists."""
    while (found := _next_wall(fields, wall)) is not None:
        if _change(found, zone) <= 0:
            return found - _offset(found, zone, fold=0)
        wall = _end_of_change(found, zone) - 1
    return None


def _change(wall: int, zone: ZoneInfo) -> int:
    """By how much the clock is put forward at this wall: above 0 it is skipped, below repeated."""
    return _offset(wall, zone, fold=1) - _offset(wall, zone, fold=0)


def _end_of_change(wall: int, zone: ZoneInfo) -> int:
    """The first wall after `wall`, which is skipped or repeated, that is not so too."""
    change = _change(wall, zone)
    inside, outside = wall, wall + abs(change)
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if _change(middle, zone) == change:
            inside = middle
        else:
            outside = middle
    return outside


def _offset(wall: int, zone: ZoneInfo, *, fold: int) -> int:
    local = (_EPOCH + timedelta(seconds=wall)).replace(tzinfo=zone, fold=fold)
    offset = local.utcoffset()
    assert offset is not None  # of a ZoneInfo with a date it never is
    return offset // timedelta(seconds=1)


def _wall(local: datetime) -> int:
    return (local.replace(tzinfo=None) - _EPOCH) // timedelta(seconds=1)


# ------------------------------------------------------------------------------- the search
def _next_wall(fields: Fields, wall: int) -> int | None:
    """The first wall later than `wall` that matches."""
    if not _can_come(fields):
        return None
    years = fields.year.allowed
    while True:
        earliest = _year(wall)
        year = next((year for year in years if year >= earliest), None)
        if year is None:
            return None
        if year > earliest:
            wall = _wall(datetime(year, 1, 1)) - 1  # noqa: DTZ001
        wall = _search(fields, wall)
        if _year(wall) in years:
            return wall


def _can_come(fields: Fields) -> bool:
    longest = max(_DAYS_OF_MONTH[month - 1] for month in fields.month.allowed)
    return fields.day.allowed[0] <= longest


def _year(wall: int) -> int:
    return (_EPOCH + timedelta(seconds=wall)).year


def _search(fields: Fields, wall: int) -> int:
    # croniter keeps its place in the object: a copy for each search, for threads share the cache.
    search = copy.copy(_compiled(fields))
    return int(search.get_next(float, start_time=float(wall)))


@lru_cache(maxsize=1_024)
def _compiled(fields: Fields) -> "croniter":
    from croniter import croniter  # noqa: PLC0415  20 ms of a cold start; few functions need it

    values = (
        fields.second,
        fields.minute,
        fields.hour,
        fields.day,
        fields.month,
        fields.weekday,
    )
    text = " ".join("*" if one.is_open else ",".join(map(str, one.allowed)) for one in values)
    return croniter(
        text,
        start_time=0.0,
        day_or=False,
        second_at_beginning=True,
        max_years_between_matches=_MAX_YEARS_APART,
    )
