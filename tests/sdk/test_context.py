"""The context of a workflow: what each of its calls issues, and what comes back."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from assay import workflow
from assay._functions import Registry
from assay.errors import (
    CallError,
    NonDeterminismError,
    RequestRejectedError,
    ResultTimeoutError,
)
from assay.workflow import ActivityCall

from .histories import Code, completed, history, machine, scheduled, signal
from .programs_played import fired, named, played, result


def failed(seq: int, **more: Any) -> tuple[str, Any]:
    return "ActivityFailed", {"activity_seq": seq, "error": "no", "final_attempt": 1, **more}


def call_ended(seq: int, error: Any = None) -> tuple[str, Any]:
    return "WorkflowCallEnded", {"call_seq": seq, "error": error}


# -- which run this is ---------------------------------------------------------------------------


def test_info_says_which_run_this_is_and_how_long_its_history() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        before = ctx.info
        await ctx.execute_activity("x", "a long input")
        after = ctx.info
        return [
            [before.workflow_id, before.workflow_type, before.namespace, before.task_queue],
            [before.history_length, after.history_length],
            before.history_size < after.history_size,
            ctx.should_continue_as_new,
        ]

    whole, lengths, grows, long = result(code, completed(1))
    assert whole == ["w-1", "T", "main", "own"]
    assert (lengths, grows, long) == ([1, 3], True, False)


def test_ids_and_random_numbers_are_the_same_in_each_replay_and_differ_between_themselves() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return [str(ctx.uuid4()), str(ctx.uuid4()), ctx.random.random()]

    first, second, number = result(code)
    assert uuid.UUID(first).version == 4
    assert first != second
    assert result(code) == [first, second, number]


def test_random_bytes_are_recorded() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return [ctx.random_bytes(4).hex(), len(ctx.random_bytes(2))]

    [effect, _, end] = played(code)[0]
    assert (effect["type"], effect["name"]) == ("RecordSideEffect", "random")
    assert end["result"] == [effect["value"], 2]


# -- versions ------------------------------------------------------------------------------------


async def changed(ctx: workflow.Context, input: Any) -> Any:
    await ctx.execute_activity("first")
    new = ctx.version("payment", 1, 2) == 2
    await ctx.execute_activity("new" if new else "old")
    return ctx.version("payment", 1, 2)


def test_a_run_that_comes_to_a_change_takes_the_new_way_and_notes_it() -> None:
    _, second, last = played(changed, completed(1), completed(2))

    marker = {"type": "RecordSideEffect", "seq": 1, "name": "version:payment", "value": 2}
    assert [second[0], named(second[1:]), last[-1]["result"]] == [marker, ["new"], 2]


def test_a_run_that_was_past_a_change_before_it_was_made_keeps_the_old_way() -> None:
    run = machine(changed)
    events = history(("WorkflowStarted", None), scheduled(1, "first"), completed(1))
    run.feed([*events, *history(*[("x", None)] * 3, scheduled(2, "old"))[3:]], seen=4)
    before = run.commands()
    run.feed([*history(*[("x", None)] * 4, completed(2))[4:]], seen=4)

    assert before == []
    assert run.commands() == [{"type": "CompleteWorkflow", "result": 1}]


def test_a_run_that_waits_before_a_change_takes_the_new_way() -> None:
    run = machine(changed)
    events = history(("WorkflowStarted", None), scheduled(1, "first"), completed(1))
    run.feed(events, seen=2)

    assert named(run.commands()) == ["version:payment", "new"]
    run.drop()


def test_code_that_does_more_than_was_committed_is_found_out() -> None:
    run = machine(changed)
    with pytest.raises(NonDeterminismError, match=r"expected: nothing more\n.*name='first'"):
        run.feed(history(("WorkflowStarted", None)), seen=1)
    run.drop()


def test_a_version_that_the_code_no_longer_knows_says_so() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return ctx.version("payment", 3, 4)

    marker = {"side_effect_seq": 1, "name": "version:payment", "value": 2}
    run = machine(code)
    run.feed(history(("WorkflowStarted", None), ("SideEffectRecorded", marker)), seen=2)

    [command] = run.commands()
    assert command["error"] == "this run goes by version 2 of payment, the code knows 3 to 4"


def test_what_a_retry_has_undone_may_be_issued_again_whatever_the_last_commit_had_seen() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        async def listen() -> None:
            await ctx.channel("go").receive()
            await ctx.execute_activity("beside")

        beside = asyncio.create_task(listen())
        await ctx.execute_activity("deploy")
        await beside

    run = machine(code)
    run.feed(
        history(
            ("WorkflowStarted", None),
            scheduled(1, "deploy"),
            failed(1),
            signal("go"),
            ("WorkflowFailed", {"error": "no"}),
            ("ActivityRetryRequested", {"activity_seq": 1, "failed_event_seq": 3}),
            completed(1),
        ),
        seen=6,
    )

    assert named(run.commands()) == ["beside"]
    run.drop()


# -- activities ----------------------------------------------------------------------------------


def test_at_most_limit_activities_are_under_way() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        return await ctx.execute_parallel([(f"a{n}", n) for n in range(4)], limit=2)

    ends = [completed(seq, seq) for seq in (2, 1, 3, 4)]
    assert [named(each) for each in played(code, *ends)[:4]] == [["a0", "a1"], ["a2"], ["a3"], []]
    assert result(code, *ends) == [1, 2, 3, 4]


def test_tolerated_failures_stand_in_the_list() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        calls = [ActivityCall("a", 1), ActivityCall("b", 2, {"max_attempts": 1})]
        return list(map(str, await ctx.execute_parallel(calls, tolerated_failures=1)))

    assert result(code, failed(1), completed(2, "B")) == ["activity a failed: no", "B"]


def test_as_long_as_failures_are_tolerated_the_rest_is_begun() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        calls = [(name, None) for name in "abc"]
        return list(map(str, await ctx.execute_parallel(calls, limit=1, tolerated_failures=1)))

    ends = [failed(1), completed(2, "B"), completed(3, "C")]
    assert result(code, *ends) == ["activity a failed: no", "B", "C"]


def test_one_failure_too_many_stops_what_has_not_begun() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_parallel([(name, None) for name in "abcd"], limit=2)

    *_, waiting, end = played(code, failed(1), completed(2))
    assert waiting == []
    assert end == [{"type": "FailWorkflow", "error": "activity a failed: no"}]


@dataclass
class Order:
    item: str
    count: int = 1


def test_inputs_results_and_signals_come_in_the_types_that_the_code_names() -> None:
    registry = Registry()

    @registry.activity("price")
    def price(order: Order) -> Order:
        return order

    async def code(ctx: workflow.Context, input: Any) -> Any:
        priced = await ctx.execute_activity(price, Order("tea"))
        asked = await ctx.channel("order", Order).receive()
        return [type(priced).__name__, priced.count, type(asked).__name__, asked.count]

    ends = [completed(1, {"item": "tea", "count": 3}), signal("order", {"item": "jam"})]
    assert played(code)[0][0]["input"] == {"item": "tea", "count": 1}
    assert result(code, *ends) == ["Order", 3, "Order", 1]


def test_a_result_of_another_shape_is_named() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.channel("order", Order).receive()

    [command] = played(code, signal("order", {"count": 1}))[-1]
    assert command["error"].startswith("the payload of signal order does not fit Order")
    assert command["failure"]["kind"] == "INVALID_INPUT"


# -- signals -------------------------------------------------------------------------------------


def test_the_inbox_has_what_no_topic_has_claimed_earlier_ones_included() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        await ctx.execute_activity("first")
        orders, inbox = ctx.channel("order"), ctx.inbox()
        got = [(await inbox.receive()).name for _ in range(2)]
        return [got, await orders.receive(), len(inbox), len(orders)]

    came = [signal("x"), signal("order", 1), completed(1), signal("y")]
    assert result(code, *came) == [["x", "y"], 1, 0, 0]


def test_a_signal_is_taken_once_however_it_is_looked_at() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        first = await ctx.wait_for_signal("s")
        second = (await ctx.messages("s").receive()).payload
        return [first, second, await ctx.channel("s").receive()]

    assert result(code, *[signal("s", number) for number in range(3)]) == [0, 1, 2]


def test_a_client_is_answered_by_a_reply() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        requests = ctx.messages("add")
        for _ in range(3):
            message = await requests.receive()
            if message.payload < 0:
                message.reject("too small", details={"least": 0})
            else:
                message.reply({"sum": message.payload})

    def asked(number: int, **more: Any) -> tuple[str, Any]:
        return "SignalReceived", {"signal": "add", "payload": number, **more}

    _, first, second, third = played(
        code, asked(1, request_id="r-1"), asked(-1, request_id="r-2"), asked(2)
    )
    reply = {"type": "Reply", "seq": 1, "request_id": "r-1", "payload": {"sum": 1}}
    assert first == [reply]
    assert second[0]["error"] == {
        "kind": "REJECTED",
        "message": "too small",
        "retryable": False,
        "details": {"least": 0},
    }
    assert named(third) == ["CompleteWorkflow"]  # nobody waits for that one


def test_a_run_is_answered_by_a_signal() -> None:
    async def code(ctx: workflow.Context, input: Any) -> Any:
        message = await ctx.messages("add").receive()
        message.reply(5)
        return [message.sender, message.wants_reply]

    sender = {"workflow_id": "asker", "run_id": "r"}
    asked = {"signal": "add", "payload": 1, "request_id": "r-1", "from": sender}
    answer, end = played(code, ("SignalReceived", asked))[-1]
    assert answer == {
        "type": "CallWorkflow",
        "seq": 1,
        "workflow_id": "asker",
        "call": "signal",
        "name": "assay.reply:r-1",
        "payload": {"payload": 5},
    }
    assert end["result"] == ["asker", True]


async def asking(ctx: workflow.Context, input: Any) -> Any:
    try:
        return await ctx.request("other", "add", 1, timeout=30)
    except (CallError, RequestRejectedError, ResultTimeoutError) as error:
        return [type(error).__name__, str(error)]


def reply_to(code: Code, answer: Any) -> tuple[str, Any]:
    [command] = played(code)[0]
    return signal(f"assay.reply:{command['request_id']}", answer)


def test_a_request_to_another_run_returns_its_reply() -> None:
    assert result(asking, call_ended(1), reply_to(asking, {"payload": 7})) == 7


def test_a_reply_that_comes_before_the_call_is_known_to_have_arrived_counts() -> None:
    assert result(asking, reply_to(asking, {"payload": 7}), call_ended(1)) == 7


@pytest.mark.parametrize(
    ("landed", "error"),
    [
        ([call_ended(1, {"kind": "NOT_FOUND", "message": "no such run"})], "CallError"),
        ([call_ended(1), fired(1)], "ResultTimeoutError"),
        ([call_ended(1), reply_to(asking, {"error": {"message": "no"}})], "RequestRejectedError"),
    ],
)
def test_a_request_that_is_not_answered_says_why(landed: list[Any], error: str) -> None:
    assert result(asking, *landed)[0] == error
