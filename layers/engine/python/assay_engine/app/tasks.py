"""The legacy worker calls: one thing a request, answered at once."""

from typing import Any

from ..core import keys, limits
from ..core.commands import read_all
from ..core.commit import LEGACY_REPORT
from ..core.decide import Batch
from ..core.errors import ConflictError, NotFoundError, StaleError
from ..core.render import Renderer, for_legacy, shipped
from ..core.run import Head
from . import activities, commits, history, names, polling, problems, queues, records, workers
from .engine import Engine
from .names import RunRef
from .views import ActivityView, EventView, LegacyTask

_TRIES = 3


def poll_workflow(engine: Engine, queue: str, worker_id: str) -> LegacyTask | None:
    """A run of the queue that has something to think about, leased to the worker."""
    worker = workers.alive(engine, worker_id)
    slots = queues.slots(engine, queue, keys.WORKFLOWS, workers.namespace_of(worker_id))
    sight = polling.look(engine, slots, workers.types(worker, keys.WORKFLOWS))
    for head in polling.take_runs(engine, sight, worker_id, room=1, tries=_TRIES):
        task = _task(engine, head)
        if task is not None:
            return task
    return None


def _task(engine: Engine, head: Head) -> LegacyTask | None:
    events = shipped(history.read(engine, head))
    if sum(len(str(n.event.data)) + 120 for n in events) > limits.MAX_ANSWER_BYTES:
        _pass_over(engine, head)
        return None
    renderer = Renderer(head.nonce)
    views = [
        EventView(
            seq=n.seq,
            type=n.event.type,
            payload=for_legacy(n.event.type, renderer.payload(n)),
            at=n.event.at,
        )
        for n in events
    ]
    return LegacyTask(
        workflow_id=head.id,
        namespace=head.namespace,
        workflow_type=head.type,
        task_queue=head.queue,
        input=views[0].payload,
        history=tuple(views),
    )


def _pass_over(engine: Engine, head: Head) -> None:
    """The history is too long for one answer: say so in the record, and let others by."""
    text = "the history does not fit into one answer; use a worker that pages"
    token = str(head.lease_token)
    problems.hand_back(engine, head.key, head.nonce, token, ("history_too_long", text))


def submit_commands(
    engine: Engine, ref: RunRef, worker_id: str, commands: list[dict[str, Any]]
) -> None:
    """End a workflow task. Only for the worker that holds the run's lease."""
    arrived = engine.now()
    workers.alive(engine, worker_id)
    head = _held(engine, ref, worker_id)
    proven = (
        head.lease_worker == worker_id
        and (head.lease_taken or 0.0) <= arrived + limits.LEGACY_ARRIVAL_SLACK_SECS
    )
    if not head.is_open or not proven:
        raise StaleError(f"{worker_id} does not hold the lease of workflow {ref.run_id}")
    batch = Batch(
        worker=worker_id,
        report=LEGACY_REPORT + engine.entropy.token(7),
        legacy=True,
        lease_secs=engine.options.lease_secs,
    )
    done = commits.commit(engine, head, read_all(commands), batch)
    if done.refused:
        text = f"workflow {ref.run_id} has events this task had not seen; it comes again with them"
        raise ConflictError(text, code="unseen_events")


def _held(engine: Engine, ref: RunRef, worker_id: str) -> Head:
    """Without a namespace it means the run whose lease this worker holds."""
    if ref.namespace is not None or workers.namespace_of(worker_id) is not None:
        namespace = ref.namespace or workers.namespace_of(worker_id)
        return names.need(engine, RunRef(run_id=ref.run_id, namespace=namespace))
    main = engine.store.get(Head, keys.head(limits.DEFAULT_NAMESPACE, ref.run_id))
    if main is not None and main.lease_worker == worker_id:
        return main
    candidates = names.others(engine, ref.run_id)
    for head in candidates:
        if head.lease_worker == worker_id:
            return head
    found = main or next(iter(candidates), None)
    if found is None:
        raise NotFoundError(f"workflow {ref.run_id}")
    return found


def poll_activity(engine: Engine, queue: str, worker_id: str) -> ActivityView | None:
    worker = workers.alive(engine, worker_id)
    slots = queues.slots(engine, queue, keys.ACTIVITIES, workers.namespace_of(worker_id))
    sight = polling.look(engine, slots, workers.types(worker, keys.ACTIVITIES))
    taken = polling.take_activities(engine, sight, worker_id, room=1, lease_secs=None)
    return records.activity_view(engine, taken[0]) if taken else None


def complete_activity(engine: Engine, activity_id: int, result: Any) -> None:
    """Record a result; unknown ids are passed over, as the wire wants it."""
    item = activities.find(engine, activity_id)
    if item is not None:
        activities.complete(engine, item, result)


def fail_activity(engine: Engine, activity_id: int, error: str, retryable: bool = True) -> None:
    item = activities.find(engine, activity_id)
    if item is not None:
        activities.fail(engine, item, activities.Failed(error=error, retryable=retryable))


def heartbeat_activity(engine: Engine, activity_id: int, details: Any) -> None:
    item = activities.find(engine, activity_id)
    if item is not None:
        activities.heartbeat(engine, item, details)
