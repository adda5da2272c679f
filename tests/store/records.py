"""Small records to write, and what comes of writing them, as values to compare."""

from collections.abc import Callable
from typing import Any

from assay_engine.app.ports import ConditionFailedError, Store, TransactionRefusedError
from assay_engine.core import keys
from assay_engine.core.activity import Activity
from assay_engine.core.change import Action, Change, Condition
from assay_engine.core.errors import AssayError
from assay_engine.core.run import Chunk, Head

SLOT = keys.slot("main", "q", keys.WORKFLOWS)
NOW = 1_763_467_200.1234567


def head(run_id: str = "r1", **fields: Any) -> Head:
    plain = {"nonce": "n1", "type": "order", "slot": SLOT, "created_at": NOW, "length": 1}
    return Head(key=keys.head("main", run_id), **{**plain, **fields})


def activity(number: int = 7, **fields: Any) -> Activity:
    plain = {
        "run_pk": keys.head("main", "r1").pk,
        "seq": 1,
        "type": "charge",
        "slot": keys.slot("main", "q", keys.ACTIVITIES),
        "scheduled_at": NOW,
    }
    return Activity(key=keys.activity(number, "n1", 2), **{**plain, **fields})


def chunk(base: int, *events: str, run_id: str = "r1") -> Chunk:
    return Chunk(key=keys.chunk(keys.head("main", run_id), "n1", base), events=events)


def do(*actions: Action, when: tuple[Condition, ...] = ()) -> Change:
    return Change(when=when, do=actions)


def changed(store: Store, record: Head, *actions: Action, when: tuple[Condition, ...] = ()) -> Head:
    """Put `record`, change it, and return what the store says and what it reads back."""
    store.put(record)
    answer = store.update(Head, record.key, do(*actions, when=when))
    assert store.get(Head, record.key) == answer
    return answer


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "done", call()
    except ConditionFailedError as refused:
        return "refused", refused.image
    except TransactionRefusedError as refused:
        return "transaction refused", refused.failed
    except AssayError as error:
        return type(error).__name__, None
