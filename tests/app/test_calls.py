"""CallWorkflow: what a run does to another happens once, and it hears how it went."""

from dataclasses import replace
from typing import Any

import pytest

from assay_engine.app import ending
from assay_engine.core.run import Head
from tests.app.crashes import in_the_middle, keep_busy, recover, worlds_that_die
from tests.app.test_exchange import step
from tests.app.world import COMPLETE, World, call, child, schedule, wait

ALL = [call("signal", name="go"), call("cancel"), call("terminate")]
NOT_FOUND = {"kind": "NOT_FOUND", "message": "there is no such run"}
CLOSED = {"kind": "CLOSED", "message": "the run has ended"}
LANDS_AS = {
    "signal": "SignalReceived",
    "cancel": "WorkflowCancelRequested",
    "terminate": "WorkflowFailed",
}


def two_runs() -> World:
    """`a` calls; `b` waits for what comes."""
    world = World()
    world.start("b")
    world.turn("b", wait("go"))
    world.start("a")
    return world


def pay(world: World) -> None:
    ending.pay(world.engine, world.head("a"))


def ended(world: World, run_id: str = "a") -> list[Any]:
    return world.payloads(run_id, "WorkflowCallEnded")


def test_a_signal_names_who_sent_it(world: World) -> None:
    world = two_runs()
    command = call("signal", name="go", payload={"n": 1}, request_id="r1", reply_to="answers")
    done = world.commit(world.take(), command)
    assert (done["status"], done["version"]) == ("accepted", 2)
    assert world.payloads("b", "SignalReceived") == [
        {
            "signal": "go",
            "payload": {"n": 1},
            "request_id": "r1",
            "reply_to": "answers",
            "from": {"workflow_id": "a", "run_id": "run-a-1000000"},
        }
    ]
    assert world.events("a") == ["WorkflowStarted", "WorkflowCalled", "WorkflowCallEnded"]
    assert world.payloads("a", "WorkflowCalled") == [
        {
            "call_seq": 1,
            "call": "signal",
            "workflow_id": "b",
            "name": "go",
            "payload": {"n": 1},
            "request_id": "r1",
            "reply_to": "answers",
        }
    ]
    assert ended(world) == [{"call_seq": 1}]
    assert world.head("a").owed is None
    assert world.take()["version"] == 3, "the caller is woken"


def test_a_long_payload_becomes_the_targets(world: World) -> None:
    world = two_runs()
    long = "x" * 5000
    world.turn("a", call("signal", name="go", payload=long))
    assert world.payloads("b", "SignalReceived")[0]["payload"] == long


def test_cancel_asks_the_run_and_stops_what_it_had_started(world: World) -> None:
    world.start("b")
    world.turn("b", schedule(1), child("kid"))
    world.start("a")
    world.turn("a", call("cancel", reason="enough"))
    assert world.payloads("b", "WorkflowCancelRequested") == [{"reason": "enough"}]
    assert world.activity() is None
    assert world.status("kid") == "CANCELLED"
    assert ended(world) == [{"call_seq": 1}]


def test_cancel_of_a_run_nobody_took_is_final(world: World) -> None:
    world.start("a")
    task = world.take()
    world.start("b")
    world.commit(task, call("cancel"))
    assert (world.status("b"), ended(world)) == ("CANCELLED", [{"call_seq": 1}])


def test_terminate_ends_the_run_and_tells_its_parent(world: World) -> None:
    world.start("par")
    world.turn("par", child("b"))
    world.start("a")
    world.turn("a", call("terminate", reason="enough"))
    record = world.record("b")
    assert (record.head.status, record.error) == ("FAILED", "enough")
    assert world.payloads("par", "ChildWorkflowFailed")[0]["error"] == "enough"


@pytest.mark.parametrize("command", ALL, ids=lambda command: command["call"])
def test_a_run_that_is_not_there_or_has_ended_is_an_error(
    world: World, command: dict[str, Any]
) -> None:
    world.start("a")
    world.turn("a", command)
    world.start("b")
    world.poll()
    world.terminate("b")
    before = world.head("b")
    world.commands("a", command | {"seq": 2})
    assert ended(world) == [
        {"call_seq": 1, "error": NOT_FOUND},
        {"call_seq": 2, "error": CLOSED},
    ]
    assert world.head("b") == before


@pytest.mark.parametrize("command", ALL, ids=lambda command: command["call"])
def test_it_lands_once_and_is_noted_once_whenever_its_sender_dies(command: dict[str, Any]) -> None:
    tried = 0
    for world in worlds_that_die(lambda world: world.turn("a", command), two_runs):
        recover(world)
        if "WorkflowCalled" not in world.events("a"):
            world.pass_secs(40)
            world.turn("a", command)
        assert world.events("b").count(LANDS_AS[command["call"]]) == 1
        assert ended(world) == [{"call_seq": 1}]
        assert not world.head("a").owed
        tried += 1
    assert tried > 6


@pytest.mark.parametrize("command", ALL[1:], ids=lambda command: command["call"])
def test_what_a_stopped_run_had_started_is_stopped_whenever_its_caller_dies(
    command: dict[str, Any],
) -> None:
    def fresh() -> World:
        world = World()
        world.start("b")
        world.turn("b", schedule(1), child("kid"))
        recover(world)  # it owes nothing any more, so nobody settles it by chance
        world.start("a")
        return world

    for world in worlds_that_die(lambda world: world.turn("a", command), fresh):
        recover(world)
        if "WorkflowCalled" not in world.events("a"):
            world.pass_secs(40)
            world.turn("a", command)
        assert world.activity() is None
        assert world.status("kid") == "CANCELLED"
        assert ended(world) == [{"call_seq": 1}]


@pytest.mark.parametrize("command", ALL, ids=lambda command: command["call"])
@pytest.mark.parametrize("when", ["transact", "update"])
def test_two_who_pay_at_once_deliver_once(command: dict[str, Any], when: str) -> None:
    world = two_runs()
    task = world.take()
    # The first update is the commit, the second notes the outcome.
    in_the_middle(world, lambda: pay(world), when, count=2 if when == "update" else 1)
    world.commit(task, command)
    assert world.events("b").count(LANDS_AS[command["call"]]) == 1
    assert ended(world) == [{"call_seq": 1}]


@pytest.mark.parametrize("command", ALL, ids=lambda command: command["call"])
def test_a_run_that_closes_in_the_middle_is_closed(command: dict[str, Any]) -> None:
    world = two_runs()
    task = world.take()
    in_the_middle(world, lambda: world.terminate("b", "faster"), "transact")
    world.commit(task, command)
    assert world.record("b").error == "faster"
    assert ended(world) == [{"call_seq": 1, "error": CLOSED}]


def test_the_first_to_find_nobody_there_is_right_for_everybody(world: World) -> None:
    world.start("a")
    task = world.take()

    def somebody_else_gives_up() -> None:
        pay(world)
        world.start("b")

    # Between this payer's look, which shows nobody, and its verdict.
    in_the_middle(world, somebody_else_gives_up, "put")
    world.commit(task, call("signal", name="go"))
    pay(world)
    assert world.events("b") == ["WorkflowStarted"]
    assert ended(world) == [{"call_seq": 1, "error": NOT_FOUND}]


def test_a_call_right_before_the_end_is_made_all_the_same(world: World) -> None:
    world = two_runs()
    world.turn("a", call("signal", name="go"), COMPLETE)
    assert world.events("b")[-1] == "SignalReceived"
    assert world.events("a") == ["WorkflowStarted", "WorkflowCalled", "WorkflowCompleted"]
    assert world.head("a").due is None


@pytest.mark.parametrize("closes", [True, False])
def test_a_busy_run_is_called_later(closes: bool) -> None:
    world = two_runs()
    engine = world.engine
    task = world.take()
    keep_busy(world, world.head("b").key)
    done = world.commit(task, call("signal", name="go"), *([COMPLETE] if closes else []))
    assert done["status"] == "accepted"
    assert world.events("b")[-1] == "WorkflowAwaitingSignal"
    world.engine = engine
    recover(world)
    assert world.events("b")[-1] == "SignalReceived"
    assert world.head("a").owed is None
    assert world.events("a")[-1] == ("WorkflowCompleted" if closes else "WorkflowCallEnded")


def test_a_signal_to_a_leased_run_waits_for_its_commit(world: World) -> None:
    world = two_runs()
    world.signal("b", "x")
    holder = world.take("x2")
    assert holder["run"]["id"] == "a"
    world.take("x3")
    world.commit(holder, call("signal", name="go"), worker="x2")
    assert world.events("b")[-1] == "SignalReceived"
    assert world.head("b").lease_worker == "x3"


def test_a_fused_step_may_call(world: World) -> None:
    world = two_runs()
    world.terminate("a")
    world.start("c")
    task = world.take()
    answer = world.commit(task, schedule(1))
    fused = step(task, 1, answer["version"], call("signal", name="go"), at=world.clock.time)
    done = world.report(**fused)
    assert (done["status"], done["version"]) == ("accepted", answer["version"] + 2)
    assert world.report(**fused)["status"] == "accepted", "a repeat"
    assert world.events("b").count("SignalReceived") == 1


def test_a_seq_that_was_used_adds_nothing(world: World) -> None:
    world = two_runs()
    world.turn("a", call("signal", name="go"))
    world.turn("a", call("signal", name="go"), call("signal", name="go", seq=2))
    assert world.events("b").count("SignalReceived") == 2
    assert [one["call_seq"] for one in world.payloads("a", "WorkflowCalled")] == [1, 2]


def test_a_run_may_call_itself(world: World) -> None:
    world.start("a")
    world.turn("a", call("signal", workflow_id="a", name="go"))
    assert world.events("a")[1:] == ["WorkflowCalled", "SignalReceived", "WorkflowCallEnded"]


def test_a_full_run_is_flushed_and_then_called(world: World) -> None:
    world = two_runs()
    head = world.head("b")
    world.store._replace(head.key, _stuffed(head))
    world.turn("a", call("signal", name="go"))
    assert world.events("b")[-1] == "SignalReceived"


def _stuffed(head: Head) -> Head:
    text = head.tail[-1]
    count = 70_000 // len(text)
    return replace(
        head,
        tail=head.tail + (text,) * count,
        length=head.length + count,
        tail_bytes=head.tail_bytes + len(text) * count,
    )


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"seq": 0}, "seq"),
        ({"seq": None}, "seq"),
        ({"call": "poke"}, "call"),
        ({"workflow_id": ""}, "workflow_id"),
        ({"workflow_id": 5}, "workflow_id"),
        ({"workflow_id": "x" * 513}, "workflow_id"),
        ({"name": None}, "name"),
        ({"name": "a\x1fb"}, "name"),
        ({"reason": 5}, "reason"),
        ({"deadline": -1}, "deadline"),
        ({"request_id": "x" * 65}, "request_id"),
        ({"request_id": ""}, "request_id"),
        ({"reply_to": []}, "reply_to"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_recorded(
    world: World, fields: dict[str, Any], named: str
) -> None:
    world.start("a")
    answer = world.commit(world.take(), call("signal", name="go") | fields)
    assert (answer["status"], named in answer["error"]) == ("invalid", True)
    assert world.events("a") == ["WorkflowStarted"]
