"""MemoryStore says what a store does; here DynamoStore does the same, call by call."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from assay_engine.app.ports import DueEntry, PutIf, Store, Stored, Update
from assay_engine.core import keys
from assay_engine.core.activity import Activity
from assay_engine.core.change import Change, Condition
from assay_engine.core.keys import Key
from assay_engine.core.run import Chunk, Head
from assay_engine.store.dynamo import DynamoStore
from assay_engine.store.memory import MemoryStore
from tests.store import strategies as some
from tests.store.records import outcome

KINDS: dict[type[Stored], list[Key]] = {
    Head: some.HEADS,
    Activity: some.ACTIVITIES,
    Chunk: some.CHUNKS,
}


def _key(write: PutIf | Update) -> Key:
    return write.record.key if isinstance(write, PutIf) else write.key


writes = st.builds(PutIf, some.heads, some.guards) | some.updates.map(lambda u: Update(*u))


class Twins(RuleBasedStateMachine):
    """The same calls to both; whatever they answer must be equal."""

    def __init__(self, real: DynamoStore) -> None:
        super().__init__()
        self.real = real
        self.model = MemoryStore()
        real.create_table()

    def teardown(self) -> None:
        try:
            self.compare_everything()
        finally:
            self.real.delete_table()

    def both(self, call: Callable[[Store], Any]) -> None:
        expected = outcome(lambda: call(self.model))
        assert outcome(lambda: call(self.real)) == expected

    @rule(record=some.records)
    def put(self, record: Stored) -> None:
        self.both(lambda store: store.put(record))

    @rule(record=some.heads, when=some.guards)
    def replace(self, record: Head, when: tuple[Condition, ...]) -> None:
        self.both(lambda store: store.put(record, when))

    @rule(update=some.updates)
    def update(self, update: tuple[type[Head], Key, Change]) -> None:
        self.both(lambda store: store.update(*update))

    @rule(key=st.sampled_from(some.HEADS), when=some.guards)
    def delete(self, key: Key, when: tuple[Condition, ...]) -> None:
        self.both(lambda store: store.delete(Head, key, when))

    @rule(several=st.lists(writes, min_size=1, max_size=4, unique_by=_key))
    def transact(self, several: list[PutIf | Update]) -> None:
        self.both(lambda store: store.transact(several))

    @rule(
        run=st.sampled_from(some.HEADS),
        after=st.none() | st.sampled_from(some.CHUNKS).map(lambda key: key.sk),
        limit=st.none() | st.integers(1, 3),
        descending=st.booleans(),
    )
    def query(self, run: Key, after: str | None, limit: int | None, descending: bool) -> None:
        prefix = keys.chunks(run, "n1")
        self.both(
            lambda store: list(
                store.query(Chunk, prefix, after=after, limit=limit, descending=descending)
            )
        )

    @rule(slot=st.sampled_from(some.SLOTS), limit=st.integers(1, 3))
    def page_through_the_due_index(self, slot: str, limit: int) -> None:
        found: list[DueEntry] = []
        while page := self.real.due(slot, limit=limit, after=found[-1] if found else None):
            assert len(page) <= limit
            found += page
        assert [entry.due for entry in found] == sorted(entry.due for entry in found)
        # Who comes first among entries of one moment is not said.
        assert sorted(found, key=lambda e: (e.due, e.key)) == self.model.due(slot, limit=100)

    @rule()
    def compare_everything(self) -> None:
        for kind, places in KINDS.items():
            self.both(lambda store: store.get_many(kind, places))  # noqa: B023
        self.both(lambda store: sorted(store.heads(), key=lambda head: head.key))
        self.both(lambda store: sorted(store.activities(), key=lambda activity: activity.key))


@pytest.mark.parametrize(
    ("server", "examples"),
    [("dynoxide", 12), ("dynoxide-lean", 40), ("moto", 4), ("dynamodb-local", 6)],
)
def test_dynamo_store_does_what_memory_store_does(
    server: str, examples: int, request: pytest.FixtureRequest
) -> None:
    real = request.getfixturevalue(server)
    run_state_machine_as_test(
        lambda: Twins(real),  # type: ignore[arg-type]  # anything that makes a machine will do
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
