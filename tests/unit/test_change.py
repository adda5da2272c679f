"""The language of writes: every action sees the record as it was."""

from dataclasses import dataclass, field
from typing import Any

from assay_engine.core import change as ch


@dataclass(frozen=True)
class Thing:
    count: int = 0
    seen: int | None = None
    names: tuple[str, ...] = ()
    inner: dict[str, Any] = field(default_factory=dict)
    members: frozenset[int] | None = None


def test_actions_do_not_see_each_other() -> None:
    after = ch.apply(Thing(count=5), (ch.Plus(("count",), 1), ch.Copy(("seen",), "count")))
    assert after == Thing(count=6, seen=5)


def test_copy_keeps_what_is_there_when_asked_to() -> None:
    kept = ch.apply(Thing(count=5, seen=1), (ch.Copy(("seen",), "count", keep=True),))
    assert kept.seen == 1


def test_two_changes_inside_one_map_are_both_made() -> None:
    thing = Thing(inner={"a": {"x": 1}, "b": 2})
    after = ch.apply(thing, (ch.Put(("inner", "a", "x"), 9), ch.Drop(("inner", "b"))))
    assert after.inner == {"a": {"x": 9}}
    assert thing.inner == {"a": {"x": 1}, "b": 2}


def test_a_set_that_becomes_empty_is_absent() -> None:
    thing = Thing(members=frozenset({1}))
    assert ch.apply(thing, (ch.Exclude(("members",), frozenset({1, 2})),)).members is None
    assert ch.apply(Thing(), (ch.Include(("members",), frozenset({3})),)).members == {3}


def test_lists_grow_at_the_end_and_are_cut_at_the_front() -> None:
    grown = ch.apply(Thing(names=("a",)), (ch.Extend(("names",), ("b", "c")),))
    assert grown.names == ("a", "b", "c")
    assert ch.apply(grown, (ch.DropFirst(("names",), 2),)).names == ("c",)


def test_nothing_compares_with_what_is_missing() -> None:
    for condition in (
        ch.Equals(("seen",), 1),
        ch.Below(("seen",), 1),
        ch.AtMost(("seen",), 1),
        ch.Exists(("seen",)),
        ch.Contains(("members",), 1),
        ch.Equals(("inner", "a", "b"), 1),
    ):
        assert not ch.holds(Thing(), condition)
        assert not ch.holds(None, condition)
    assert ch.holds(None, ch.Missing(("seen",)))


def test_conditions_combine() -> None:
    thing = Thing(count=5)
    low, high = ch.Below(("count",), 3), ch.AtMost(("count",), 5)
    assert ch.holds(thing, ch.AnyOf((low, high)))
    assert not ch.holds(thing, ch.AllOf((low, high)))
