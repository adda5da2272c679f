"""Commands read from loose JSON, as both Lua runtimes and hurried people write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_engine.core import commands as c
from assay_engine.core.activity import Policy
from assay_engine.core.errors import AssayError, InvalidError


def test_a_whole_float_is_an_integer() -> None:
    (read,) = c.read_all(
        [{"type": "ScheduleActivity", "seq": 3.0, "name": "n", "max_attempts": 2.0}]
    )
    assert read == c.ScheduleActivity(
        seq=3, name="n", task_queue="default", input=None, policy=Policy(max_attempts=2)
    )


def test_an_explicit_null_is_a_value_and_absence_is_none() -> None:
    with_null, without = c.read_all(
        [{"type": "CompleteWorkflow", "result": None}, {"type": "CompleteWorkflow"}]
    )
    assert with_null == c.CompleteWorkflow(result=c.Given(None))
    assert without == c.CompleteWorkflow(result=None)


def test_unknown_types_and_things_that_are_no_objects_are_left_out() -> None:
    assert c.read_all([5, None, "x", [], {}, {"type": "Nonsense"}]) == []


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ({"type": "WaitForSignal"}, c.WaitForSignal(name="?", timer_seq=None)),
        ({"type": "FailWorkflow"}, c.FailWorkflow(error="workflow handler raised an error")),
        ({"type": "ScheduleTimer"}, c.ScheduleTimer(seq=0, duration_secs=0.0)),
        ({"type": "CancelWorkflow", "reason": "r"}, c.CancelWorkflow(reason="r")),
        (
            {"type": "UpsertSearchAttributes", "patch": []},
            c.UpsertSearchAttributes(patch={}, seq=None),
        ),
        (
            {"type": "StartChildWorkflow"},
            c.StartChildWorkflow(
                workflow_type="", workflow_id="", task_queue="default", input=None
            ),
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_missing_fields_get_the_defaults_of_the_wire(raw: dict, read: c.Command) -> None:
    assert c.read(raw) == read


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "UpsertSearchAttributes", "patch": "s"},
        {"type": "ScheduleActivity", "seq": -1},
        {"type": "ScheduleActivity", "seq": 2**31},
        {"type": "ScheduleActivity", "seq": 1, "name": "x" * 513},
        {"type": "StartChildWorkflow", "workflow_id": "a\x00b"},
        {"type": "ScheduleTimer", "seq": 1, "duration_secs": 1e300},
    ],
    ids=str,
)
def test_what_can_never_be_right_is_refused(raw: dict) -> None:
    with pytest.raises(InvalidError):
        c.read(raw)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=5,
)
fields = st.sampled_from(
    [
        "seq",
        "name",
        "task_queue",
        "input",
        "max_attempts",
        "duration_secs",
        "patch",
        "workflow_id",
        "timer_seq",
        "heartbeat_timeout_secs",
        "state",
        "reason",
        "error",
        "result",
        "value",
    ]
)


@given(
    st.sampled_from(sorted(c._READERS)),
    st.dictionaries(fields, json_values, max_size=6),
)
def test_any_json_is_read_or_refused_clearly(kind: str, raw: dict) -> None:
    try:
        read = c.read({**raw, "type": kind})
    except AssayError:
        return
    assert read is not None
