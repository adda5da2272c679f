"""An engine in memory on a clock that tests move, and short words for talking to it."""

from typing import Any

from assay_engine.app import exchange, notices, queries, recovery, runs, tasks
from assay_engine.app.engine import Engine, Memory, Options
from assay_engine.app.names import RunRef
from assay_engine.app.views import ActivityView, LegacyTask, RunView
from assay_engine.core import keys
from assay_engine.core.run import Head
from assay_engine.store.memory import MemoryStore
from assay_engine.system import SystemEntropy
from assay_engine.wakeups import LocalWakeups


class ManualClock:
    def __init__(self) -> None:
        self.time = 1_000_000.0

    def now(self) -> float:
        return self.time


class MemoryBlobs:
    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> None:
        self.held[name] = data

    def get(self, name: str) -> bytes:
        return self.held[name]


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.blobs = MemoryBlobs()
        self.engine = self.process()

    def process(self) -> Engine:
        """A further process on the same table: it remembers nothing."""
        return Engine(
            store=self.store,
            blobs=self.blobs,
            wakeups=LocalWakeups(),
            clock=self.clock,
            entropy=SystemEntropy(),
            options=Options(shared=False, idle_poll_secs=0.0),
            memory=Memory(),
        )

    def pass_secs(self, secs: float) -> None:
        self.clock.time += secs

    def start(self, run_id: str, **fields: Any) -> None:
        runs.start(self.engine, runs.StartRun(run_id=run_id, type="Flow", queue="q", **fields))

    def poll(self, worker: str = "w1", queue: str = "q") -> LegacyTask | None:
        return tasks.poll_workflow(self.engine, queue, worker)

    def commands(self, run_id: str, *commands: dict[str, Any], worker: str = "w1") -> None:
        tasks.submit_commands(self.engine, RunRef(run_id=run_id), worker, list(commands))

    def turn(self, run_id: str, *commands: dict[str, Any]) -> LegacyTask:
        """Poll, which must bring this run, and answer."""
        task = self.poll()
        assert task is not None
        assert task.workflow_id == run_id
        self.commands(run_id, *commands)
        return task

    def turn_of(self, run_id: str, *commands: dict[str, Any]) -> None:
        """Answer for this run, whatever else is there to do: a signal makes it due."""
        self.signal(run_id, "turn")
        self.turn(run_id, *commands)

    def activity(self, worker: str = "w1", queue: str = "q") -> ActivityView | None:
        return tasks.poll_activity(self.engine, queue, worker)

    def taken(self, worker: str = "w1") -> ActivityView:
        found = self.activity(worker)
        assert found is not None
        return found

    def complete(self, activity: ActivityView, result: Any = None) -> None:
        tasks.complete_activity(self.engine, activity.id, result)

    def fail(self, activity: ActivityView, error: str = "boom", **options: Any) -> None:
        tasks.fail_activity(self.engine, activity.id, error, **options)

    def signal(self, run_id: str, name: str, payload: Any = None) -> bool:
        return runs.signal(self.engine, RunRef(run_id=run_id), name, payload)

    def cancel(self, run_id: str, reason: str | None = None) -> None:
        runs.cancel(self.engine, RunRef(run_id=run_id), reason)

    def terminate(self, run_id: str, reason: str | None = None) -> None:
        runs.terminate(self.engine, RunRef(run_id=run_id), reason)

    def tick(self) -> None:
        recovery.tick(self.engine)

    def stream(self, *run_ids: str) -> None:
        """Deliver the notices of these closed runs."""
        notices.closed(self.engine, [self.head(run_id) for run_id in run_ids])

    def head(self, run_id: str, namespace: str = "main") -> Head:
        head = self.store.get(Head, keys.head(namespace, run_id))
        assert head is not None
        return head

    def record(self, run_id: str) -> RunView:
        return queries.describe(self.engine, RunRef(run_id=run_id))

    def status(self, run_id: str) -> str:
        return self.head(run_id).status

    def events(self, run_id: str) -> list[str]:
        views = queries.events(self.engine, RunRef(run_id=run_id), None)
        assert [view.seq for view in views] == list(range(1, len(views) + 1))
        return [str(view.type) for view in views]

    def payloads(self, run_id: str, kind: str) -> list[Any]:
        views = queries.events(self.engine, RunRef(run_id=run_id), None)
        return [view.payload for view in views if view.type == kind]

    def exchange(self, worker: str = "x1", **fields: Any) -> dict[str, Any]:
        request = {"protocol": 1, "worker_id": worker, "queue": "q", **fields}
        return exchange.exchange(self.engine, request)

    def report(self, worker: str = "x1", **report: Any) -> dict[str, Any]:
        return dict(self.exchange(worker, reports=[report])["reports"][0])

    def take(self, worker: str = "x1", **fields: Any) -> dict[str, Any]:
        """One workflow task by exchange."""
        answer = self.exchange(worker, room={"workflows": 1}, **fields)
        (task,) = answer["workflow_tasks"]
        return dict(task)

    def take_activity(self, worker: str = "x1") -> dict[str, Any]:
        (task,) = self.exchange(worker, room={"activities": 1})["activity_tasks"]
        return dict(task)

    def commit(
        self, task: dict[str, Any], *commands: dict[str, Any], **fields: Any
    ) -> dict[str, Any]:
        report = {"id": "c1", "eager": 10, **fields}
        return self.report(
            kind="commands", run=task["run"], lease=task["lease"], commands=list(commands), **report
        )


def schedule(seq: int = 1, name: str = "act", **fields: Any) -> dict[str, Any]:
    return {"type": "ScheduleActivity", "seq": seq, "name": name, "task_queue": "q", **fields}


def timer(seq: int, secs: float) -> dict[str, Any]:
    return {"type": "ScheduleTimer", "seq": seq, "duration_secs": secs}


def cancel_timer(seq: int) -> dict[str, Any]:
    return {"type": "CancelTimer", "seq": seq}


def call(what: str, seq: int = 1, workflow_id: str = "b", **fields: Any) -> dict[str, Any]:
    return {
        "type": "CallWorkflow",
        "seq": seq,
        "call": what,
        "workflow_id": workflow_id,
        **fields,
    }


def child(run_id: str, **fields: Any) -> dict[str, Any]:
    start = {"workflow_type": "Kid", "workflow_id": run_id, "task_queue": "kids"}
    return {"type": "StartChildWorkflow", **start, **fields}


def wait(name: str) -> dict[str, Any]:
    return {"type": "WaitForSignal", "name": name}


COMPLETE = {"type": "CompleteWorkflow", "result": "done"}
FAIL = {"type": "FailWorkflow", "error": "broke"}
CANCEL = {"type": "CancelWorkflow"}
