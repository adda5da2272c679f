"""Backoff."""

from assay_engine.core.activity import Policy
from assay_engine.core.retry import MAX_DELAY_SECS, attempts_left, delay


def test_the_delay_grows_by_the_coefficient() -> None:
    policy = Policy(initial_interval_secs=2.0, backoff_coefficient=3.0)
    assert [delay(policy, attempt) for attempt in (1, 2, 3)] == [2.0, 6.0, 18.0]


def test_a_delay_never_overflows_nor_goes_back_in_time() -> None:
    assert delay(Policy(backoff_coefficient=1e300), 10) == MAX_DELAY_SECS
    assert delay(Policy(initial_interval_secs=-5.0), 1) == 0.0


def test_zero_or_one_attempt_is_one_attempt() -> None:
    assert not attempts_left(Policy(max_attempts=1), 1)
    assert not attempts_left(Policy(max_attempts=0), 1)
    assert attempts_left(Policy(max_attempts=2), 1)
