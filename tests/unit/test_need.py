"""When somebody has to look at a run."""

from dataclasses import replace

from assay_engine.core.keys import head as head_key
from assay_engine.core.need import need
from assay_engine.core.run import Head

IDLE = Head(
    key=head_key("main", "a"), nonce="n", type="T", slot="s", created_at=0.0, length=3, seen=3
)


def test_a_run_that_waits_to_be_told_needs_nobody() -> None:
    assert need(IDLE, 100.0) is None


def test_unseen_events_need_somebody_now() -> None:
    assert need(replace(IDLE, seen=2), 100.0) == 100.0


def test_the_earliest_of_everything_counts() -> None:
    head = replace(
        IDLE,
        timers={"1": 150.0, "2": 130.0},
        eager={"4": {"x": 140.0, "c": 120.0, "a": 1, "w": "w", "r": "r"}},
        children={"2": "mark"},
        check_children_at=115.0,
        cancel_due=170.0,
    )
    assert need(head, 100.0) == 115.0
    assert need(replace(head, check_children_at=500.0), 100.0) == 120.0
    assert need(replace(head, check_children_at=500.0, eager={}), 100.0) == 130.0
    assert need(replace(head, children={}, eager={}, timers={}), 100.0) == 170.0


def test_a_leased_run_needs_somebody_when_the_lease_ends() -> None:
    leased = replace(IDLE, seen=1, lease_token="t", lease_until=130.0, timers={"1": 105.0})
    assert need(leased, 100.0) == 130.0


def test_debts_are_due_in_ten_seconds_also_of_a_closed_run() -> None:
    assert need(replace(IDLE, owed=frozenset({2})), 100.0) == 110.0
    closed = replace(IDLE, open=None, seen=0, timers={"1": 105.0})
    assert need(closed, 100.0) is None
    assert need(replace(closed, cleanup=1), 100.0) == 110.0


def test_a_deadline_is_needed_whoever_holds_the_lease() -> None:
    limited = replace(IDLE, run_until=120.0, chain_until=110.0, cancel_until=115.0)
    assert need(limited, 100.0) == 110.0
    leased = replace(limited, lease_token="t", lease_until=130.0)
    assert need(leased, 100.0) == 110.0
    assert need(replace(leased, chain_until=None, lease_until=112.0), 100.0) == 112.0


def test_a_run_that_waits_for_its_start_is_needed_then() -> None:
    delayed = replace(IDLE, seen=0, start_at=160.0)
    assert need(delayed, 100.0) == 160.0
    assert need(delayed, 170.0) == 170.0
