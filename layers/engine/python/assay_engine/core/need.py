"""When somebody has to look at a run. `due` may be earlier than this, never later."""

from . import limits, problem
from .run import Head


def need(head: Head, now: float) -> float | None:
    """The earliest moment at which the run needs attention; None: it only waits to be told."""
    if head.lease_token is not None:
        return min([head.lease_until or now, *deadlines(head)])
    owes = head.owed or head.cleanup or (head.watched and not head.is_open)
    moments = [now + limits.OWED_SECS] if owes else []
    if head.is_open:
        moments += _of_open(head, now)
    return min(moments, default=None)


def _of_open(head: Head, now: float) -> list[float]:
    moments = [*head.timers.values(), *(line_end(line) for line in head.eager.values())]
    moments += deadlines(head)
    if head.seen < head.length:
        moments.append(max(_next_look(head, now), head.start_at or now))
    if head.children and head.check_children_at is not None:
        moments.append(head.check_children_at)
    if head.cancel_due is not None:
        moments.append(head.cancel_due)
    return moments


def deadlines(head: Head) -> list[float]:
    """When the run is closed, whoever holds its lease."""
    given = (head.cancel_until, head.chain_until, head.run_until)
    return [moment for moment in given if moment is not None]


def _next_look(head: Head, now: float) -> float:
    """At once, unless a worker has handed back this very history as something it cannot do."""
    found = problem.unpack(head.problem)
    return found.until if found is not None and found.length == head.length else now


def line_end(line: object) -> float:
    """When an eager line runs out: its worker is silent, or its start-to-close is over."""
    assert isinstance(line, dict)
    return float(min(line["x"], line.get("c", line["x"])))
