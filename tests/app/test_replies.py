"""Requests by signal that land once, and the replies that are looked up by their id."""

from dataclasses import replace
from typing import Any

import pytest

from assay_engine.app import replies, signals
from assay_engine.app.names import RunRef
from assay_engine.core import keys
from assay_engine.core.errors import InvalidError, NotFoundError
from tests.app.crashes import in_the_middle, recover, worlds_that_die
from tests.app.test_exchange import eager_run, step
from tests.app.world import COMPLETE, World, call, wait


def reply(request_id: str = "r1", seq: int = 1, **fields: Any) -> dict[str, Any]:
    return {"type": "Reply", "seq": seq, "request_id": request_id, **fields}


def ask(world: World, request_id: str = "r1", run_id: str = "a", payload: Any = None) -> bool:
    sent = signals.Signal(name="ask", payload=payload, request_id=request_id)
    return signals.request(world.engine, RunRef(run_id=run_id), sent)


def look(world: World, request_id: str = "r1", run_id: str = "a", **how: Any) -> replies.Answer:
    return replies.wait(world.engine, RunRef(run_id=run_id), request_id, **how)


def asked() -> World:
    world = World()
    world.start("a")
    ask(world)
    return world


def test_a_repeated_request_lands_once_and_carries_its_id(world: World) -> None:
    world.start("a")
    assert [ask(world, payload="x" * 3000), ask(world), ask(world, "r2")] == [True, True, True]
    received = world.payloads("a", "SignalReceived")
    assert [one["request_id"] for one in received] == ["r1", "r2"]
    assert received[0] == {"signal": "ask", "payload": "x" * 3000, "request_id": "r1"}


def test_a_repeat_after_the_end_was_delivered_and_a_new_one_was_not(world: World) -> None:
    world = asked()
    world.turn("a", COMPLETE)
    assert (ask(world), ask(world, "r2")) == (True, False)


def test_a_request_whose_sender_dies_lands_once(world: World) -> None:
    def fresh() -> World:
        world = World()
        world.start("a")
        return world

    for each in worlds_that_die(ask, fresh):
        assert ask(each)
        assert each.events("a").count("SignalReceived") == 1


def test_two_who_send_the_same_request_at_once_land_once(world: World) -> None:
    world.start("a")
    in_the_middle(world, lambda: ask(world) and None, "transact")
    assert ask(world)
    assert world.events("a").count("SignalReceived") == 1


def test_a_request_by_a_run_and_by_a_client_is_the_same_request(world: World) -> None:
    world = asked()
    world.start("b")
    world.poll()
    world.turn("b", call("signal", workflow_id="a", name="ask", request_id="r1"))
    assert world.events("a").count("SignalReceived") == 1
    assert world.payloads("b", "WorkflowCallEnded") == [{"call_seq": 1}]


@pytest.mark.parametrize("payload", [None, {"n": 1}, "x" * 5000])
def test_a_reply_is_found_by_its_request(world: World, payload: Any) -> None:
    world = asked()
    assert look(world) == replies.Answer(status="PENDING")
    done = world.commit(world.take(), reply(payload=payload))
    assert done["version"] == 3
    assert world.payloads("a", "ReplySent") == [{"reply_seq": 1, "request_id": "r1"}]
    assert look(world) == replies.Answer(payload=payload)
    assert look(world, "r2").status == "RUNNING"


@pytest.mark.parametrize("error", ["no", {"kind": "NO", "message": "m", "retryable": True}])
def test_a_reply_may_be_an_error(world: World, error: Any) -> None:
    world = asked()
    world.turn("a", reply(error=error))
    assert look(world) == replies.Answer(error=error)


def test_the_first_reply_counts_and_each_is_one_event(world: World) -> None:
    world = asked()
    world.turn("a", reply(payload=1), reply(payload=2, seq=2), reply(payload=3, seq=2))
    assert world.events("a").count("ReplySent") == 2
    assert look(world).payload == 1


def test_a_last_reply_before_the_end_is_kept(world: World) -> None:
    world = asked()
    world.turn("a", reply(payload=1), COMPLETE)
    assert look(world).payload == 1
    assert world.head("a").due is None


def test_a_reply_in_a_fused_step(world: World) -> None:
    task, answer = eager_run(world)
    done = world.report(**step(task, 1, answer["version"], reply(payload=1), at=world.clock.time))
    assert done["version"] == answer["version"] + 2
    assert look(world).payload == 1


def test_a_reply_whose_process_dies_is_put_by_another(world: World) -> None:
    for each in worlds_that_die(lambda w: w.turn("a", reply(payload=1)), asked):
        recover(each)
        if "ReplySent" in each.events("a"):
            assert look(each).payload == 1
            assert not each.head("a").owed


def test_a_run_that_continues_another_may_reply_for_it(world: World) -> None:
    world = asked()
    world.turn("a", {"type": "ContinueAsNew", "workflow_id": "a2"})
    assert look(world).status == "PENDING"
    world.turn("a2", reply(payload=1))
    assert look(world).payload == 1


class Patience:
    """Wake-ups that let something happen each time somebody waits."""

    def __init__(self, world: World, *turns: Any) -> None:
        self.waits: list[float] = []
        self._world = world
        self._turns = list(turns)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: 0

    def wait(self, slots: Any, ticket: int, timeout: float) -> bool:
        self.waits.append(timeout)
        self._world.pass_secs(timeout)
        if self._turns:
            self._turns.pop(0)()
        return False


def patient(world: World, *turns: Any) -> Patience:
    found = Patience(world, *turns)
    world.engine = replace(world.engine, wakeups=found)
    return found


def test_a_waiting_call_hears_of_the_reply(world: World) -> None:
    world = asked()
    waits = patient(world, lambda: None, lambda: world.turn("a", reply(payload=1)))
    assert look(world, wait_secs=20).payload == 1
    assert waits.waits == [1.0, 1.0]


def test_a_waiting_call_ends_with_its_time_or_with_the_run(world: World) -> None:
    world = asked()
    waits = patient(world)
    assert look(world, wait_secs=2.5).status == "PENDING"
    assert waits.waits == [1.0, 1.0, 0.5]
    waits = patient(world, lambda: world.terminate("a"))
    assert look(world, wait_secs=20).status == "FAILED"
    assert waits.waits == [1.0]


def test_nobody_waits_for_a_caller_that_is_gone(world: World) -> None:
    world = asked()
    waits = patient(world)
    look(world, wait_secs=20, caller_gone=lambda: True)
    assert waits.waits == []


def test_a_commit_wakes_who_waits(world: World) -> None:
    world = asked()
    slot = [keys.reply_slot(world.head("a").key, "r1")]
    ticket = world.engine.wakeups.ticket(slot)
    world.turn("a", reply(payload=1))
    assert world.engine.wakeups.wait(slot, ticket, 0.0)


def test_a_reply_of_an_unknown_run_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError):
        look(world)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"seq": 0}, "seq"),
        ({"request_id": None}, "request_id"),
        ({"request_id": "x" * 65}, "request_id"),
        ({"error": 5}, "error"),
        ({"error": {"kind": "x"}}, "error.kind"),
    ],
)
def test_a_wrong_field_of_a_reply_is_named(
    world: World, fields: dict[str, Any], named: str
) -> None:
    world.start("a")
    answer = world.commit(world.take(), reply() | fields, wait("x"))
    assert (answer["status"], named in answer["error"]) == ("invalid", True)
    assert world.events("a") == ["WorkflowStarted"]


@pytest.mark.parametrize("request_id", ["", "x" * 65, "a\nb"])
def test_an_impossible_request_id_is_refused(world: World, request_id: str) -> None:
    world.start("a")
    with pytest.raises(InvalidError, match="request_id"):
        ask(world, request_id)
