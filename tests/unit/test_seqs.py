"""Used seqs in a few bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_engine.core import seqs
from assay_engine.core.errors import InvalidError


@given(st.lists(st.integers(0, 60), max_size=80))
def test_the_text_remembers_exactly_what_was_added(added: list[int]) -> None:
    used = None
    for seq in added:
        used = seqs.add(used, seq)
    assert [seq for seq in range(70) if seqs.contains(used, seq)] == sorted(set(added))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80), st.integers(1, 60))
def test_forgetting_above_a_seq_keeps_what_is_below(added: list[int], limit: int) -> None:
    used = None
    for seq in added:
        used = seqs.add(used, seq)
    kept = seqs.up_to(used, limit)
    assert [seq for seq in range(70) if seqs.contains(kept, seq)] == sorted(
        {seq for seq in added if seq <= limit}
    )


def test_a_run_that_counts_from_one_costs_only_the_highest_number() -> None:
    used = None
    for seq in range(1, 1001):
        used = seqs.add(used, seq)
    assert used == "1000"


def test_more_gaps_than_the_head_can_hold_are_refused() -> None:
    used = None
    for seq in range(2, 2 * seqs.MAX_GAPS + 1, 2):
        used = seqs.add(used, seq)
    with pytest.raises(InvalidError, match="gaps"):
        seqs.add(used, 1000)
