"""What must hold of every single write to a head or an item, whoever made it, in whatever order.

Says once more, in its own words, when somebody has to look at a run: `core.need` is judged here.
"""

from assay_engine.core import activity as states
from assay_engine.core import limits
from assay_engine.core.activity import Activity
from assay_engine.core.history import EventType
from assay_engine.core.run import Head
from tests.property.log import Log

_FROZEN = ("length", "status_letter", "completed_at", "seen", "continued_to")


def check_first(log: Log, new: Head, now: float, slack: float) -> None:
    """A head that was not there before."""
    grow(log, new)
    _check_state(log, new, now, slack)


def check_reuse(before: Head, new: Head) -> None:
    """A head that another incarnation had before."""
    assert new.version == before.version + 1, "a new incarnation begins to count anew"
    assert new.first == (before.first or before.nonce), "nobody knows the first incarnation"
    assert new.first is not None


def check_next(log: Log, old: Head, new: Head, now: float, slack: float) -> None:
    """A head that was `old` before."""
    assert new.version == old.version + 1, "a write without its version"
    grown = grow(log, new)
    reopened = grown and log.events[-1].type is EventType.ACTIVITY_RETRY_REQUESTED
    if not old.is_open and not reopened:
        changed = [name for name in _FROZEN if getattr(old, name) != getattr(new, name)]
        assert not changed, f"a closed run has changed: {changed}"
        assert not new.is_open, "a closed run was opened"
    if old.cleanup and not new.cleanup:
        log.cleaned_up = now
    _check_state(log, new, now, slack)
    _check_lease(old, new, now, slack)
    _check_cancel(old, new)


def _check_state(log: Log, head: Head, now: float, slack: float) -> None:
    assert head.seen <= head.length, "more was seen than there is"
    if head.lease_token is not None:
        assert head.lease_length is not None
        assert head.lease_length <= head.length, "more was shipped than there is"
    _check_due(head, now, slack)
    _check_books(log, head)


def grow(log: Log, head: Head) -> bool:
    """Add the news of a head's tail to its log; what was observed must still be there."""
    assert head.length == head.base + len(head.tail), "the seqs have a gap"
    assert head.base <= len(log.texts), "events were cut that nobody has seen"
    assert head.tail_bytes == sum(len(text.encode()) for text in head.tail), "bytes miscounted"
    known = len(log.texts) - head.base
    assert list(head.tail[:known]) == log.texts[head.base :], "history was rewritten"
    for text in head.tail[known:]:
        log.extend(text)
    return len(head.tail) > known


def _check_due(head: Head, now: float, slack: float) -> None:
    """What is overdue needs somebody now; who looks now finds everything up to now."""
    moment = _needs_somebody(head, now)
    if moment is None:
        return
    assert head.due is not None, f"{head.id} needs somebody at {moment} and nobody will look"
    late = head.due - max(moment, now)
    assert late <= slack, f"{head.id} is looked at {late:g} s too late"


def _needs_somebody(head: Head, now: float) -> float | None:
    deadlines = [head.run_until, head.chain_until, head.cancel_until]
    ends = [moment for moment in deadlines if moment is not None]
    if head.lease_token is not None:
        assert head.lease_until is not None
        return min(head.lease_until, *ends) if ends else head.lease_until
    moments = list[float]()
    if head.owed or head.cleanup or (head.watched and not head.is_open):
        moments.append(now + limits.OWED_SECS)
    if head.is_open:
        moments += head.timers.values()
        for line in head.eager.values():
            moments += [line["x"], line["c"]]
        moments += ends
        if head.seen < head.length:
            moments.append(max(now, head.start_at or now))
        if head.children:
            assert head.check_children_at is not None, "children that nobody asks after"
            moments.append(head.check_children_at)
        if head.cancel_due is not None:
            moments.append(head.cancel_due)
    return min(moments, default=None)


def check_item(item: Activity, now: float, slack: float) -> None:
    place = f"activity {item.seq} of {item.run[1]}"
    if item.status_letter == states.READY:
        assert item.due is not None, f"{place} is ready and nobody will look"
    elif item.status_letter == states.RUNNING:
        assert item.lease_until is not None
        assert item.due is not None, f"{place} runs and nobody will look"
        late = item.due - max(item.lease_until, now)
        assert late <= slack, f"{place} is looked at {late:g} s too late"


def _check_books(log: Log, head: Head) -> None:
    """The head's books say what its history says."""
    if not head.is_open:
        assert log.closed_at == head.length, "closed without a closing event"
        assert head.tail, "result and error stand in the closing event, which was cut"
        return
    assert log.closed_at is None, "open behind a closing event"
    eager, queued, timers, children = _started(head)
    assert not eager & queued, f"activities {eager & queued} are eager and queued"
    assert eager | queued <= log.activities, f"{(eager | queued) - log.activities} have ended"
    assert timers <= log.timers, "a timer that has fired, or was never set"
    assert children <= {*log.children.values()}, "a child that has ended"
    if not log.cancel_requested:
        assert eager | queued == log.activities, f"{log.activities - eager - queued} are lost"
        assert timers == log.timers, f"timers {log.timers - timers} are lost"
        assert children == {*log.children.values()}, "a child is lost"


def _started(head: Head) -> tuple[set[int], set[int], set[int], set[int]]:
    """What the head waits for: eager and queued activities, timers, children."""
    eager, timers, children = (
        {int(seq) for seq in each} for each in (head.eager, head.timers, head.children)
    )
    return eager, set(head.queued or ()), timers, children


def is_commit(old: Head, new: Head) -> bool:
    """Whether a report was applied under a lease; one in parts when its last is in."""
    under_lease = old.lease_token is not None and new.lease_token is None
    return new.report != old.report and under_lease


def _check_lease(old: Head, new: Head, now: float, slack: float) -> None:
    if old.lease_token is None or new.lease_token == old.lease_token:
        return
    if new.lease_token is not None:
        assert (old.lease_until or 0) < now + slack, "a living lease was taken away"
    if is_commit(old, new) and not new.is_open:
        sighted = old.lease_length == old.length
        often = (old.refusals or 0) >= limits.MAX_REFUSALS - 1
        assert sighted or often, "closed by somebody who had not seen everything"


def _check_cancel(old: Head, new: Head) -> None:
    if new.cancel_after is None:
        return
    if old.cancel_after is None:
        assert not new.timers, "timers go on after a cancel request"
    unseen = old.cancel_after is not None and (old.lease_length or 0) <= old.cancel_after
    if is_commit(old, new) and unseen and new.is_open:
        begun = [after - before for before, after in zip(_started(old), _started(new), strict=True)]
        assert not any(begun), f"started by a batch that had not seen the cancel request: {begun}"
