"""What the environment finds out about a workflow, and what a replay makes of recorded runs."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from assay import testing, workflow
from assay.client import HistoryEvent, Status, Workflow
from assay.errors import NonDeterminismError, UsageError

CODE = workflow.Registry()


@CODE.define("Order")
async def order(ctx: workflow.Context, input: Any) -> Any:
    paid = await ctx.execute_activity("charge", input)
    await ctx.sleep(60)
    return paid


def recorded(*, ended: bool = True, registry: workflow.Registry = CODE) -> dict[str, Any]:
    with testing.Environment(registry=registry) as env:
        env.activity("charge", lambda: "paid")
        run = env.start("Order", {"total": 5}, id="o-1")
        if ended:
            run.result()
        return run.export()


def changed(code: Any) -> workflow.Registry:
    registry = workflow.Registry()
    registry.define("Order")(code)
    return registry


# -- runs that do not repeat themselves ------------------------------------------------------------


def test_a_run_that_depends_on_a_global_is_found_out_when_it_ends() -> None:
    calls = itertools.count(1)

    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("charge", next(calls))

    with testing.Environment(registry=changed(code)) as env:
        env.activity("charge", lambda: None)
        with pytest.raises(NonDeterminismError) as raised:
            env.start("Order", id="o-1")

    told = str(raised.value)
    assert told.startswith("run o-1 (Order) cannot be replayed: the code does not repeat its histo")
    assert "after event 1\n" in told
    assert "expected: ScheduleActivity(seq=1, name='charge', input=1, task_queue='default')" in told
    assert "got:      ScheduleActivity(seq=1, name='charge', input=2, task_queue='default')" in told
    assert f"where:    {__file__}:" in told


def test_a_result_that_comes_out_differently_is_found_out_too() -> None:
    calls = itertools.count(1)

    async def code(ctx: workflow.Context, input: Any) -> Any:
        return next(calls)

    expected = r"expected: CompleteWorkflow\(result=1\)"
    with (
        testing.Environment(registry=changed(code)) as env,
        pytest.raises(NonDeterminismError, match=expected),
    ):
        env.start("Order")


def test_a_run_that_is_open_is_replayed_when_the_environment_is_left() -> None:
    calls = itertools.count(1)

    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal(f"signal-{next(calls)}")

    with (
        pytest.raises(NonDeterminismError, match="signal-2"),
        testing.Environment(registry=changed(code)) as env,
    ):
        env.start("Order")


def test_replaying_each_step_finds_out_sooner() -> None:
    calls = itertools.count(1)

    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.sleep(next(calls))
        await ctx.wait_for_signal("never")

    differing = r"duration_secs=1.0(?s:.*)duration_secs=2.0"
    with (
        testing.Environment(registry=changed(code), replay_each_step=True) as env,
        pytest.raises(NonDeterminismError, match=differing),
    ):
        env.start("Order")


def test_an_error_of_the_test_is_not_hidden_by_a_replay() -> None:
    calls = itertools.count(1)

    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.wait_for_signal(f"signal-{next(calls)}")

    def test() -> None:
        with testing.Environment(registry=changed(code)) as env:
            env.start("Order")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        test()


# -- replaying recorded runs -----------------------------------------------------------------------


@pytest.mark.parametrize("ended", [True, False])
def test_an_export_is_json_and_can_be_replayed(ended: bool, tmp_path: Path) -> None:
    history = recorded(ended=ended)
    file = tmp_path / "deep" / "o-1.json"
    file.parent.mkdir()
    file.write_text(json.dumps(history))

    assert testing.replay(history, CODE) == ["o-1"]
    assert testing.replay([file, tmp_path, str(file)], CODE) == [str(file)] * 3
    assert history["workflow_type"] == "Order"
    assert [event["seq"] for event in history["events"]] == [1, 2, 3, 4, 5, 6][: 6 if ended else 4]


async def renamed(ctx: workflow.Context, input: Any) -> Any:
    await ctx.execute_activity("charge_card", input)
    await ctx.sleep(60)


async def hurried(ctx: workflow.Context, input: Any) -> Any:
    return await ctx.execute_activity("charge", input)


async def more(ctx: workflow.Context, input: Any) -> Any:
    await order(ctx, input)
    await ctx.execute_activity("thank")


async def waiting(ctx: workflow.Context, input: Any) -> Any:
    await order(ctx, input)
    await ctx.channel("thanks").receive()


async def failing(ctx: workflow.Context, input: Any) -> Any:
    await order(ctx, input)
    raise ValueError("no")


async def eager(ctx: workflow.Context, input: Any) -> Any:
    paid = ctx.spawn_child_workflow("Audit", workflow_id="audit")
    await order(ctx, input)
    return paid


@pytest.mark.parametrize(
    ("code", "expected", "got"),
    [
        (renamed, "ActivityScheduled(activity_seq=1, name='charge')", "name='charge_card'"),
        (hurried, "TimerScheduled(timer_seq=1)", "CompleteWorkflow()"),
        (more, "nothing more", "name='thank'"),
        (waiting, "WorkflowCompleted, by CompleteWorkflow or", "nothing, the code waits"),
        (failing, "WorkflowCompleted, by CompleteWorkflow or", "FailWorkflow("),
        (eager, "ActivityScheduled(activity_seq=1", "StartChildWorkflow("),
    ],
)
def test_a_change_that_history_does_not_fit_is_told(code: Any, expected: str, got: str) -> None:
    with pytest.raises(NonDeterminismError) as raised:
        testing.replay(recorded(), changed(code))

    told = str(raised.value)
    assert told.startswith("1 of 1 histories cannot be replayed\n\no-1 (Order): ")
    assert f"expected: {expected}" in told
    assert got in told.partition("got:")[2].partition("\n")[0]


def test_an_open_run_that_would_have_done_more_is_told() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        paid = await ctx.execute_activity("charge", input)
        ctx.spawn_child_workflow("Audit", workflow_id="audit")
        await ctx.sleep(60)
        return paid

    testing.replay(recorded(ended=False), CODE)
    with pytest.raises(NonDeterminismError, match="StartChildWorkflow"):
        testing.replay(recorded(ended=False), changed(code))


def test_all_histories_are_tried_and_told_of(tmp_path: Path) -> None:
    unknown = {**recorded(), "workflow_type": "Gone"}
    files = {"a": recorded(), "b": unknown, "c": {**recorded(), "workflow_type": "Order"}}
    for name, history in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(history))

    with pytest.raises(NonDeterminismError) as raised:
        testing.replay(tmp_path, changed(renamed))

    told = str(raised.value)
    assert told.startswith("3 of 3 histories cannot be replayed\n")
    assert f"\n{tmp_path / 'a.json'} (Order): the code does not repeat its history" in told
    assert f"\n{tmp_path / 'b.json'}: there is no workflow 'Gone'" in told


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "an object with `events` is wanted"),
        ("{}", "an object with `events` is wanted"),
        ("nonsense", "is no history"),
        ('{"events": [{"seq": 1, "event_type": "WorkflowStarted"}]}', "does not say its"),
        ('{"events": [{"seq": 2, "event_type": "WorkflowStarted"}]}', "not complete"),
        ('{"events": [{"seq": 1, "event_type": "A", "truncated": ["payload"]}]}', "too long"),
    ],
)
def test_a_file_that_is_no_history_is_named(content: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)

    with pytest.raises(UsageError, match=f"x.json is no history: .*{why}|x.json {why}"):
        testing.replay(file, CODE)


def test_a_folder_without_histories_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no history to replay"):
        testing.replay(tmp_path, CODE)


def test_a_run_that_was_terminated_is_replayed_as_far_as_it_came() -> None:
    with testing.Environment(registry=CODE) as env:
        env.activity("charge", lambda: "paid")
        run = env.start("Order", id="o-1")
        run.terminate("of a reason of its own")
        history = run.export()

    assert testing.replay(history, CODE) == ["o-1"]
    with pytest.raises(NonDeterminismError, match="charge_card"):
        testing.replay(history, changed(renamed))
    history["terminated"] = False
    with pytest.raises(NonDeterminismError, match=r"put `terminated: true` beside it"):
        testing.replay(history, CODE)


def test_a_run_that_was_cancelled_before_it_began_fits_any_code() -> None:
    with testing.Environment(registry=CODE) as env:
        run = env.start("Order", id="o-1", start_delay=60)
        run.cancel()
        history = run.export()
    history["terminated"] = False

    assert testing.replay(history, CODE) == ["o-1"]


# -- runs of an engine -----------------------------------------------------------------------------


def answers() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what the API says about a run: values are JSON inside of texts."""
    history = recorded()
    named = ("workflow_type", "run_id", "namespace", "task_queue", "attempt", "parent_id")
    record = {"id": "o-1", **{name: history[name] for name in named}}
    events = [
        {"id": event["seq"], "workflow_id": "o-1", **event, "payload": json.dumps(event["payload"])}
        for event in history["events"]
    ]
    return record, events


def test_what_two_calls_to_the_api_answer_can_be_replayed() -> None:
    record, events = answers()
    history = {"record": record, "events": events[::-1]}

    assert testing.replay(history, CODE) == ["o-1"]
    with pytest.raises(NonDeterminismError):
        testing.replay(history, changed(failing))


def test_a_payload_that_is_a_text_is_told_from_one_that_spells_json() -> None:
    async def code(ctx: workflow.Context, input: str) -> Any:
        await ctx.wait_for_signal(input)

    started = {"seq": 1, "event_type": "WorkflowStarted", "payload": "true", "timestamp": 1.0}
    waits = {"seq": 2, "event_type": "WorkflowAwaitingSignal", "payload": {"signal": "true"}}
    history = {"workflow_type": "Order", "workflow_id": "o", "events": [started, waits]}

    assert testing.replay(history, changed(code)) == ["o"]


class Engine:
    """The two calls that an export needs."""

    def describe(self, workflow_id: str) -> Workflow:
        record, _ = answers()
        rest: dict[str, Any] = dict.fromkeys(Workflow.__slots__[:17])
        times = {"created_at": 1.0, "updated_at": 1.0}
        return Workflow(**{**rest, **record, **times, "status": Status.COMPLETED})

    def get_events(self, workflow_id: str) -> list[HistoryEvent]:
        _, events = answers()
        return [
            HistoryEvent(**{**event, "payload": json.loads(event["payload"])}) for event in events
        ]


def test_a_run_of_an_engine_can_be_exported_and_replayed() -> None:
    engine: Any = Engine()
    exported = json.loads(json.dumps(testing.export(engine, "o-1")))

    assert testing.replay(exported, CODE) == ["o-1"]
    with pytest.raises(NonDeterminismError):
        testing.replay(exported, changed(waiting))
