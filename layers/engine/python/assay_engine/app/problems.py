"""Handing back a workflow task that cannot be done now, with the reason why."""

from ..core import problem
from ..core.change import Change, Equals, Exists
from ..core.draft import Draft
from ..core.errors import BusyError
from ..core.keys import Key
from ..core.run import Head
from .engine import Engine
from .ports import ConditionFailedError

_TRIES = 25


def hand_back(engine: Engine, key: Key, nonce: str, token: str, told: tuple[str, str]) -> bool:
    """False if the lease is somebody else's by now. Row `release with a problem`."""
    head = engine.store.get(Head, key)
    for _ in range(_TRIES):
        if head is None or not head.is_open or (head.nonce, head.lease_token) != (nonce, token):
            return False
        try:
            after = engine.store.update(Head, key, _change(head, told, engine.now()))
        except ConditionFailedError as failed:
            head = failed.image if isinstance(failed.image, Head) else None
            continue
        engine.memory.let_go(key)
        engine.wakeups.notify(after.slot)
        return True
    raise BusyError("the run is changing too fast")


def _change(head: Head, told: tuple[str, str], now: float) -> Change:
    # What landed after the task was shipped is not what the worker complains of.
    seen = head.length if head.lease_length is None else head.lease_length
    draft = Draft(head=head, now=now)
    draft.drop_lease()
    draft.put(
        "problem",
        value=problem.pack(problem.following(head.problem, told, length=seen, now=now)),
    )
    when = (
        Exists(("open",)),
        Equals(("lease_token",), head.lease_token),
        Equals(("version",), head.version),
    )
    return Change(when=when, do=draft.finish())
