"""Exchange: batched reports, eager activities, the fused step, and lost answers."""

from dataclasses import replace

import pytest

from assay_engine.app import queries
from assay_engine.app.exchange import exchange
from assay_engine.core.errors import InvalidError, ShapeError
from tests.app.world import COMPLETE, World, schedule, timer


def eager_run(world: World, *commands: dict[str, object]) -> tuple[dict, dict]:
    """A run whose first activity runs eagerly: its task, and the answer to its commands."""
    world.start("a")
    task = world.take()
    answer = world.commit(task, *(commands or (schedule(1),)))
    assert answer["status"] == "accepted"
    return task, answer


def step(task: dict, seq: int, version: int, *commands: dict, **fields: object) -> dict:
    then = {"version": version, "eager": 10, "commands": list(commands), "mark": None}
    then |= {name: fields.pop(name) for name in ("mark",) if name in fields}
    report = {"id": f"s{seq}", "attempt": 1, "result": seq, **fields}
    return {"kind": "completed", "run": task["run"], "seq": seq, "then": then, **report}


def test_an_activity_scheduled_by_its_own_worker_comes_straight_back(world: World) -> None:
    _, answer = eager_run(world)
    (activity,) = answer["activities"]
    assert (activity["seq"], activity["attempt"], activity["eager"]) == (1, 1, True)
    assert world.activity() is None


def test_only_activities_the_worker_has_a_handler_for_run_eagerly(world: World) -> None:
    world.start("a")
    task = world.take()
    report = {
        "id": "c",
        "kind": "commands",
        "run": task["run"],
        "lease": task["lease"],
        "eager": 5,
        "commands": [schedule(1, name="mine"), schedule(2, name="theirs")],
    }
    answer = world.exchange(activities=["mine"], reports=[report])["reports"][0]
    assert [activity["name"] for activity in answer["activities"]] == ["mine"]
    assert world.taken().name == "theirs"


def test_a_fused_step_is_one_write_and_goes_on(world: World) -> None:
    task, answer = eager_run(world)
    done = world.report(**step(task, 1, answer["version"], schedule(2), at=world.clock.time))
    assert (done["status"], done["version"]) == ("accepted", 4)
    assert [activity["seq"] for activity in done["activities"]] == [2]
    last = world.report(**step(task, 2, 4, COMPLETE, at=world.clock.time))
    assert last["status"] == "accepted"
    assert world.status("a") == "COMPLETED"
    assert world.head("a").due is None


def test_a_fused_step_that_lost_to_a_signal_keeps_the_outcome_and_drops_the_commands(
    world: World,
) -> None:
    task, answer = eager_run(world)
    world.signal("a", "go")
    done = world.report(**step(task, 1, answer["version"], schedule(2), at=world.clock.time))
    assert (done["status"], done["code"]) == ("refused", "history_moved")
    again = world.take(cached=[{"run": task["run"], "seq": answer["version"]}])
    assert [event["event_type"] for event in again["history"]] == [
        "SignalReceived",
        "ActivityCompleted",
    ]


def test_a_fused_step_against_a_lease_is_refused(world: World) -> None:
    task, answer = eager_run(world)
    world.signal("a", "go")
    world.take("x2")
    done = world.report(**step(task, 1, answer["version"] + 1, at=world.clock.time))
    assert (done["status"], done["code"]) == ("refused", "lease_held")
    assert world.events("a")[-1] == "ActivityCompleted"


def test_a_clock_too_far_off_keeps_the_outcome_with_the_engines_time(world: World) -> None:
    task, answer = eager_run(world)
    done = world.report(**step(task, 1, answer["version"], at=world.clock.time - 60))
    assert (done["status"], done["code"]) == ("refused", "clock_skew")
    assert world.events("a")[-1] == "ActivityCompleted"


def test_the_time_the_worker_gave_is_the_events_time(world: World) -> None:
    task, answer = eager_run(world)
    at = world.clock.time - 1.5
    world.report(**step(task, 1, answer["version"], at=at))
    views = queries.events(world.engine, queries.RunRef(run_id="a"), None)
    assert views[-1].at == at


def test_a_repeated_report_is_accepted_as_the_first_time(world: World) -> None:
    task, answer = eager_run(world)
    again = world.commit(task, schedule(1))
    assert again["status"] == "accepted"
    assert again["activities"] == answer["activities"]
    first = world.report(**step(task, 1, 2, schedule(2), at=world.clock.time))
    second = world.report(**step(task, 1, 2, schedule(2), at=world.clock.time))
    assert second == first
    assert world.head("a").length == 4


def test_a_stale_commit_is_told_which_activities_are_still_its_own(world: World) -> None:
    task, _ = eager_run(world)
    world.signal("a", "go")
    again = world.take()
    world.commit(again, timer(1, 50), id="c2")
    stale = world.commit(task, schedule(1), id="c1")
    assert stale["status"] == "stale"
    assert [activity["seq"] for activity in stale["activities"]] == [1]


def test_a_dead_workers_eager_activity_goes_to_another_after_the_lease(world: World) -> None:
    eager_run(world)
    world.pass_secs(31)
    assert world.exchange("x2", room={"workflows": 1})["workflow_tasks"] == []
    taken = world.take_activity("x2")
    assert (taken["seq"], taken["attempt"], taken["eager"]) == (1, 2, False)


def test_heartbeats_keep_an_eager_activity_and_their_details_reach_the_next_attempt(
    world: World,
) -> None:
    task, _ = eager_run(world)
    beat = {"kind": "heartbeat", "run": task["run"], "seq": 1, "attempt": 1, "details": {"p": 7}}
    for number in range(3):
        world.pass_secs(20)
        assert world.report(id=f"h{number}", **beat)["status"] == "accepted"
    world.tick()
    assert str(1) in world.head("a").eager
    world.pass_secs(31)
    world.exchange("x2", room={"workflows": 1})
    assert world.take_activity("x2")["details"] == {"p": 7}


def test_a_heartbeat_tells_of_a_cancel_request(world: World) -> None:
    task, _ = eager_run(world)
    beat = {"kind": "heartbeat", "run": task["run"], "seq": 1, "attempt": 1}
    assert world.report(id="h1", **beat)["cancel_requested"] is False
    world.cancel("a")
    assert world.report(id="h2", **beat)["cancel_requested"] is True


def test_a_failed_eager_attempt_is_retried_from_the_queue_after_its_backoff(world: World) -> None:
    task, _ = eager_run(world, schedule(1, initial_interval_secs=5.0))
    failure = {"kind": "failed", "run": task["run"], "seq": 1, "attempt": 1, "error": "boom"}
    assert world.report(id="f1", **failure)["status"] == "accepted"
    assert world.report(id="f1", **failure)["status"] == "stale"
    assert world.exchange(room={"activities": 1})["activity_tasks"] == []
    world.pass_secs(5.1)
    assert world.take_activity()["attempt"] == 2


def test_start_to_close_holds_for_eager_activities_too(world: World) -> None:
    task, _ = eager_run(world, schedule(1, start_to_close_secs=50, max_attempts=1))
    beat = {"kind": "heartbeat", "run": task["run"], "seq": 1, "attempt": 1}
    for number in range(4):
        world.pass_secs(13)
        world.report(id=f"h{number}", **beat)
    again = world.take("x2")
    assert again["history"][-1]["payload"]["error"] == "start-to-close time-out"


def test_a_final_failure_can_be_fused(world: World) -> None:
    task, answer = eager_run(world, schedule(1, max_attempts=1))
    report = step(task, 1, answer["version"], COMPLETE, at=world.clock.time)
    report |= {"kind": "failed", "error": "no"}
    assert world.report(**report)["status"] == "accepted"
    assert world.events("a")[-2:] == ["ActivityFailed", "WorkflowCompleted"]


def test_commands_after_a_failure_that_is_tried_again_are_invalid(world: World) -> None:
    task, answer = eager_run(world)
    report = step(task, 1, answer["version"], COMPLETE, at=world.clock.time)
    report |= {"kind": "failed", "error": "no"}
    assert world.report(**report)["status"] == "invalid"


def test_outcomes_of_queued_activities_are_taken_and_repeated_safely(world: World) -> None:
    world.start("a")
    task = world.take()
    world.commit(task, schedule(1), schedule(2), eager=0)
    first, second = world.take_activity("x1"), world.take_activity("x2")
    report = {"kind": "completed", "run": task["run"], "seq": 1, "attempt": 1, "result": 5}
    named = {"id": "r", "activity_id": first["activity_id"], **report}
    assert world.report("x1", **named)["status"] == "accepted"
    assert world.report("x1", **named)["status"] == "accepted"
    bare = {"id": "r2", **report, "seq": 2}
    assert world.report("x2", **bare)["status"] == "accepted"
    assert second["seq"] == 2
    assert world.events("a").count("ActivityCompleted") == 2


def test_a_released_eager_activity_waits_in_the_queue_with_the_same_attempt(world: World) -> None:
    task, _ = eager_run(world)
    world.report(id="r", kind="release", run=task["run"], seq=1, attempt=1)
    assert world.take_activity("x2")["attempt"] == 1


def test_one_bad_report_fails_nothing_else(world: World) -> None:
    task, _ = eager_run(world)
    good = {"id": "h", "kind": "heartbeat", "run": task["run"], "seq": 1, "attempt": 1}
    bad = [5, {"id": "x"}, {"id": "y", "kind": "nonsense", "run": task["run"]}]
    answers = world.exchange(reports=[*bad, good])["reports"]
    assert [answer["status"] for answer in answers] == ["invalid"] * 3 + ["accepted"]


def test_runs_of_another_namespace_cannot_be_reported_on(world: World) -> None:
    task, _ = eager_run(world)
    report = {"id": "h", "kind": "heartbeat", "run": task["run"], "seq": 1, "attempt": 1}
    answer = world.exchange(namespace="other", reports=[report])["reports"][0]
    assert answer["status"] == "stale"


def test_a_long_history_comes_in_pages(world: World) -> None:
    world.start("a")
    for _ in range(40):
        world.signal("a", "big", "x" * 50_000)
    task = world.take()
    seqs = [event["seq"] for event in task["history"]]
    cursor = task["history_next"]
    while cursor is not None:
        (page,) = world.exchange(pages=[{"run": task["run"], "cursor": cursor}])["pages"]
        seqs += [event["seq"] for event in page["history"]]
        cursor = page["history_next"]
    assert seqs == list(range(1, 42))


def test_marks_cut_the_tail_within_the_next_step(world: World) -> None:
    task, answer = eager_run(world)
    version, mark = answer["version"], None
    marked = 0
    for seq in range(1, 40):
        report = step(task, seq, version, schedule(seq + 1), at=world.clock.time, mark=mark)
        report["result"] = "r" * 60
        done = world.report(**report)
        assert done["status"] == "accepted"
        version, mark = done["version"], done["mark"]
        marked += mark is not None
        assert world.head("a").tail_bytes < 1_000
    assert marked > 5
    assert len(world.events("a")) == version


def test_a_forged_mark_cuts_nothing(world: World) -> None:
    task, answer = eager_run(world)
    forged = step(task, 1, 2, schedule(2), at=world.clock.time, mark="0.2.AAAAAAAAAAAA")
    assert world.report(**forged)["status"] == "accepted"
    assert world.head("a").base == 0
    assert len(world.events("a")) == 4
    assert answer["mark"] is None


@pytest.mark.parametrize(
    "request_fields",
    [
        {"worker_id": 5},
        {"reports": "x"},
        {"room": 5},
        {"room": {"workflows": "many"}},
        {"room": {"workflows": 1}, "queue": None},
        {"wait_secs": "long", "room": {"workflows": 1}},
        {"workflows": [1]},
        {"pages": [{}]},
    ],
    ids=str,
)
def test_a_request_of_the_wrong_shape_is_refused(world: World, request_fields: dict) -> None:
    with pytest.raises(ShapeError):
        exchange(world.engine, {"worker_id": "x1", "queue": "q", **request_fields})


def test_another_protocol_is_refused(world: World) -> None:
    with pytest.raises(InvalidError):
        world.exchange(protocol=2)


def test_a_worker_that_died_while_it_waited_is_given_nothing(world: World) -> None:
    world.start("a")
    request = {"worker_id": "x1", "queue": "q", "room": {"workflows": 1}, "wait_secs": 20}
    task = world.take()
    world.commit(task, timer(1, 0.001), eager=0)

    class Waiting:
        """Time passes while the call waits, and its worker dies."""

        def notify(self, slot: str) -> None: ...

        def pass_on(self, slots: object) -> None: ...

        def ticket(self, slots: object) -> int:
            return 0

        def wait(self, slots: object, ticket: int, timeout: float) -> bool:
            world.pass_secs(timeout)
            return False

    engine = replace(world.engine, wakeups=Waiting())
    assert exchange(engine, request, lambda: True)["workflow_tasks"] == []
    assert len(exchange(engine, request, lambda: False)["workflow_tasks"]) == 1
