"""What the table's stream tells: a child that closed is told to its parent."""

from collections.abc import Iterable

from ..core.run import Head
from . import children
from .engine import Engine


def closed(engine: Engine, heads: Iterable[Head]) -> int:
    """Notify the parents of closed runs; at least once, so redoing is safe."""
    told = 0
    for head in heads:
        children.notify_parent(engine, head)
        told += 1
    return told
