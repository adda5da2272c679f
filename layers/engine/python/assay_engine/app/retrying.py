"""Activities from outside the workflow: retrying the failed one of a failed run, and
scheduling one by hand."""

from typing import Any

from ..core import activity as states
from ..core import ids, seqs
from ..core.change import Change, Equals, Exists, Missing
from ..core.commands import ScheduleActivity, read
from ..core.decide import Batch, decide
from ..core.draft import Draft
from ..core.errors import BusyError, ConflictError, InvalidError
from ..core.history import EventType, Numbered
from ..core.render import shipped
from ..core.run import STATUS_LETTERS, Head, Status
from . import activities, ending, history, payloads, records
from .engine import Engine
from .names import RunRef, need
from .ports import ConditionFailedError
from .views import ActivityView, Retried

_TRIES = 25


def retry(engine: Engine, ref: RunRef, requested_by: str, reason: str) -> Retried:
    """Reopen a failed run at its last failed activity. One of two at once wins."""
    head = need(engine, ref)
    if head.status is not Status.FAILED:
        text = f"workflow {head.id} is {head.status}; only FAILED workflows can retry an activity"
        raise ConflictError(text)
    if head.parent is not None:
        raise ConflictError(f"child workflow {head.id} cannot be retried independently")
    events = shipped(history.load(engine, head))
    failed = _last_failed(events)
    if failed is None:
        raise ConflictError(f"workflow {head.id} has no failed activity")
    later = {
        n.event.data["q"]
        for n in events
        if n.event.type is EventType.ACTIVITY_SCHEDULED
        and n.event.data["q"] > failed.event.data["q"]
    }
    draft = _reopened(engine, head, failed, (requested_by, reason, len(later)))
    when = (Missing(("open",)), Equals(("version",), head.version))
    try:
        reopened = engine.store.update(Head, head.key, Change(when=when, do=draft.finish()))
    except ConditionFailedError:
        raise ConflictError(f"workflow {head.id} is being retried by somebody else") from None
    ending.pay(engine, reopened)
    view = _view(engine, reopened, int(failed.event.data["q"]))
    return Retried(workflow_id=head.id, activity=view, invalidated_activities=len(later))


def _last_failed(events: list[Numbered]) -> Numbered | None:
    """The outcome of the highest activity seq that failed."""
    outcomes: dict[int, Numbered] = {}
    for numbered in events:
        if numbered.event.type in (EventType.ACTIVITY_COMPLETED, EventType.ACTIVITY_FAILED):
            outcomes[numbered.event.data["q"]] = numbered
    failed = [n for n in outcomes.values() if n.event.type is EventType.ACTIVITY_FAILED]
    return max(failed, key=lambda n: int(n.event.data["q"]), default=None)


def _reopened(engine: Engine, head: Head, failed: Numbered, request: tuple[str, str, int]) -> Draft:
    requested_by, reason, invalidated = request
    seq = int(failed.event.data["q"])
    draft = Draft(head=head, now=engine.now())
    data = {"q": seq, "f": failed.seq, "b": requested_by, "e": reason, "x": invalidated}
    draft.owed.add(draft.append(EventType.ACTIVITY_RETRY_REQUESTED, data))
    draft.put("open", value=1)
    draft.put("status_letter", value=STATUS_LETTERS[Status.WAITING])
    draft.put("waiting_at", value=draft.now)
    draft.put("completed_at", value=None)
    draft.put("used_activities", value=seqs.up_to(head.used_activities, seq))
    draft.put("queued", value=frozenset({seq}))
    # Not claimable before the activity ends.
    draft.put("seen", value=draft.length)
    return draft


def schedule_activity(engine: Engine, ref: RunRef, body: dict[str, Any]) -> ActivityView:
    """Schedule an activity for a run from outside; the same one again if its seq is used."""
    command = read({**body, "type": "ScheduleActivity"})
    if not isinstance(command, ScheduleActivity):
        raise InvalidError("not an activity")
    for _ in range(_TRIES):
        head = need(engine, ref)
        if seqs.contains(head.used_activities, command.seq):
            return _view(engine, head, command.seq)
        if not head.is_open:
            raise ConflictError(f"workflow {head.id} is {head.status}")
        draft = _outside(engine, head, command)
        payloads.put(engine, head.key, head.nonce, draft.parcels)
        when = (Exists(("open",)), Equals(("version",), head.version))
        try:
            after = engine.store.update(Head, head.key, Change(when=when, do=draft.finish()))
        except ConditionFailedError:
            continue
        ending.pay(engine, after)
        return _view(engine, after, command.seq)
    raise BusyError("the run is changing too fast")


def _outside(engine: Engine, head: Head, command: ScheduleActivity) -> Draft:
    """Does not wake the run: a schedule is nothing to think about."""
    draft = Draft(head=head, now=engine.now())
    decide(draft, [command], Batch(worker="", report="", legacy=True))
    if head.seen == head.length:
        draft.put("seen", value=draft.length)
    if head.lease_length == head.length:
        draft.put("lease_length", value=draft.length)
    if head.status is Status.PENDING:
        draft.put("status_letter", value=STATUS_LETTERS[Status.RUNNING])
        draft.put("running_at", value=draft.now)
    return draft


def _view(engine: Engine, head: Head, seq: int) -> ActivityView:
    scheduled = history.find_schedule(engine, head, seq)
    assert scheduled is not None, "a used seq has its ActivityScheduled"
    item = activities.find(engine, ids.activity_id(head.nonce, scheduled.seq), head.nonce)
    if item is not None and item.status_letter != states.INVALIDATED:
        return records.activity_view(engine, item)
    events = payloads.resolve(engine, head.key, head.nonce, history.load(engine, head))
    return records.activities_in(head, events)[scheduled.seq]
