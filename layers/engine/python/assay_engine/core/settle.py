"""What a run that somebody looks at has overdue: timers, silent workers, debts, deadlines."""

from dataclasses import dataclass

from .draft import Draft
from .history import EventType
from .need import line_end
from .run import Head, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    timers: tuple[tuple[int, float], ...] = ()
    """Seq and moment, in the order in which they fire."""
    lines: tuple[int, ...] = ()
    """Seqs of eager activities whose worker is silent or late."""
    owes: bool = False
    children: bool = False
    cancel: bool = False

    def __bool__(self) -> bool:
        return bool(self.timers or self.lines or self.owes or self.children or self.cancel)


def overdue(head: Head, now: float) -> Overdue:
    timers = [(int(seq), at) for seq, at in head.timers.items() if at <= now]
    lines = [int(seq) for seq, line in head.eager.items() if line_end(line) < now]
    check = head.check_children_at
    return Overdue(
        timers=tuple(sorted(timers, key=lambda timer: (timer[1], timer[0]))),
        lines=tuple(sorted(lines)),
        owes=bool(head.owed),
        children=bool(head.children) and check is not None and check <= now,
        cancel=head.cancel_due is not None and head.cancel_due <= now,
    )


def fire_timers(draft: Draft, found: Overdue) -> None:
    for seq, at in found.timers:
        draft.append(EventType.TIMER_FIRED, {"q": seq, "f": at})
        draft.put("timers", str(seq), value=None)


def finalise_cancel(draft: Draft) -> None:
    """Nobody answered the cancel request in time: the engine ends the run."""
    draft.append(EventType.CANCELLED, {})
    close_for_good(draft, Status.CANCELLED)


def close_for_good(draft: Draft, status: Status) -> None:
    """Close a run from outside: what it has started is cancelled, before its key goes."""
    head = draft.head
    draft.close(status)
    draft.put("seen", value=draft.length)
    if head.queued or head.children or head.owed:
        draft.put("cleanup", value=1)
