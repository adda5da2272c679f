"""Runs that had the same id one after the other. The newest has the head; what it replaced is
kept as a copy under its nonce, and stays readable and answerable for what it owes."""

from contextlib import suppress
from dataclasses import replace

from ..core import ids, keys
from ..core.change import Change, Equals, Missing, apply
from ..core.errors import BusyError
from ..core.keys import Key
from ..core.run import Head
from .engine import Engine
from .ports import ConditionFailedError, PutIf, TransactionRefusedError

_TRIES = 25


def supersede(engine: Engine, old: Head, closing: Change, new: Head) -> Head:
    """Put `new` in the place of `old`, closed as `closing` says, in one transaction. Returns
    the copy of the old one; raises ConditionFailedError with the head that is there.

    The version goes on counting, so that no write meant for the old one fits the new one.
    """
    copy = replace(apply(old, closing.do), key=keys.incarnation(old.key, old.nonce))
    try:
        engine.store.transact([PutIf(successor(old, new), closing.when), PutIf(copy)])
    except TransactionRefusedError:
        raise ConditionFailedError(engine.store.get(Head, old.key)) from None
    engine.memory.let_go(old.key)
    engine.wakeups.notify(new.slot)
    return copy


def put_child(engine: Engine, parent: Head, prepared: Head) -> None:
    """Put a child, unless it was put before. Its id may be in use by the child of an earlier
    incarnation of the parent, if that has ended. Raises ConditionFailedError otherwise."""
    for _ in range(_TRIES):
        try:
            engine.store.put(prepared)
        except ConditionFailedError as failed:
            image = failed.image
            assert isinstance(image, Head)
            if newest(engine, image, prepared.nonce) is not None:
                return
            if image.is_open or not _of_an_earlier(parent, image):
                raise
            with suppress(ConditionFailedError):  # it moved; look again
                reuse(engine, image, prepared)
                return
            continue
        engine.wakeups.notify(prepared.slot)
        return
    raise BusyError("the child's id is changing hands too fast")


def _of_an_earlier(parent: Head, child: Head) -> bool:
    """Whether another incarnation of the parent's id has started `child`."""
    link = child.parent or {}
    same_id = link.get("i") == parent.id
    return same_id and link["n"] != ids.child_nonce(parent.nonce, int(link["s"]))


def reuse(engine: Engine, closed: Head, new: Head) -> None:
    """Put `new` in the place of a run that has ended. Raises ConditionFailedError."""
    when = (Missing(("open",)), Equals(("version",), closed.version))
    supersede(engine, closed, Change(when=when, do=()), new)


def successor(old: Head, new: Head) -> Head:
    """`new` as the next incarnation of the id that `old` has."""
    return replace(new, first=old.first or old.nonce, version=old.version + 1)


def find(engine: Engine, key: Key, nonce: str) -> Head | None:
    """The incarnation with this nonce, whether it still has the head or not."""
    return behind(engine, engine.store.get(Head, key), nonce)


def behind(engine: Engine, image: object, nonce: str) -> Head | None:
    """The same, where `image` is what the id has now."""
    if not isinstance(image, Head) or image.nonce == nonce:
        return image if isinstance(image, Head) else None
    return engine.store.get(Head, keys.incarnation(image.key, nonce))


def named(engine: Engine, head: Head, run_text: str) -> Head | None:
    """The incarnation of `head`'s id that has this `run_id`."""
    if head.incarnation_id == run_text:
        return head
    nonce = ids.nonce_in(run_text, head.id) or head.first
    found = engine.store.get(Head, keys.incarnation(head.key, nonce)) if nonce else None
    return found if found is not None and found.incarnation_id == run_text else None


def child(engine: Engine, head: Head | None, nonce: str) -> Head | None:
    """The run that a parent knows as its child by `nonce`, at the end of its chain of retries
    and continuations; `head` is what its id has now. None: it was never put."""
    found = newest(engine, head, nonce)
    while found is not None and found.continued_to is not None:
        found = continued(engine, found, nonce)
    return found


def continued(engine: Engine, head: Head, nonce: str) -> Head | None:
    """The run that continues one of the child with this nonce."""
    if head.continued_to is None:
        return None
    target = keys.head(head.namespace, head.continued_to)
    return newest(engine, engine.store.get(Head, target), nonce)


def newest(engine: Engine, head: Head | None, nonce: str) -> Head | None:
    """The last run of the child with this nonce under the id that `head` has now."""
    if head is None or belongs(head, nonce):
        return head
    # The id is somebody else's by now. Continuing takes a free one, so that a run which
    # continues another is the first incarnation of its id.
    places = {keys.incarnation(head.key, one) for one in (nonce, head.first) if one is not None}
    copies = engine.store.get_many(Head, sorted(places)).values()
    found = next((copy for copy in copies if belongs(copy, nonce)), None)
    while found is not None and found.retried_as is not None:
        found = engine.store.get(Head, keys.incarnation(head.key, found.retried_as))
    return found


def belongs(head: Head, nonce: str) -> bool:
    """Whether it is, or goes on for, the child with this nonce."""
    return (head.parent or {}).get("n") == nonce
