"""What a run may be started with: read, refused, written down and read again."""

from dataclasses import replace
from typing import Any

import pytest

from assay_engine.core import options
from assay_engine.core.attempts import may_be_retried, next_delay
from assay_engine.core.commands import FailWorkflow
from assay_engine.core.errors import InvalidError
from assay_engine.core.options import Options, ParentClosePolicy, RetryPolicy
from tests.unit.test_need import IDLE

GIVEN = {
    "execution_timeout": "1h",
    "run_timeout": 60,
    "task_timeout": "5s",
    "start_delay": 0.5,
    "retry_policy": {"maximum_attempts": 3.0, "non_retryable_kinds": ["BAD"]},
    "memo": {"a": 1},
    "context": {"b": 2},
    "parent_close_policy": "abandon",
    "wait_for_cancellation": True,
}
READ = Options(
    execution_timeout=3600.0,
    run_timeout=60.0,
    task_timeout=5.0,
    start_delay=0.5,
    retry_policy=RetryPolicy(
        maximum_interval=100.0, maximum_attempts=3, non_retryable_kinds=("BAD",)
    ),
    memo={"a": 1},
    context={"b": 2},
    parent_close_policy=ParentClosePolicy.ABANDON,
)


def test_options_are_read_from_the_fields_of_a_start() -> None:
    assert options.read(GIVEN) == READ


def test_absent_and_null_are_the_same() -> None:
    assert options.read(dict.fromkeys(GIVEN)) == options.NONE == options.read({"input": 5})


def test_options_written_down_are_read_as_they_were() -> None:
    assert options.read(options.as_fields(READ)) == READ


def test_the_record_keeps_what_successors_need() -> None:
    kept = options.read(options.kept(READ))
    assert kept == replace(READ, start_delay=None, memo=None, parent_close_policy=None)
    assert options.kept(options.NONE) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run_timeout", 0),
        ("run_timeout", "soon"),
        ("execution_timeout", -1),
        ("task_timeout", 0.5),
        ("task_timeout", "11m"),
        ("start_delay", []),
        ("memo", []),
        ("memo", "x"),
        ("context", 5),
        ("parent_close_policy", "eat"),
        ("parent_close_policy", 5),
        ("wait_for_cancellation", "yes"),
        ("retry_policy", 3),
        ("retry_policy", {"initial_interval": -1}),
        ("retry_policy", {"maximum_interval": "x"}),
        ("retry_policy", {"backoff_coefficient": 0.5}),
        ("retry_policy", {"backoff_coefficient": "2"}),
        ("retry_policy", {"maximum_attempts": -1}),
        ("retry_policy", {"maximum_attempts": 1.5}),
        ("retry_policy", {"maximum_attempts": True}),
        ("retry_policy", {"non_retryable_kinds": "BAD"}),
        ("retry_policy", {"non_retryable_kinds": [5]}),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidError, match=f"^{name}"):
        options.read({name: value})


def test_the_backoff_grows_up_to_its_maximum() -> None:
    policy = RetryPolicy(initial_interval=2.0, maximum_interval=30.0)
    assert [policy.delay(attempt) for attempt in (1, 2, 3, 4, 5, 5000)] == [2, 4, 8, 16, 30, 30]


def test_there_is_no_next_attempt_when_they_are_used_up_or_the_time_is() -> None:
    policy = RetryPolicy(initial_interval=10.0, maximum_interval=10.0, maximum_attempts=2)
    assert next_delay(IDLE, policy, 100.0) == 10.0
    assert next_delay(replace(IDLE, attempt=2), policy, 100.0) is None
    assert next_delay(replace(IDLE, attempt=50), replace(policy, maximum_attempts=0), 100.0) == 10.0
    assert next_delay(replace(IDLE, chain_until=110.0), policy, 100.0) is None
    assert next_delay(replace(IDLE, cancel_after=1), policy, 100.0) is None


def test_a_plain_failure_may_be_retried() -> None:
    assert may_be_retried(FailWorkflow(error="x"), RetryPolicy(maximum_interval=1.0))
