"""Where old clients loop or stick, and what the engine does about it."""

from assay_engine.app import queries
from tests.app.world import COMPLETE, World, schedule, timer, wait

UPSERT = {"type": "UpsertSearchAttributes", "patch": {"stage": "deploy"}}


def test_a_null_side_effect_is_shipped_as_false_and_recorded_once(world: World) -> None:
    record = {"type": "RecordSideEffect", "seq": 1, "name": "n"}
    world.start("a")
    world.turn("a", record)
    task = world.turn("a", record)
    assert task.history[-1].payload == {"side_effect_seq": 1, "name": "n", "value": False}
    assert world.payloads("a", "SideEffectRecorded") == [
        {"side_effect_seq": 1, "name": "n", "value": None}
    ]


def test_the_first_value_of_a_side_effect_stays(world: World) -> None:
    world.start("a")
    world.turn("a", {"type": "RecordSideEffect", "seq": 1, "name": "n", "value": 1})
    world.turn("a", {"type": "RecordSideEffect", "seq": 1, "name": "n", "value": 2})
    assert [p["value"] for p in world.payloads("a", "SideEffectRecorded")] == [1]


def test_a_side_effect_is_handed_back_to_the_client_that_yielded_for_it(world: World) -> None:
    world.start("a")
    world.turn("a", {"type": "RecordSideEffect", "seq": 1, "name": "n", "value": 1})
    assert world.poll() is not None


def test_an_upsert_is_merged_and_its_client_woken_once(world: World) -> None:
    world.start("a", search_attributes={"env": "prod"})
    world.turn("a", UPSERT)
    attributes = str(world.record("a").search_attributes)
    assert '"env":"prod"' in attributes
    assert '"stage":"deploy"' in attributes
    world.turn("a", UPSERT)
    assert world.poll() is None
    assert world.events("a") == ["WorkflowStarted", "SearchAttributesUpserted", "WorkflowStalled"]


def test_a_stalled_run_goes_on_when_a_client_gets_past_the_upsert(world: World) -> None:
    world.start("a")
    world.turn("a", UPSERT)
    world.turn("a", UPSERT)
    world.signal("a", "poke")
    world.turn("a", COMPLETE)
    assert world.status("a") == "COMPLETED"


def test_a_counted_upsert_wakes_nobody_and_is_not_repeated(world: World) -> None:
    world.start("a")
    world.turn("a", {**UPSERT, "seq": 1})
    assert world.poll() is None
    world.signal("a", "poke")
    world.turn("a", {**UPSERT, "seq": 1})
    assert world.events("a").count("SearchAttributesUpserted") == 1


def test_a_repeated_wait_adds_no_event_until_the_signal_came(world: World) -> None:
    world.start("a")
    world.turn("a", wait("go"))
    world.signal("a", "other")
    world.turn("a", wait("go"))
    assert world.events("a").count("WorkflowAwaitingSignal") == 1
    world.signal("a", "go")
    world.turn("a", wait("go"))
    assert world.events("a").count("WorkflowAwaitingSignal") == 2


def test_empty_batches_park_the_run(world: World) -> None:
    world.start("a")
    world.turn("a")
    assert world.poll() is None
    assert world.status("a") == "RUNNING"


def test_the_state_is_the_newest_snapshot_and_old_ones_go(world: World) -> None:
    world.start("a")
    for step in range(3):
        world.turn("a", {"type": "RecordSnapshot", "state": {"step": step}}, wait("go"))
        world.signal("a", "go")
    found = queries.state(world.engine, queries.RunRef(run_id="a"))
    assert found.state == {"step": 2}
    partition = world.head("a").key.pk
    kept = [key for key in world.store._records if key.pk == partition and key.sk.startswith("S")]
    assert len(kept) == 1


def test_a_long_batch_is_recorded_whole(world: World) -> None:
    world.start("a")
    world.turn("a", *(schedule(seq, input="x" * 900) for seq in range(1, 501)))
    assert world.events("a").count("ActivityScheduled") == 500
    assert {world.taken().seq for _ in range(500)} == set(range(1, 501))


def test_hundreds_of_timers_in_one_batch_all_fire(world: World) -> None:
    world.start("a")
    world.turn("a", *(timer(seq, seq / 100) for seq in range(1, 401)))
    world.pass_secs(5)
    task = world.poll()
    assert task is not None
    assert sum(event.type == "TimerFired" for event in task.history) == 400
