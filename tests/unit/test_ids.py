"""Ids and names."""

import pytest

from assay_engine.core import ids
from assay_engine.core.errors import InvalidError


def test_names_may_hold_anything_but_control_characters() -> None:
    for name in ("", "a/b", 'quo"te', "émoji 🎉", "x" * 512, "\u200b"):
        assert ids.check_name(name, "name") == name


@pytest.mark.parametrize("name", ["a\x00", "a\nb", "\x7f", "\x1f", "x" * 513, "é" * 257])
def test_control_characters_and_long_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidError):
        ids.check_name(name, "name")


def test_a_continued_id_does_not_pile_up_suffixes() -> None:
    first = ids.continued_id("order-1", 1000.7, 0)
    assert first == "order-1-continued-1000"
    assert ids.continued_id(first, 2000.1, 0) == "order-1-continued-2000"
    assert ids.continued_id(ids.continued_id(first, 2000.1, 1), 3000, 0) == "order-1-continued-3000"


def test_activity_numbers_are_json_integers_and_told_apart() -> None:
    numbers = {ids.activity_id("nonce", seq) for seq in range(10_000)}
    assert len(numbers) == 10_000
    assert all(0 < number < 2**53 for number in numbers)


def test_a_child_is_known_by_its_id_and_by_its_parents_nonce() -> None:
    mark = ids.child_mark(ids.child_nonce("parent", 5), "kid")
    assert ids.same_child(mark, "kid")
    assert not ids.same_child(mark, "kid2")
    assert ids.child_nonce("parent", 5) != ids.child_nonce("parent", 6)
