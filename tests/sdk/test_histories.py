"""Runs that were recorded long ago can go on with the workflows' code as it is today."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay import testing, workflow
from assay.errors import NonDeterminismError
from tests.histories import before, workflows
from tests.histories.record import HERE, RECORDINGS

FILES = sorted(HERE.glob("*.json"))


def test_every_recording_is_there() -> None:
    assert {file.stem for file in FILES} == RECORDINGS.keys()


def test_all_of_them_can_be_replayed() -> None:
    assert testing.replay(HERE, workflows.REGISTRY) == [str(file) for file in FILES]


@pytest.mark.parametrize("name", [*RECORDINGS])
def test_a_new_recording_can_be_replayed_after_each_of_its_steps(name: str) -> None:
    with testing.Environment(registry=workflows.REGISTRY, replay_each_step=True) as env:
        exported = RECORDINGS[name](env).export()

    assert testing.replay(exported, workflows.REGISTRY) == [exported["workflow_id"]]


def test_a_run_from_before_a_change_cannot_be_replayed_without_the_old_way() -> None:
    changed = workflow.Registry()

    @changed.define("Payment")
    async def payment(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("check_fraud", input)
        return await ctx.execute_activity("charge", input)

    with pytest.raises(NonDeterminismError) as raised:
        testing.replay(HERE / "payment-before.json", changed)

    told = str(raised.value)
    assert f"{HERE / 'payment-before.json'} (Payment): the code does not repeat its history" in told
    assert "at event 2" in told
    assert "expected: ActivityScheduled(activity_seq=1, name='charge')" in told
    assert "got:      ScheduleActivity(seq=1, name='check_fraud'), on event 1" in told
    assert f"where:    {__file__}:" in told


def test_a_run_with_the_change_cannot_be_replayed_by_the_code_from_before() -> None:
    with pytest.raises(NonDeterminismError, match=r"name='version:fraud-check'"):
        testing.replay(HERE / "payment.json", before.REGISTRY)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_recording_fits_code_that_does_nothing(file: Path) -> None:
    idle = workflow.Registry()
    kind = json.loads(file.read_text())["workflow_type"]

    @idle.define(kind)
    async def nothing(ctx: workflow.Context) -> None:
        return

    with pytest.raises(NonDeterminismError, match="does not repeat its history"):
        testing.replay(file, idle)
