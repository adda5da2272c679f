"""Finding the run that an id means: in the namespace given, else `main`, else the only other."""

from dataclasses import dataclass

from ..core import keys, limits
from ..core.errors import AmbiguousError, NotFoundError
from ..core.run import Head, Pointer
from . import incarnations
from .engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRef:
    run_id: str
    namespace: str | None = None
    incarnation: str | None = None
    """The `run_id` of the wire, where one of several incarnations of an id is meant."""


def find(engine: Engine, ref: RunRef) -> Head | None:
    """The run's head, or None. Raises AmbiguousError if several namespaces have the id, and
    NotFoundError if there is no such incarnation of it."""
    head = _newest(engine, ref)
    if ref.incarnation is None:
        return head
    found = None if head is None else incarnations.named(engine, head, ref.incarnation)
    if found is None:
        raise NotFoundError(f"workflow {ref.run_id} has no run {ref.incarnation}")
    return found


def _newest(engine: Engine, ref: RunRef) -> Head | None:
    if ref.namespace is not None:
        return engine.store.get(Head, keys.head(ref.namespace, ref.run_id))
    head = engine.store.get(Head, keys.head(limits.DEFAULT_NAMESPACE, ref.run_id))
    return head if head is not None else _elsewhere(engine, ref.run_id)


def _elsewhere(engine: Engine, run_id: str) -> Head | None:
    found = others(engine, run_id)
    if len(found) > 1:
        names = ", ".join(sorted(head.namespace for head in found))
        raise AmbiguousError(f"workflow {run_id} exists in several namespaces ({names}): name one")
    return found[0] if found else None


def others(engine: Engine, run_id: str) -> list[Head]:
    """Runs of this id outside `main`."""
    pointers = engine.store.query(Pointer, keys.pointers(run_id))
    places = [keys.head(pointer.namespace, run_id) for pointer in pointers]
    return list(engine.store.get_many(Head, places).values()) if places else []


def need(engine: Engine, ref: RunRef) -> Head:
    head = find(engine, ref)
    if head is None:
        raise NotFoundError(f"workflow {ref.run_id}")
    return head
