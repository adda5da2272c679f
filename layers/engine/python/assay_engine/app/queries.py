"""What readers ask: records, lists, histories, states. Changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..core import activity as states
from ..core import ids, keys, limits, values
from ..core.activity import Activity, ActivityStatus
from ..core.errors import NotFoundError, TooLargeError
from ..core.history import EventType, Numbered
from ..core.render import Renderer
from ..core.run import Head, Payload
from . import activities as items
from . import children as offspring
from . import history, names, payloads, records, workers
from .engine import Engine
from .names import RunRef
from .views import ActivityView, EventView, QueueStats, RunView, StateView


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    namespace: str = limits.DEFAULT_NAMESPACE
    status: str | None = None
    type: str | None = None
    attributes: dict[str, Any] | None = None
    limit: int = 50
    """-1 is all."""
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    limit: int = 50
    cursor: int | None = None
    """Exclusive, in the direction of travel."""
    descending: bool = False


def describe(engine: Engine, ref: RunRef) -> RunView:
    return records.run_view(engine, names.need(engine, ref))


def list_runs(engine: Engine, wanted: RunFilter) -> list[RunView]:
    """Newest first."""
    heads = [head for head in engine.store.heads() if _fits(head, wanted)]
    heads.sort(key=lambda head: (head.created_at, head.id), reverse=True)
    first = max(wanted.offset, 0)
    if not wanted.attributes:
        return records.run_views(engine, heads[first : _end(first, wanted.limit)])
    views = records.run_views(engine, heads)
    matching = [view for view in views if _matches(view, wanted.attributes)]
    return matching[first : _end(first, wanted.limit)]


def _end(first: int, limit: int) -> int | None:
    return None if limit < 0 else first + limit


def _fits(head: Head, wanted: RunFilter) -> bool:
    return (
        head.namespace == wanted.namespace
        and wanted.status in (None, head.status)
        and wanted.type in (None, head.type)
    )


def _matches(view: RunView, attributes: dict[str, Any]) -> bool:
    """Every attribute is there with that very value; `1` is `1.0`, never `true` or `"1"`."""
    if view.search_attributes is None:
        return False
    found = values.parse(view.search_attributes)
    if not isinstance(found, dict):
        return False
    return all(
        name in found and found[name] is not None and _same(found[name], value)
        for name, value in attributes.items()
    )


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def children(engine: Engine, ref: RunRef) -> list[RunView]:
    """Oldest first, with the runs that continue them."""
    head = names.find(engine, ref)
    if head is None:
        return []
    found = offspring.all_of(engine, head)
    found.sort(key=lambda child: (child.created_at, child.id))
    return records.run_views(engine, found)


def events(engine: Engine, ref: RunRef, page: EventPage | None) -> list[EventView]:
    """The history, or a page of it; none for an unknown run."""
    head = names.find(engine, ref)
    if head is None:
        return []
    if page is None:
        if head.length * 60 > limits.MAX_ANSWER_BYTES:
            raise too_long(head)
        return list(_rendered(head, history.read(engine, head), {}))
    wanted = _page(engine, head, page)
    known = _schedules(engine, head, wanted)
    views = list(_rendered(head, wanted, known))
    return views[::-1] if page.descending else views


def too_long(head: Head) -> TooLargeError:
    text = f"the history of {head.id} does not fit into one answer: ask for pages with ?limit="
    return TooLargeError(text, code="response_too_large")


def _page(engine: Engine, head: Head, page: EventPage) -> list[Numbered]:
    count = min(max(page.limit, 1), 1000)
    if page.descending:
        last = head.length if page.cursor is None else min(page.cursor - 1, head.length)
        after = max(last - count, 0)
    else:
        after = max(page.cursor or 0, 0)
        last = after + count
    if after >= min(last, head.length):
        return []
    found = history.read(engine, head, after)
    return [n for n in found if n.seq <= last]


def _schedules(engine: Engine, head: Head, wanted: list[Numbered]) -> dict[int, Numbered]:
    """Schedules before the page, of activities whose outcomes stand in it."""
    renderer = Renderer(head.nonce)
    unknown = {n.event.data["q"] for n in wanted if renderer.unknown(n)}
    if not unknown:
        return {}
    earlier = history.load(engine, head)
    return {
        n.event.data["q"]: n
        for n in earlier
        if n.seq < wanted[0].seq
        and n.event.type is EventType.ACTIVITY_SCHEDULED
        and n.event.data["q"] in unknown
    }


def _rendered(head: Head, found: list[Numbered], known: dict[int, Numbered]) -> Iterator[EventView]:
    renderer = Renderer(head.nonce, known)
    for n in found:
        yield EventView(
            seq=n.seq,
            type=n.event.type,
            payload=renderer.payload(n),
            at=n.event.at,
            explicit_null=n.event.type in _BARE and "v" in n.event.data,
        )


# Events whose payload is a value as it stands, not an object around it.
_BARE = (EventType.STARTED, EventType.COMPLETED)


def state(engine: Engine, ref: RunRef) -> StateView:
    """The newest snapshot of the run's queries."""
    head = names.find(engine, ref)
    missing = NotFoundError(f"no state for workflow {ref.run_id}")
    for _ in range(3):
        if head is None or head.snapshot is None:
            raise missing
        key = keys.snapshot(head.key, head.nonce, head.snapshot)
        found = engine.store.get(Payload, key)
        if found is not None:
            text = payloads.text(engine, head.key, head.nonce, found.text)
            value = values.parse(text or "null")
            return StateView(
                state=value, event_seq=found.length or 0, created_at=found.created_at or 0.0
            )
        head = engine.store.get(Head, head.key)  # replaced between the two reads
    raise missing


def activities(engine: Engine, ref: RunRef) -> list[ActivityView]:
    """Every activity of a run, queued or eager, in the order of their scheduling."""
    head = names.need(engine, ref)
    found = payloads.resolve(engine, head.key, head.nonce, history.load(engine, head))
    views = records.activities_in(head, found)
    places = {
        keys.activity(view.id, head.nonce, seq): seq
        for seq, view in views.items()
        if view.seq in (head.queued or ())
    }
    for key, item in engine.store.get_many(Activity, list(places)).items():
        views[places[key]] = records.activity_view(engine, item)
    return [views[seq] for seq in sorted(views)]


def activity(engine: Engine, activity_id: int) -> ActivityView:
    item = items.find(engine, activity_id)
    if item is None:
        raise NotFoundError(f"activity {activity_id} not found")
    return records.activity_view(engine, item)


def queue_stats(engine: Engine, namespace: str) -> list[QueueStats]:
    """Activities by queue, and the workers that poll it."""
    ids.check_name(namespace, "namespace")
    counts: dict[str, dict[str, int]] = {}
    for item in engine.store.activities():
        if item.run[0] == namespace and item.status_letter != states.INVALIDATED:
            queue = counts.setdefault(item.queue, {})
            queue[item.status] = queue.get(item.status, 0) + 1
    polled: dict[str, int] = {}
    for worker in workers.list_workers(engine, namespace):
        polled[worker.queue] = polled.get(worker.queue, 0) + 1
    return [
        QueueStats(
            queue=name,
            pending_activities=counts.get(name, {}).get(ActivityStatus.PENDING, 0),
            running_activities=counts.get(name, {}).get(ActivityStatus.RUNNING, 0),
            workers=polled.get(name, 0),
        )
        for name in sorted(counts.keys() | polled.keys())
    ]
