"""Namespaces: `main`, and those somebody created. Runs may live in others all the same."""

from ..core import ids, keys, limits
from ..core.errors import ConflictError, NotFoundError
from ..core.run import Status
from ..core.worker import Namespace
from . import workers
from .engine import Engine
from .ports import ConditionFailedError
from .views import NamespaceStats

_COUNTED = {
    Status.RUNNING: "running",
    Status.PENDING: "pending",
    Status.COMPLETED: "completed",
    Status.FAILED: "failed",
}


def create(engine: Engine, name: str) -> None:
    ids.check_name(name, "name")
    taken = ConflictError(f"namespace {name} exists already", code="already_exists")
    if name == limits.DEFAULT_NAMESPACE:
        raise taken
    try:
        engine.store.put(Namespace(key=keys.namespace(name), created_at=engine.now()))
    except ConditionFailedError:
        raise taken from None


def list_all(engine: Engine) -> list[Namespace]:
    found = {space.name: space for space in engine.store.query(Namespace, keys.namespaces())}
    main = Namespace(key=keys.namespace(limits.DEFAULT_NAMESPACE), created_at=0.0)
    found.setdefault(limits.DEFAULT_NAMESPACE, main)
    return [found[name] for name in sorted(found)]


def stats(engine: Engine, name: str) -> NamespaceStats:
    """Counts; zeros for a name that nobody uses."""
    counts = dict.fromkeys(_COUNTED.values(), 0)
    total = 0
    for head in engine.store.heads():
        if head.namespace == name:
            total += 1
            if head.status in _COUNTED:
                counts[_COUNTED[head.status]] += 1
    listed = len(workers.list_workers(engine, name))
    return NamespaceStats(namespace=name, total_workflows=total, workers=listed, **counts)


def delete(engine: Engine, name: str) -> None:
    """Only the name goes; runs stay where they are."""
    missing = NotFoundError(f"namespace {name}")
    if name == limits.DEFAULT_NAMESPACE:
        raise missing
    try:
        engine.store.delete(Namespace, keys.namespace(name))
    except ConditionFailedError:
        raise missing from None
