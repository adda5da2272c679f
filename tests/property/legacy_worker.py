"""A worker as the Lua client is one: serial, whole histories, answers never checked."""

from typing import Any

from assay_engine.app import tasks, workers
from assay_engine.app.engine import Engine
from assay_engine.app.names import RunRef
from assay_engine.app.views import ActivityView, LegacyTask
from assay_engine.core import keys, values
from assay_engine.core.errors import AssayError
from assay_engine.core.run import Head
from tests.property import programs, replay
from tests.property.director import Call, Director, LostError, Script, Sleep, pause

_UNANSWERED = (AssayError, LostError)


class LegacyWorker:
    def __init__(self, director: Director, name: str, queue: str) -> None:
        self._director = director
        self._world = director.world
        self._name = name
        self._queue = queue
        self._id = ""
        director.spawn(name, name, self._script())

    def _script(self) -> Script:
        registration = workers.Registration(
            identity=self._name, queue=self._queue, workflows=(programs.SERIAL,)
        )
        while not self._id:
            try:
                self._id = yield Call("register", lambda e: workers.register(e, registration))
            except _UNANSWERED:
                yield Sleep(1.0)
        while True:
            worked = yield from self._workflow()
            if not worked:
                worked = yield from self._activity()
            if not worked:
                yield from pause(self._world, self._queue)

    def _workflow(self) -> Any:
        try:
            polled = yield Call("poll_workflow", self._poll)
        except _UNANSWERED:
            return False
        if polled is None:
            return False
        task, lease = polled
        yield from self._think()
        sent = replay.commands(task.input, task.history)
        ref = RunRef(run_id=task.workflow_id)
        shown = ", ".join(f"{c['type']} {c.get('seq', '')}" for c in sent)
        try:
            yield Call(
                f"commands {task.workflow_id}: {shown}",
                lambda e: tasks.submit_commands(e, ref, self._id, sent),
            )
        except _UNANSWERED:
            return True
        self._world.ledger.committed(lease)
        return True

    def _poll(self, engine: Engine) -> tuple[LegacyTask, str] | None:
        task = tasks.poll_workflow(engine, self._queue, self._id)
        if task is None:
            return None
        head = self._world.witness.get(Head, keys.head(task.namespace, task.workflow_id))
        assert head is not None
        # The client is told no lease; it is looked up here, for the ledger alone. If it has
        # passed to somebody else by now, nothing under it may be accepted.
        return task, str(head.lease_token) if head.lease_worker == self._id else "lost"

    def _think(self) -> Script:
        if not self._world.calm and self._world.random.random() < 0.3:
            yield Sleep(self._world.random.choice([0.1, 1.0, 40.0]))

    def _activity(self) -> Any:
        try:
            task = yield Call(
                "poll_activity", lambda e: tasks.poll_activity(e, self._queue, self._id)
            )
        except _UNANSWERED:
            return False
        if task is None:
            return False
        attempt = self._world.ledger.attempt(task.id, task.attempt)
        self._world.ledger.handed_out(attempt, self._id)
        work = values.parse(task.input)
        yield from self._work(task, work["beats"])
        ok, value = programs.perform(work, task.attempt, retried=attempt[2] > 0)
        what = f"{'complete' if ok else 'fail'} {task.workflow_id}/{task.seq}#{task.attempt}"
        try:
            if ok:
                yield Call(what, lambda e: tasks.complete_activity(e, task.id, value))
                self._world.ledger.kept(task.id)
            else:
                yield Call(what, lambda e: tasks.fail_activity(e, task.id, value))
        except _UNANSWERED:
            pass
        return True

    def _work(self, task: ActivityView, beats: bool) -> Script:
        if self._world.calm:
            return
        for _ in range(self._world.random.choice([0, 0, 1, 4])):
            yield Sleep(self._world.random.choice([0.2, 4.0]))
            if not beats:
                continue
            try:
                yield Call(
                    f"heartbeat {task.workflow_id}/{task.seq}",
                    lambda e: tasks.heartbeat_activity(e, task.id, {"at": "work"}),
                )
            except _UNANSWERED:
                pass
