"""One id used again: policies of a start, what the old run still owes, and who may read it."""

from typing import Any

import pytest

from assay_engine.app import queries, runs
from assay_engine.app.names import RunRef
from assay_engine.app.start import Message
from assay_engine.app.starting import IdConflictPolicy, IdReusePolicy, StartRun
from assay_engine.app.views import Started
from assay_engine.core.errors import ConflictError, NotFoundError
from assay_engine.core.keys import Key, join
from assay_engine.core.options import Options
from assay_engine.core.run import Record
from tests.app.interrupted import deaths, interrupted
from tests.app.world import COMPLETE, FAIL, World, child, schedule, wait

USE = IdConflictPolicy.USE_EXISTING
TERMINATE = IdConflictPolicy.TERMINATE_EXISTING


def again(
    world: World,
    run_id: str = "a",
    on_conflict: IdConflictPolicy = IdConflictPolicy.FAIL,
    on_reuse: IdReusePolicy = IdReusePolicy.ALLOW,
    **fields: Any,
) -> Started:
    request = {"run_id": run_id, "type": "Flow", "queue": "q", **fields}
    return runs.start(world.engine, StartRun(on_conflict=on_conflict, on_reuse=on_reuse, **request))


def completed(world: World) -> str:
    """A run that has ended, and its run_id."""
    world.start("a", input=1)
    world.turn("a", COMPLETE)
    return world.head("a").incarnation_id


def test_the_first_incarnation_keeps_its_run_id_and_later_ones_have_their_nonce(
    world: World,
) -> None:
    assert completed(world) == "run-a-1000000"
    second = again(world)
    assert second.run_id == f"run-a-1000000-{world.head('a').nonce}"
    assert (second.started, second.status) == (True, "PENDING")


def test_each_incarnation_is_read_by_its_run_id(world: World) -> None:
    first = completed(world)
    second = again(world, input=2).run_id
    world.turn("a", FAIL)
    third = again(world, input=3).run_id

    def seen(run_id: str | None) -> tuple[str | None, str]:
        view = queries.describe(world.engine, RunRef(run_id="a", incarnation=run_id))
        return view.input, view.head.status

    assert [seen(one) for one in (first, second, third, None)] == [
        ("1", "COMPLETED"),
        ("2", "FAILED"),
        ("3", "PENDING"),
        ("3", "PENDING"),
    ]
    old = queries.events(world.engine, RunRef(run_id="a", incarnation=first), None)
    assert [(event.type, event.payload) for event in old] == [
        ("WorkflowStarted", 1),
        ("WorkflowCompleted", "done"),
    ]


@pytest.mark.parametrize("run_id", ["run-a-1", "run-a-1000000-x", "run-b-1000000", "", "a"])
def test_a_run_id_that_was_never_given_is_not_found(world: World, run_id: str) -> None:
    completed(world)
    again(world)
    for read in (queries.describe, lambda e, r: queries.events(e, r, None), queries.children):
        with pytest.raises(NotFoundError):
            read(world.engine, RunRef(run_id="a", incarnation=run_id))


def test_lists_show_the_newest_incarnation_only(world: World) -> None:
    completed(world)
    again(world)
    (listed,) = queries.list_runs(world.engine, queries.RunFilter())
    assert listed.head.status == "PENDING"


@pytest.mark.parametrize(
    ("ending", "policy", "allowed"),
    [
        ("complete", IdReusePolicy.ALLOW, True),
        ("complete", IdReusePolicy.AFTER_FAILURE, False),
        ("complete", IdReusePolicy.REJECT, False),
        ("fail", IdReusePolicy.AFTER_FAILURE, True),
        ("cancel", IdReusePolicy.AFTER_FAILURE, True),
        ("terminate", IdReusePolicy.AFTER_FAILURE, True),
        ("fail", IdReusePolicy.REJECT, False),
    ],
)
def test_the_reuse_policy_decides_about_an_id_whose_run_has_ended(
    world: World, ending: str, policy: IdReusePolicy, allowed: bool
) -> None:
    world.start("a")
    match ending:
        case "complete" | "fail":
            world.turn("a", COMPLETE if ending == "complete" else FAIL)
        case _:
            getattr(world, ending)("a")
    before = world.head("a")
    if allowed:
        assert again(world, on_reuse=policy, on_conflict=USE).started
        assert world.status("a") == "PENDING"
        return
    with pytest.raises(ConflictError) as refused:
        again(world, on_reuse=policy, on_conflict=USE)
    assert (refused.value.code, world.head("a")) == ("already_exists", before)


def test_without_a_policy_a_taken_id_is_a_conflict_open_or_not(world: World) -> None:
    world.start("a")
    for _ in range(2):
        with pytest.raises(ConflictError):
            world.start("a")
        if world.head("a").is_open:
            world.turn("a", COMPLETE)


def test_an_open_run_is_used_as_it_is(world: World) -> None:
    world.start("a")
    world.poll()
    found = again(world, on_conflict=USE, on_reuse=IdReusePolicy.REJECT)
    assert (found.started, found.run_id, found.status) == (False, "run-a-1000000", "RUNNING")


def test_messages_stand_right_behind_the_start(world: World) -> None:
    messages = (Message(name="add", payload={"n": 1}), Message(name="add"), Message(name="go"))
    again(world, messages=messages)
    assert world.events("a") == ["WorkflowStarted", *["SignalReceived"] * 3]
    assert world.payloads("a", "SignalReceived") == [
        {"signal": "add", "payload": {"n": 1}},
        {"signal": "add", "payload": None},
        {"signal": "go", "payload": None},
    ]
    task = world.poll()
    assert task is not None
    assert len(task.history) == 4


def test_messages_to_an_existing_run_are_delivered_all_at_once(world: World) -> None:
    world.start("a")
    world.turn("a", wait("add"))
    version = world.head("a").version
    big = "x" * 3000
    again(world, on_conflict=USE, messages=(Message(name="add"), Message(name="add", payload=big)))
    assert world.head("a").version == version + 1
    assert world.payloads("a", "SignalReceived")[1] == {"signal": "add", "payload": big}
    assert world.poll() is not None


def test_terminate_existing_ends_the_open_run_and_starts_another(world: World) -> None:
    world.start("a")
    world.turn("a", schedule(1), child("kid"))
    second = again(world, on_conflict=TERMINATE, on_reuse=IdReusePolicy.REJECT)
    old = queries.describe(world.engine, RunRef(run_id="a", incarnation="run-a-1000000"))
    assert (old.head.status, old.error) == (
        "FAILED",
        "terminated: another run was started with this id",
    )
    assert (second.started, world.status("a"), world.status("kid")) == (
        True,
        "PENDING",
        "CANCELLED",
    )
    assert world.activity() is None
    assert old.head.due is None


def test_a_start_that_terminates_never_leaves_the_id_without_an_open_run() -> None:
    """Whoever dies at it has done nothing, or all of it; debts are paid by the next look."""

    def make() -> World:
        world = World()
        world.start("a")
        world.turn("a", schedule(1), child("kid"))
        return world

    died = deaths(make, lambda world: again(world, on_conflict=TERMINATE))
    assert len(died) > 3
    for world in died:
        assert world.head("a").is_open
        if world.head("a").first is None:
            continue
        world.pass_secs(20)
        world.tick()
        assert (world.status("kid"), world.activity()) == ("CANCELLED", None)
        old = queries.describe(world.engine, RunRef(run_id="a", incarnation="run-a-1000000"))
        assert old.head.due is None


def test_two_starts_that_terminate_at_once_leave_one_open_run(world: World) -> None:
    world.start("a")
    second: list[Started] = []
    interrupted(
        world,
        lambda: second.append(again(world, on_conflict=TERMINATE, input="second")),
        lambda: second.append(again(world, on_conflict=TERMINATE, input="third")),
    )
    statuses = [
        queries.describe(world.engine, RunRef(run_id="a", incarnation=one.run_id)).head.status
        for one in second
    ]
    assert statuses == ["FAILED", "PENDING"]
    assert world.record("a").input == '"third"'


def test_of_two_reuses_at_once_one_starts_the_run_and_the_other_uses_it(world: World) -> None:
    completed(world)
    found: list[Started] = []

    def start(mark: str) -> None:
        found.append(again(world, on_conflict=USE, messages=(Message(name=mark),)))

    interrupted(world, lambda: start("m1"), lambda: start("m2"))
    assert [one.started for one in found] == [True, False]
    assert found[0].run_id == found[1].run_id
    assert [p["signal"] for p in world.payloads("a", "SignalReceived")] == ["m1", "m2"]


def test_a_run_that_closes_while_it_is_used_is_replaced(world: World) -> None:
    """The messages go to one run, all of them."""
    world.start("a")
    task = world.take()
    found: list[Started] = []
    messages = (Message(name="m1"), Message(name="m2"))
    interrupted(
        world,
        lambda: world.commit(task, COMPLETE),
        lambda: found.append(again(world, on_conflict=USE, messages=messages)),
        call="update",
    )
    assert found[0].started
    assert world.events("a") == ["WorkflowStarted", "SignalReceived", "SignalReceived"]


def test_messages_go_to_the_run_that_the_answer_names(world: World) -> None:
    """The run was replaced between the look and the write."""
    world.start("a")
    found: list[Started] = []
    messages = (Message(name="m", payload="x" * 3000),)
    interrupted(
        world,
        lambda: again(world, on_conflict=TERMINATE),
        lambda: found.append(again(world, on_conflict=USE, messages=messages)),
        call="update",
    )
    ref = RunRef(run_id="a", incarnation=found[0].run_id)
    payloads = [event.payload for event in queries.events(world.engine, ref, None)]
    assert payloads == [None, {"signal": "m", "payload": "x" * 3000}]


def test_a_big_payload_of_a_signal_stands_beside_the_run_that_got_it(world: World) -> None:
    world.start("a")
    interrupted(
        world,
        lambda: again(world, on_conflict=TERMINATE),
        lambda: world.signal("a", "big", "x" * 3000),
        call="update",
    )
    assert world.payloads("a", "SignalReceived") == [{"signal": "big", "payload": "x" * 3000}]


def test_versions_go_on_counting_so_that_old_writes_never_fit(world: World) -> None:
    completed(world)
    old = world.head("a").version
    again(world)
    assert world.head("a").version == old + 1


def test_a_worker_of_the_old_incarnation_is_stale(world: World) -> None:
    world.start("a")
    task = world.take()
    again(world, on_conflict=TERMINATE)
    assert world.commit(task, COMPLETE)["status"] == "stale"
    assert world.status("a") == "PENDING"


def test_an_outcome_of_the_old_incarnation_never_reaches_the_new_one(world: World) -> None:
    world.start("a")
    world.turn("a", schedule(1))
    running = world.taken()
    again(world, on_conflict=TERMINATE)
    world.turn("a", schedule(1))
    world.complete(running, "old")
    assert "ActivityCompleted" not in world.events("a")


def test_a_heartbeat_of_a_replaced_run_says_that_it_is_over(world: World) -> None:
    world.start("a")
    world.commit(world.take(), schedule(1), eager=0)
    activity = world.take_activity()
    again(world, on_conflict=TERMINATE)
    beat = world.report(
        id="h", kind="heartbeat", run=activity["run"], seq=1, attempt=1,
        activity_id=activity["activity_id"],
    )  # fmt: skip
    assert beat["cancel_requested"] is True


def test_a_closed_run_that_owes_pays_after_its_id_was_used_again() -> None:
    def make() -> World:
        world = World()
        world.start("a")
        return world

    def close(world: World) -> None:
        task = world.poll()
        assert task is not None
        world.commands("a", schedule(1, name="last"), COMPLETE)

    for world in deaths(make, close):
        if world.head("a").is_open:
            continue
        again(world)
        world.pass_secs(20)
        world.tick()
        found = world.activity()
        assert found is not None
        assert found.name == "last"


def prefix(world: World, run_id: str, letter: str) -> Any:
    return Key(world.head(run_id).key.pk, join(letter, ""))


def test_memo_is_in_the_record_and_the_record_belongs_to_its_incarnation(world: World) -> None:
    again(world, options=Options(memo={"who": "me"}))
    assert world.record("a").memo == '{"who":"me"}'
    world.turn("a", COMPLETE)
    again(world)
    assert world.record("a").memo is None
    records = list(world.store.query(Record, prefix(world, "a", "R")))
    assert len(records) == 2
