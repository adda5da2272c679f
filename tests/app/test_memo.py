"""Memos: merged into the record as patches are, in the order of their events."""

from typing import Any

import pytest

from assay_engine.core import values
from tests.app.crashes import recover, worlds_that_die
from tests.app.test_exchange import eager_run, step
from tests.app.world import COMPLETE, World


def upsert(seq: int = 1, **fields: Any) -> dict[str, Any]:
    return {"type": "UpsertSearchAttributes", "seq": seq, "patch": {}, **fields}


def memo(world: World) -> Any:
    text = world.record("a").memo
    return None if text is None else values.parse(text)


def test_a_memo_is_merged_key_by_key_and_shown_in_its_event(world: World) -> None:
    world.start("a")
    assert memo(world) is None
    first = upsert(memo={"a": 1, "b": "x" * 2000})
    done = world.commit(world.take(), first, upsert(2, patch={"k": 1}), upsert(3, memo={"a": 2}))
    assert done["version"] == 4
    assert memo(world) == {"a": 2, "b": "x" * 2000}
    assert '"k":1' in str(world.record("a").search_attributes)
    assert world.payloads("a", "SearchAttributesUpserted") == [
        {"upsert_seq": 1, "patch": {}, "memo": {"a": 1, "b": "x" * 2000}},
        {"upsert_seq": 2, "patch": {"k": 1}},
        {"upsert_seq": 3, "patch": {}, "memo": {"a": 2}},
    ]


def test_an_upsert_without_a_memo_leaves_the_record_as_it_was(world: World) -> None:
    world.start("a")
    world.turn("a", upsert(patch={"k": 1}))
    assert world.record("a").memo is None


def test_a_memo_in_a_fused_step_and_before_the_end(world: World) -> None:
    task, answer = eager_run(world)
    fused = step(task, 1, answer["version"], upsert(memo={"a": 1}), COMPLETE, at=world.clock.time)
    assert world.report(**fused)["status"] == "accepted"
    assert memo(world) == {"a": 1}
    assert world.head("a").due is None


def test_a_memo_whose_process_dies_is_merged_by_another(world: World) -> None:
    def fresh() -> World:
        world = World()
        world.start("a")
        return world

    for each in worlds_that_die(lambda w: w.turn("a", upsert(memo={"a": 1})), fresh):
        recover(each)
        if "SearchAttributesUpserted" in each.events("a"):
            assert memo(each) == {"a": 1}


@pytest.mark.parametrize("wrong", ["text", 5, [1]])
def test_a_memo_that_is_no_object_is_invalid(world: World, wrong: Any) -> None:
    world.start("a")
    answer = world.commit(world.take(), upsert(memo=wrong))
    assert (answer["status"], "memo" in answer["error"]) == ("invalid", True)


def test_an_old_client_with_a_new_memo_is_not_stalled(world: World) -> None:
    world.start("a")
    world.turn("a", {"type": "UpsertSearchAttributes", "patch": {}, "memo": {"a": 1}})
    world.turn("a", {"type": "UpsertSearchAttributes", "patch": {}, "memo": {"a": 2}})
    assert memo(world) == {"a": 2}
