"""Workers in this process, each a few lines: one speaks exchange, one the legacy calls.

They think nothing themselves; the test says which commands follow.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from assay_engine.app import exchange, runs, tasks, workers
from assay_engine.app.engine import Engine
from assay_engine.app.names import RunRef
from assay_engine.app.views import ActivityView, LegacyTask
from tests.costs.metered import Metered

QUEUE = "orders"
TYPE = "Order"
INPUT = {"order": "o-10042", "amount": 1999, "currency": "EUR"}
RESULT = {"receipt": "r-771230", "captured": True}

Task = dict[str, Any]
Command = Mapping[str, Any]
COMPLETE: Command = {"type": "CompleteWorkflow", "result": {"status": "shipped"}}


def start(engine: Engine, run_id: str, type_: str = TYPE) -> None:
    runs.start(engine, runs.StartRun(run_id=run_id, type=type_, queue=QUEUE, input=INPUT))


def signal(engine: Engine, run_id: str, name: str, payload: Any = None) -> None:
    assert runs.signal(engine, RunRef(run_id=run_id, namespace="main"), name, payload)


def step(seq: int) -> Command:
    """The command of a sequential step."""
    return {
        "type": "ScheduleActivity",
        "seq": seq,
        "name": "charge_card",
        "task_queue": QUEUE,
        "input": INPUT,
    }


class ExchangeWorker:
    """Holds at most one run, up to what it has delivered."""

    def __init__(self, table: Metered, name: str = "host-4711-5f3a9c1e") -> None:
        self._table = table
        self._name = name

    def exchange(self, **fields: Any) -> dict[str, Any]:
        who = {"protocol": 1, "worker_id": self._name, "namespace": "main", "queue": QUEUE}
        types = {"workflows": None, "activities": None}
        return exchange.exchange(self._table.engine, {**who, **types, **fields})

    def poll(self) -> dict[str, Any]:
        return self.exchange(room={"workflows": 5, "activities": 5})

    def take_workflows(self, room: int = 1, **fields: Any) -> list[Task]:
        answer = self.exchange(room={"workflows": room, "activities": 0}, **fields)
        return list(answer["workflow_tasks"])

    def take_workflow(self, **fields: Any) -> Task:
        (task,) = self.take_workflows(**fields)
        return task

    def take_activities(self, room: int) -> list[Task]:
        return list(self.exchange(room={"workflows": 0, "activities": room})["activity_tasks"])

    def report(self, kind: str, task: Task, **fields: Any) -> dict[str, Any]:
        report = {"id": uuid4().hex, "kind": kind, "run": task["run"], **fields}
        (answer,) = self.exchange(reports=[report])["reports"]
        return dict(answer)

    def commit(self, task: Task, commands: Sequence[Command], eager: int = 0) -> dict[str, Any]:
        return self.report("commands", task, lease=task["lease"], commands=commands, eager=eager)

    def complete(self, task: Task, **fields: Any) -> dict[str, Any]:
        at = round(self._table.engine.now(), 6)
        named = {"seq": task["seq"], "attempt": task["attempt"], "at": at}
        if not task["eager"]:
            named["activity_id"] = task["activity_id"]
        return self.report("completed", task, result=RESULT, **named, **fields)


class FusedRun:
    """A run that its worker holds: every step is the outcome and the next command in one."""

    def __init__(self, worker: ExchangeWorker, task: Task) -> None:
        self._worker = worker
        self._mark: str | None = None
        answer = worker.commit(task, [step(1)], eager=1)
        self._remember(answer)

    def _remember(self, answer: dict[str, Any]) -> None:
        assert answer["status"] == "accepted", answer
        self.version, self._mark = answer["version"], answer["mark"]
        self._activities = answer["activities"]

    def go_on(self, commands: Sequence[Command] | None = None) -> None:
        (activity,) = self._activities
        issued = [step(activity["seq"] + 1)] if commands is None else list(commands)
        then = {"version": self.version, "mark": self._mark, "eager": 1, "commands": issued}
        self._remember(self._worker.complete(activity, then=then))


def grown(table: Metered, worker: ExchangeWorker, run_id: str, events: int) -> Task:
    """A new run's task with at least so many events of history behind it."""
    start(table.engine, run_id)
    task = worker.take_workflow()
    for first in range(1, events + 1, 2000):
        seqs = range(first, min(first + 2000, events + 1))
        effects = [
            {"type": "RecordSideEffect", "seq": seq, "name": "id", "value": seq} for seq in seqs
        ]
        version = worker.commit(task, effects)["version"]
        signal(table.engine, run_id, "go_on")
        task = worker.take_workflow(cached=[{"run": task["run"], "seq": version}])
    return task


class LegacyWorker:
    """The loop of the Lua client: a sign of life, a workflow poll, if idle an activity poll."""

    def __init__(self, table: Metered, namespace: str | None = None) -> None:
        self._table = table
        registration = workers.Registration(
            identity="worker-1",
            queue=QUEUE,
            namespace=namespace,
            workflows=(TYPE,),
            activities=("charge_card",),
        )
        self._id = workers.register(table.engine, registration)

    def poll_workflow(self) -> LegacyTask | None:
        workers.heartbeat(self._table.engine, self._id)
        return tasks.poll_workflow(self._table.engine, QUEUE, self._id)

    def poll_activity(self) -> ActivityView | None:
        return tasks.poll_activity(self._table.engine, QUEUE, self._id)

    def take_workflow(self) -> LegacyTask:
        task = self.poll_workflow()
        assert task is not None
        return task

    def take_activity(self) -> ActivityView:
        """An iteration of the loop that finds no workflow task."""
        assert self.poll_workflow() is None
        activity = self.poll_activity()
        assert activity is not None
        return activity

    def commit(self, task: LegacyTask, *commands: Command) -> None:
        ref = RunRef(run_id=task.workflow_id, namespace=None)
        tasks.submit_commands(self._table.engine, ref, self._id, [dict(c) for c in commands])

    def complete(self, activity: ActivityView) -> None:
        tasks.complete_activity(self._table.engine, activity.id, RESULT)
