"""Any schedule, asked at any moment in any of these zones, against going through the seconds."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay_engine.core import cron
from assay_engine.core.errors import InvalidError

HOUR, DAY = 3600, 86_400
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"),
    *("Africa/Cairo", "Asia/Kathmandu", "Pacific/Apia"),
)
# Around the changes of the zones above, and where month, year and leap day turn over.
TURNS = tuple(
    datetime.fromisoformat(text).timestamp()
    for text in (
        *("2026-03-29T01:00Z", "2026-10-25T01:00Z", "2026-03-08T07:00Z", "2026-11-01T06:00Z"),
        *("2026-04-04T15:00Z", "2026-10-03T15:30Z", "2018-02-18T02:00Z", "2018-11-04T03:00Z"),
        *("2026-04-23T22:00Z", "2026-10-29T21:00Z", "2011-12-30T10:00Z", "2026-12-31T23:59Z"),
        *("2028-02-29T00:00Z", "2027-02-28T23:00Z", "2099-12-31T23:00Z"),
    )
)


@dataclass(frozen=True)
class Field:
    """A field as it is written, and what its writer meant by it."""

    text: str
    allowed: frozenset[int]


@dataclass(frozen=True)
class Schedule:
    second: Field
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    year: Field

    def __str__(self) -> str:
        fields = (self.second, self.minute, self.hour, self.day, self.month, self.weekday)
        return " ".join(field.text for field in (*fields, self.year))

    def fires_at(self, moment: int, zone: ZoneInfo) -> bool:
        local = datetime.fromtimestamp(moment, zone)
        return (
            local.second in self.second.allowed
            and local.minute in self.minute.allowed
            and local.hour in self.hour.allowed
            and local.day in self.day.allowed
            and local.month in self.month.allowed
            and local.isoweekday() % 7 + 1 in self.weekday.allowed
            and local.year in self.year.allowed
            and (local.fold == 0 or self.hour.text == "*")
        )


def _open(low: int, high: int) -> Field:
    return Field("*", frozenset(range(low, high + 1)))


@st.composite
def _items(draw: st.DrawFn, low: int, high: int) -> Field:
    first, last = sorted(draw(st.tuples(*[st.integers(low, high)] * 2)))
    step = draw(st.integers(1, min(high, 20)))
    return draw(
        st.sampled_from(
            [
                Field(f"{first}", frozenset({first})),
                Field(f"{first}-{last}", frozenset(range(first, last + 1))),
                Field(f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))),
                Field(f"{first}/{step}", frozenset(range(first, high + 1, step))),
                Field(f"*/{step}", frozenset(range(low, high + 1, step))),
            ]
        )
    )


@st.composite
def _lists(draw: st.DrawFn, low: int, high: int) -> Field:
    items = draw(st.lists(_items(low, high), min_size=1, max_size=3))
    text = ",".join(item.text for item in items)
    return Field(text, frozenset().union(*(item.allowed for item in items)))


def _fields(low: int, high: int) -> st.SearchStrategy[Field]:
    return st.just(_open(low, high)) | _lists(low, high)


YEARS = st.just(_open(1970, 2100)) | _lists(2010, 2100).filter(lambda field: "/" not in field.text)
ANY_DAY = {
    "day": st.just(_open(1, 31)),
    "month": st.just(_open(1, 12)),
    "weekday": st.just(_open(1, 7)),
    "year": st.just(_open(1970, 2100)),
}
TIMES = {"second": _fields(0, 59), "minute": _fields(0, 59), "hour": _fields(0, 23)}
DAYS = {"day": _fields(1, 31), "month": _fields(1, 12), "weekday": _fields(1, 7), "year": YEARS}
BY_TIME = st.builds(Schedule, **TIMES, **ANY_DAY)
BY_DAY = st.builds(
    Schedule,
    second=st.just(Field("0", frozenset({0}))),
    minute=st.sampled_from([Field(f"{minute}", frozenset({minute})) for minute in (0, 30)]),
    hour=_fields(0, 23),
    **DAYS,
)
ANY = st.builds(Schedule, **TIMES, **DAYS)
EVERY_SECOND = Schedule(
    second=_open(0, 59),
    minute=_open(0, 59),
    hour=_open(0, 23),
    day=_open(1, 31),
    month=_open(1, 12),
    weekday=_open(1, 7),
    year=_open(1970, 2100),
)

AROUND_TURNS = st.builds(
    lambda turn, seconds: turn + seconds, st.sampled_from(TURNS), st.floats(-2 * HOUR, 2 * HOUR)
)
MOMENTS = AROUND_TURNS | st.floats(TURNS[0] - 20 * 365 * DAY, TURNS[-1])
ZONE = st.sampled_from(ZONES).map(cron.zone)


def _seconds_after(moment: float, length: int, *, apart: int = 1) -> Iterator[int]:
    first = (int(moment // apart) + 1) * apart
    return iter(range(first, int(moment // 1) + length, apart))


@settings(max_examples=150)
@given(BY_TIME, AROUND_TURNS, ZONE)
def test_no_second_is_skipped_and_none_is_added(
    schedule: Schedule, moment: float, zone: ZoneInfo
) -> None:
    seconds = list(_seconds_after(moment, 5 * HOUR // 2))
    expected = [float(second) for second in seconds if schedule.fires_at(second, zone)][:40]
    fires = cron.parse(str(schedule)).fires_between(moment, seconds[-1], zone, 40)
    assert list(fires) == expected


@settings(max_examples=60)
@given(BY_DAY, MOMENTS, ZONE)
def test_no_day_is_skipped_and_none_is_added(
    schedule: Schedule, moment: float, zone: ZoneInfo
) -> None:
    # All of these fire at a half hour, which in Kathmandu is a quarter past or to of UTC.
    quarters = list(_seconds_after(moment, 400 * DAY, apart=900))
    expected = next((float(one) for one in quarters if schedule.fires_at(one, zone)), None)
    found = cron.parse(str(schedule)).next_after(moment, zone)
    assert found == expected or (expected is None and (found is None or found > quarters[-1]))


@given(ANY, MOMENTS, ZONE)
@example(EVERY_SECOND, TURNS[1] + HOUR - 1, cron.zone("Europe/Berlin"))
def test_the_next_fire_is_strictly_later_and_matches(
    schedule: Schedule, moment: float, zone: ZoneInfo
) -> None:
    found = cron.parse(str(schedule)).next_after(moment, zone)
    assert found is None or (
        found > moment and found.is_integer() and schedule.fires_at(int(found), zone)
    )


@given(ANY, MOMENTS, st.floats(0, 3 * HOUR), ZONE)
def test_who_asks_later_gets_no_earlier_answer(
    schedule: Schedule, moment: float, later: float, zone: ZoneInfo
) -> None:
    parsed = cron.parse(str(schedule))
    first, second = parsed.next_after(moment, zone), parsed.next_after(moment + later, zone)
    if first is None:
        assert second is None
    elif moment + later < first:
        assert second == first
    else:
        assert second is None or second > first


@given(st.text(alphabet="0123456789*/,-? LWMONJA@\t", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (cron.parse, cron.parse_classic):
        try:
            schedule = parse(text)
        except InvalidError:
            continue
        found = schedule.next_after(TURNS[0], cron.zone("UTC"))
        assert found is None or found > TURNS[0]
