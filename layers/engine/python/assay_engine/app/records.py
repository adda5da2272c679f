"""Putting together what a reader sees of runs and activities."""

from collections.abc import Iterable
from dataclasses import replace

from ..core import failures, ids, keys, values
from ..core import history as log
from ..core.activity import Activity, ActivityStatus
from ..core.failures import Failure
from ..core.history import EventType, Numbered
from ..core.render import error_of
from ..core.run import Head, Record, Status
from . import incarnations, payloads
from .engine import Engine
from .views import ActivityView, RunView


def run_view(engine: Engine, head: Head, record: Record | None = None) -> RunView:
    if record is None:
        record = engine.store.get(Record, keys.record(head.key, head.nonce))
    result, error, failure = _ending(engine, head)
    return RunView(
        head=head,
        input=_text(engine, head, record.input if record else None),
        search_attributes=_text(engine, head, record.search_attributes if record else None),
        memo=_text(engine, head, record.memo if record else None),
        retried_as=_next_attempt(engine, head),
        result=result,
        error=error,
        failure=failure,
    )


def _next_attempt(engine: Engine, head: Head) -> str | None:
    if head.retried_as is None:
        return None
    place = keys.head(head.namespace, head.id)
    following = incarnations.find(engine, place, head.retried_as)
    return None if following is None else following.incarnation_id


def run_views(engine: Engine, heads: list[Head]) -> list[RunView]:
    places = [keys.record(head.key, head.nonce) for head in heads]
    records = engine.store.get_many(Record, places) if places else {}
    return [
        run_view(engine, head, records.get(place))
        for head, place in zip(heads, places, strict=True)
    ]


def _text(engine: Engine, head: Head, stored: str | None) -> str | None:
    return payloads.text(engine, head.key, head.nonce, stored)


def _ending(engine: Engine, head: Head) -> tuple[str | None, str | None, Failure | None]:
    """Result, error and failure of a closed run: they stand in its closing event, the last one."""
    if head.is_open or not head.tail:
        return None, None, None
    closing = log.unpack(head.tail[-1])
    text = _text(engine, head, values.from_field(closing.data))
    if head.status is Status.COMPLETED:
        return text, None, None
    if head.status in (Status.FAILED, Status.TIMED_OUT):
        error = error_of(closing.data if text is None else {"v": values.parse(text)})
        failure = payloads.second(engine, head.key, head.nonce, closing.data, failures.FIELD)
        return None, error, failure
    return None, None, None


def activity_view(engine: Engine, item: Activity) -> ActivityView:
    namespace, run_id = item.run
    details = payloads.text(engine, item.head_key, item.nonce, item.details)
    return ActivityView(
        id=item.id,
        namespace=namespace,
        workflow_id=run_id,
        seq=item.seq,
        name=item.type,
        task_queue=item.queue,
        input=payloads.text(engine, item.head_key, item.nonce, item.input),
        status=item.status,
        result=payloads.text(engine, item.head_key, item.nonce, item.result),
        error=item.error,
        attempt=item.attempt,
        policy=log.policy_of(item.policy),
        claimed_by=item.worker,
        scheduled_at=item.scheduled_at,
        started_at=item.started_at,
        completed_at=item.completed_at,
        last_heartbeat=item.last_heartbeat,
        details=None if details is None else values.parse(details),
    )


def activities_in(head: Head, events: Iterable[Numbered]) -> dict[int, ActivityView]:
    """Seq of the ActivityScheduled event -> the activity as history tells it."""
    found: dict[int, ActivityView] = {}
    latest: dict[int, int] = {}
    for numbered in events:
        event = numbered.event
        if event.type is EventType.ACTIVITY_SCHEDULED:
            latest[event.data["q"]] = numbered.seq
            found[numbered.seq] = _scheduled(head, numbered)
        elif event.type in log.OUTCOMES and event.data["q"] in latest:
            place = latest[event.data["q"]]
            found[place] = _ended(found[place], numbered)
    return found


def _scheduled(head: Head, numbered: Numbered) -> ActivityView:
    data = numbered.event.data
    line = head.eager.get(str(data["q"]))
    return ActivityView(
        id=ids.activity_id(head.nonce, numbered.seq),
        namespace=head.namespace,
        workflow_id=head.id,
        seq=data["q"],
        name=data["n"],
        task_queue=data["k"],
        input=values.text(data["v"]) if "v" in data else None,
        status=ActivityStatus.RUNNING if line else ActivityStatus.PENDING,
        attempt=int(line["a"]) if line else 1,
        claimed_by=str(line["w"]) if line else None,
        policy=log.policy_of(data),
        scheduled_at=numbered.event.at,
        started_at=numbered.event.at if line else None,
    )


def _ended(view: ActivityView, numbered: Numbered) -> ActivityView:
    event = numbered.event
    if event.type is EventType.ACTIVITY_COMPLETED:
        result = values.text(event.data["v"]) if "v" in event.data else None
        return replace(view, status=ActivityStatus.COMPLETED, result=result, completed_at=event.at)
    return replace(
        view,
        status=ActivityStatus.FAILED,
        error=error_of(event.data),
        attempt=max(int(event.data["f"]), 1),
        completed_at=event.at,
    )
