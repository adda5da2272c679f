"""What the table's stream tells: a run that closed is told to its parent and its watchers."""

from collections.abc import Iterable

from ..core.run import Head
from . import children, watching
from .engine import Engine


def closed(engine: Engine, heads: Iterable[Head]) -> int:
    """Notify parents and watchers of closed runs; at least once, so redoing is safe."""
    told = 0
    for head in heads:
        children.notify_parent(engine, head)
        watching.tell_all(engine, head)
        told += 1
    return told
