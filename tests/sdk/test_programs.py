"""Whatever a workflow is made of, and whatever happens to its worker: it does the same again.

Programs are trees of everything that workflow code may use (`programs.py`); the moves are what
engine and network may do (`programs_world.py`, `programs_worker.py`): events in any order and
during a task, outcomes that are fused, closings that are refused, workers that die between any
two calls, caches that are lost, deliveries that overlap or come twice. On every event, every
instance of a run must issue the same commands and see the same things: values, time, length and
size of the history, and the order in which its tasks run. And nothing that is left behind of an
instance may complain when it is collected.

`ASSAY_PROGRAMS=5000 pytest tests/sdk/test_programs.py` tries that many programs. A failure shows
the smallest program and the moves that break it, and the history that came of them.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from .programs import PROGRAMS, Node, up_to
from .programs_worker import MOVES, Move, Worker, told

EXAMPLES = int(os.environ.get("ASSAY_PROGRAMS", "600"))
STEPS = up_to(50, st.tuples(st.sampled_from(MOVES), st.integers(0, 11)))


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Failing is what many of the programs do; and there are few objects to look through."""
    logging.disable(logging.WARNING)
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    logging.disable(logging.NOTSET)


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """See that what the block has made ends quietly."""
    complaints: list[str] = []
    hook = sys.unraisablehook
    sys.unraisablehook = lambda one: complaints.append(f"{one.exc_value!r} in {one.object!r}")
    try:
        yield
        gc.collect(1)  # what is young
    finally:
        sys.unraisablehook = hook
    assert complaints == []


def run(program: list[Node], moves: list[Move]) -> None:
    worker = Worker(program)
    try:
        for move in moves:
            worker.make(move)
        worker.finish()
        replayed = worker.replay()
    except BaseException:
        note(told(worker.world.history))
        raise
    assert set(replayed.activations) >= set(worker.truth)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=PROGRAMS, moves=STEPS)
def test_a_disturbed_run_does_and_sees_what_an_undisturbed_one_does(
    program: list[Node], moves: list[Move]
) -> None:
    with nothing_left_behind():
        run(program, moves)
