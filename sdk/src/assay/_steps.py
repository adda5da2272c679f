"""Lets workflows go on: by a task the engine has handed out, or by the outcome of an activity.

The second way is the fused step: the outcome goes to the cached workflow at once, and is reported
together with what follows from it. Everything that concerns one run happens one after the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from msgspec import structs

from assay._attempts import Attempts
from assay._exchange import (
    ActivityTask,
    Outcome,
    Problem,
    ReportAnswer,
    Then,
    WorkflowTask,
    commands,
    outcome,
    renew,
)
from assay._history import Command
from assay._info import RunInfo
from assay._keeper import Hold, rhythm
from assay._kit import Kit
from assay._replay import Machine
from assay._rhythm import Rhythm
from assay._runs import Run, Runs
from assay._setbacks import Setbacks
from assay._taskset import TaskSet
from assay.errors import (
    ConnectionFailedError,
    ForbiddenCallError,
    NonDeterminismError,
    UnavailableError,
)
from assay.failure import Failure
from assay.workflow import body

logger = logging.getLogger("assay.worker")

_LONG_HISTORY = 500  # events: replayed beside the loop, so that nothing else waits for it
_SKEWED_SECS = 60.0


class Steps:
    """Takes workflow tasks, at most `limit` at once, and the outcomes of activities."""

    def __init__(
        self, kit: Kit, rhythm: Rhythm, *, runs: Runs, attempts: Attempts, limit: int
    ) -> None:
        self._kit = kit
        self._look = rhythm.look
        self._runs = runs
        self._attempts = attempts
        self._limit = limit
        self._setbacks = Setbacks(kit)
        self._no_fusing_until = 0.0
        self.thinking = TaskSet(kit.changed)
        self.waiting = TaskSet()

    @property
    def free(self) -> int:
        """How many more workflow tasks the worker can take now."""
        return max(0, self._limit - len(self.thinking))

    def start(self, task: WorkflowTask) -> None:
        """Take a workflow task beside everything else."""
        self.thinking.spawn(self._take(task))

    async def report(self, task: ActivityTask, ended: Outcome) -> None:
        """Tell how an attempt ended; if the workflow is at hand, with what follows from it."""
        if not task.eager:
            self._runs.moved(task.run)
            await self._tell(task, ended)
            return
        async with self._runs.held(task.run) as run:
            machine = run.up_to_date
            if machine is None or not ended.final(task) or self._clock_is_off():
                answer = await self._tell(task, ended)
                run.known = max(run.known, answer.version or 0)
            else:
                await self._fuse(run, machine, task, ended)

    # -- workflow tasks --------------------------------------------------------------------------

    async def _take(self, task: WorkflowTask) -> None:
        hold = Hold(
            every_secs=rhythm(task.lease_secs),
            report=lambda: renew(self._kit.new_id(), task),
            heard=lambda _answer: None,  # a lost lease shows in the answer to the commands
        )
        self._kit.keeper.add(hold)
        try:
            async with self._runs.held(task.run) as run:
                await self._think(run, task)
        finally:
            self._kit.keeper.drop(hold)

    async def _think(self, run: Run, task: WorkflowTask) -> None:
        machine = self._machine(run, task)
        if machine is None:  # the engine took the run for cached, but it is gone
            run.forget()
            await self._kit.release(task)
            self._look(0.0)
            return
        try:
            await self._feed(machine, task)
        except (ConnectionFailedError, UnavailableError) as error:
            self._give_up(run, task, f"the rest of its history did not come: {error}")
        except NonDeterminismError as error:
            self._give_up(run, task, str(error), code="non_determinism")
        except ForbiddenCallError as error:
            self._give_up(run, task, str(error), code="forbidden_call")
        except Exception as error:
            logger.exception("replaying run %s failed", task.run.id)
            self._give_up(run, task, f"{type(error).__name__}: {error}", code="replay_failed")
        else:
            await self._commit(run, machine, task)

    def _machine(self, run: Run, task: WorkflowTask) -> Machine | None:
        if run.machine is not None and task.after <= run.machine.delivered <= task.version:
            return run.machine
        if task.after > 0:
            return None
        run.forget()
        run.machine = Machine(body(self._kit.registry, _info(task)))
        run.context = task.context
        return run.machine

    async def _feed(self, machine: Machine, task: WorkflowTask) -> None:
        history, cursor = list(task.history), task.history_next
        while cursor is not None:
            answer = await self._kit.channel.pages(task.run, cursor)
            page = next((page for page in answer.pages if page.run == task.run), None)
            if page is None:
                raise ConnectionFailedError("an answer without the page that was asked for")
            history += page.history
            cursor = page.history_next
        feed = partial(machine.feed, history, task.seen, complete=not task.legacy)
        if len(history) > _LONG_HISTORY:
            await asyncio.to_thread(feed)
        else:
            feed()
        if machine.delivered != task.version:
            text = f"history of {task.version} events ends at {machine.delivered}"
            raise ConnectionFailedError(text)

    async def _commit(self, run: Run, machine: Machine, task: WorkflowTask) -> None:
        issued = machine.commands()
        with self._attempts.reserved(issued) as eager:
            report = commands(self._kit.new_id(), task, issued, eager)
            answer = await self._kit.outbox.submit(report)
        match answer.status:
            case "accepted":
                self._setbacks.over(task.run)
                self._recorded(run, machine, answer)
            case "invalid":
                why = f"its commands were not taken: {answer.error}"
                self._give_up(run, task, why, code="invalid_commands")
            case _:
                run.forget()
                self._look(0.0)
        self._follow(run, issued, answer)

    def _recorded(self, run: Run, machine: Machine, answer: ReportAnswer) -> None:
        version = answer.version or 0
        run.mark, run.known = answer.mark, max(run.known, version)
        ends_at = machine.delivered + machine.outstanding
        if machine.closed:
            run.forget()
        elif version == ends_at:
            machine.record()
        elif version < ends_at:  # less was recorded than issued: do not guess what
            run.forget()
        else:  # something landed first; a task will bring it, and what was issued with it
            self._look(0.0)

    def _give_up(self, run: Run, task: WorkflowTask, why: str, *, code: str | None = None) -> None:
        logger.error("run %s (%s) stays as it is: %s", task.run.id, task.workflow_type, why)
        run.forget()
        problem = None if code is None else Problem(code, why)
        self.waiting.spawn(self._setbacks.hand_back(task, problem))

    # -- outcomes --------------------------------------------------------------------------------

    async def _fuse(self, run: Run, machine: Machine, task: ActivityTask, ended: Outcome) -> None:
        version, mark = machine.delivered, run.mark
        at = self._now()
        machine.deliver(ended.event(version + 1, task, at))
        issued = machine.commands()
        with self._attempts.reserved(issued) as eager:
            then = Then(version=version, mark=mark, commands=issued, eager=eager)
            report = outcome(self._kit.new_id(), task, ended, at=at, then=then)
            answer = await self._kit.outbox.submit(report)
        if answer.status == "accepted":
            machine.record()  # on top of `version`, or not at all: nothing lies between
            version_now = answer.version or 0
            run.mark, run.known = answer.mark, max(run.known, version_now)
            if machine.closed or version_now < machine.delivered:
                run.forget()
        else:
            self._not_fused(run, answer)
        if answer.status == "invalid":
            await self._tell(task, ended)
        self._follow(run, issued, answer)

    def _not_fused(self, run: Run, answer: ReportAnswer) -> None:
        run.forget()
        self._look(0.0)
        if answer.code == "clock_skew":
            logger.warning("this machine's clock differs from the engine's by more than 5 s")
            self._no_fusing_until = self._kit.clock.monotonic() + _SKEWED_SECS

    async def _tell(self, task: ActivityTask, ended: Outcome) -> ReportAnswer:
        """Report an outcome alone; one that cannot be taken becomes a failure that can."""
        report = outcome(self._kit.new_id(), task, ended, at=self._now(), then=None)
        answer = await self._kit.outbox.submit(report)
        if answer.status == "invalid":
            logger.error("outcome of activity %s was not taken: %s", task.name, answer.error)
            if ended.failure is None:
                text = f"the result could not be reported: {answer.error}"
                failure = Failure(message=text, retryable=False)
                return await self._tell(task, Outcome(failure=failure))
        return answer

    # -- both ------------------------------------------------------------------------------------

    def _follow(self, run: Run, issued: Sequence[Command], answer: ReportAnswer) -> None:
        """Start what came back, and look for what did not when it can be there."""
        for activity in answer.activities:
            self._attempts.start(structs.replace(activity, context=run.context))
        if answer.status != "accepted":
            return
        queued = -len(answer.activities)
        for command in issued:
            if command["type"] == "ScheduleTimer":
                self._look(command["duration_secs"])
            elif command.get("task_queue") == self._kit.queue:
                queued += 1
        if queued > 0:
            self._look(0.0)

    def _clock_is_off(self) -> bool:
        return self._kit.clock.monotonic() < self._no_fusing_until

    def _now(self) -> float:
        return round(self._kit.clock.time(), 6)


def _info(task: WorkflowTask) -> RunInfo:
    return RunInfo(
        workflow_id=task.run.id,
        workflow_type=task.workflow_type,
        namespace=task.run.namespace,
        task_queue=task.task_queue,
        run_id=task.run_id,
        incarnation=task.run.incarnation,
        attempt=task.attempt,
        parent_id=task.parent_id,
        started_at=task.started_at,
        context=task.context or {},
    )
