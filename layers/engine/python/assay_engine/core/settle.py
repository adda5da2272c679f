"""What a run that somebody looks at has overdue: timers, silent workers, debts, deadlines."""

from dataclasses import dataclass
from enum import StrEnum

from . import durations
from .draft import Draft
from .history import EventType
from .need import deadlines, line_end
from .options import NextAttempt
from .run import Head, Status

# What a closed run's `cleanup` asks for: a run ended from outside takes what it has started
# with it; one that ended by itself only children with a parent close policy.
ENDED_FROM_OUTSIDE, ENDED_BY_ITSELF = 1, 2


class Ending(StrEnum):
    """Why the engine ends a run: a cancel nobody answered, or the option that is over."""

    CANCEL = "cancel"
    EXECUTION = "execution_timeout"
    RUN = "run_timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    timers: tuple[tuple[int, float], ...] = ()
    """Seq and moment, in the order in which they fire."""
    lines: tuple[int, ...] = ()
    """Seqs of eager activities whose worker is silent or late."""
    owes: bool = False
    children: bool = False
    ending: Ending | None = None

    def __bool__(self) -> bool:
        return bool(self.timers or self.lines or self.owes or self.children or self.ending)


def overdue(head: Head, now: float) -> Overdue:
    timers = [(int(seq), at) for seq, at in head.timers.items() if at <= now]
    lines = [int(seq) for seq, line in head.eager.items() if line_end(line) < now]
    return Overdue(
        timers=tuple(sorted(timers, key=lambda timer: (timer[1], timer[0]))),
        lines=tuple(sorted(lines)),
        owes=bool(head.owed),
        children=bool(head.children) and _over(head.check_children_at, now),
        ending=_ending(head, now),
    )


def _ending(head: Head, now: float) -> Ending | None:
    if _over(head.cancel_due, now) or _over(head.cancel_until, now):
        return Ending.CANCEL
    if _over(head.chain_until, now):
        return Ending.EXECUTION
    return Ending.RUN if _over(head.run_until, now) else None


def _over(moment: float | None, now: float) -> bool:
    return moment is not None and moment <= now


def expired(head: Head, now: float) -> bool:
    """Whether a deadline is over that ends the run even while somebody holds its lease."""
    return head.is_open and any(moment <= now for moment in deadlines(head))


def fire_timers(draft: Draft, found: Overdue) -> None:
    for seq, at in found.timers:
        draft.append(EventType.TIMER_FIRED, {"q": seq, "f": at})
        draft.put("timers", str(seq), value=None)


def finalise_cancel(draft: Draft) -> None:
    """Nobody answered the cancel request in time: the engine ends the run."""
    draft.append(EventType.CANCELLED, {})
    close_for_good(draft, Status.CANCELLED)


def time_out(draft: Draft, ending: Ending, secs: float, successor: NextAttempt | None) -> None:
    """The run took too long; another attempt may follow."""
    error = f"timed out: {ending} of {durations.shown(secs)}"
    draft.append(EventType.FAILED, {"e": error})
    close_for_good(draft, Status.TIMED_OUT)
    if successor is not None:
        draft.put("retried_as", value=successor.nonce)


def close_for_good(draft: Draft, status: Status) -> None:
    """Close a run from outside: what it has started is cancelled, before its key goes."""
    head = draft.head
    draft.close(status)
    draft.put("seen", value=draft.length)
    if head.queued or head.children or head.owed or head.earlier:
        draft.put("cleanup", value=ENDED_FROM_OUTSIDE)


def leave_children(draft: Draft) -> None:
    """A run that ends by itself: children with a parent close policy are seen to."""
    if draft.get("close_policies") is not None or draft.head.earlier is not None:
        draft.put("cleanup", value=ENDED_BY_ITSELF)
