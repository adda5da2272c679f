"""One run of the environment, with what a test can do to it and ask about it."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Generic, TypeVar, cast

from assay import _json
from assay._durations import Duration, seconds
from assay._functions import convert
from assay._history import Event
from assay._records import Status
from assay._testing import checks, driving, endings, files
from assay._testing.driving import NeverEndsError
from assay._testing.state import RunState
from assay._testing.world import World
from assay.errors import (
    NotFoundError,
    RequestRejectedError,
    ResultTimeoutError,
    RunCancelledError,
    RunEndedError,
    RunFailedError,
)
from assay.failure import Failure

R = TypeVar("R")

_numbers = itertools.count(1)


class Run(Generic[R]):
    """A run whose result is an `R`::

    run = env.start(order, {"total": 5}, id="o-1")
    run.signal("approve", {"by": "ada"})
    assert run.result() == {"payment": "paid"}
    """

    def __init__(self, world: World, state: RunState, result_type: Any = Any) -> None:
        self._world = world
        self._state = state
        self._type = result_type

    def __repr__(self) -> str:
        return f"Run({self.workflow_id!r}, {self.status})"

    # -- what it is ------------------------------------------------------------------------------

    @property
    def workflow_id(self) -> str:
        """The id of the run."""
        return self._state.workflow_id

    @property
    def run_id(self) -> str:
        """Which of the runs of that id it is."""
        return self._state.run_id

    @property
    def status(self) -> Status:
        """Where it stands."""
        return self._state.status

    @property
    def history(self) -> list[Event]:
        """What has happened to it::

        [event.event_type for event in run.history]
        """
        return list(self._state.events)

    @property
    def search_attributes(self) -> dict[str, Any]:
        """What it was started with, and has upserted since."""
        return dict(self._state.search_attributes)

    @property
    def memo(self) -> dict[str, Any]:
        """What it was started with, and has added since."""
        return dict(self._state.memo)

    @property
    def attempt(self) -> int:
        """Which attempt of the run it is; the first is 1."""
        return self._state.attempt

    @property
    def children(self) -> list[Run[Any]]:
        """The runs that it has started, each as the last of its chain."""
        chains = (chain for chain in self._state.chain.children if chain.parent is self._state)
        return [Run(self._world, chain.latest) for chain in chains]

    @property
    def latest(self) -> Run[R]:
        """The run that its chain of continuations and further attempts has come to."""
        return Run(self._world, _end_of_chain(self._state), self._type)

    def state(self, name: str | None = None) -> Any:
        """Return what its query of that name said last; without a name all of them::

        run.state("pipeline_state")["steps"]
        """
        if name is None:
            return dict(self._state.snapshot)
        if name not in self._state.snapshot:
            text = f"run {self.workflow_id} has no query {name!r}"
            raise NotFoundError(text, code="not_found", status=404)
        return self._state.snapshot[name]

    def query(self, name: str) -> Any:
        """Return the same, under the name that a handle of the client has for it."""
        return self.state(name)

    # -- what is done to it ----------------------------------------------------------------------

    def signal(self, name: str, payload: Any = None) -> bool:
        """Send it a signal; False if it has ended::

        run.signal("approve", {"by": "ada"})
        """
        taken = self._signal({"signal": name, "payload": payload})
        driving.settle(self._world)
        return taken

    def cancel(self, reason: str | None = None, deadline: Duration | None = None) -> bool:
        """Ask it to stop; its code may clean up first. False if it has ended."""
        limit = None if deadline is None else seconds(deadline)
        asked = endings.request_cancel(self._world, self._newest, reason, limit)
        driving.settle(self._world)
        return asked

    def terminate(self, reason: str | None = None) -> bool:
        """End it at once; False if it has ended."""
        ended = endings.terminate(self._world, self._newest, reason)
        driving.settle(self._world)
        return ended

    def request(self, name: str, payload: Any = None, timeout: Duration | None = None) -> Any:
        """Send a signal that it replies to, and return the reply; time is skipped meanwhile.

        It raises `RequestRejectedError`, `RunEndedError` or `ResultTimeoutError` as live.
        """
        target, request_id = self._newest, f"request-{next(_numbers)}"
        over = None if timeout is None else self._world.now + seconds(timeout)
        if not self._signal({"signal": name, "payload": payload, "request_id": request_id}):
            raise RunEndedError(self.workflow_id)
        driving.drive(self._world, lambda: request_id in target.replies or not target.open, over)
        reply = target.replies.get(request_id)
        if reply is None:
            raise self._no_reply(target, name, over)
        if reply.get("error") is not None:
            raise RequestRejectedError(self.workflow_id, Failure.read(reply["error"]))
        return reply.get("payload")

    # -- how it ends -----------------------------------------------------------------------------

    def result(self) -> R:
        """Skip time until it has ended and return its result, or raise how else it ended.

        Continuations and further attempts are waited for too. It raises `RunFailedError` or
        `RunCancelledError` as live, `NeverEndsError` if it waits for something that will not
        happen, and whatever keeps its code from going on::

            assert env.start(order, {"total": 5}).result() == {"payment": "paid"}
        """
        world, state = self._world, self._state
        if not driving.drive(world, lambda: _is_settled(_end_of_chain(state))):
            text = f"run {self.workflow_id} never ends, nothing more will happen by itself"
            raise NeverEndsError(f"{text}\n{driving.waiting(world)}")
        end = _end_of_chain(state)
        if end.problem is not None:
            raise end.problem
        return cast(R, _outcome(end, self._type))

    async def result_async(self) -> R:
        """Return the same to a test that has a loop, which stays free meanwhile::

        assert await run.result_async() == {"payment": "paid"}
        """
        return await asyncio.to_thread(self.result)

    def export(self) -> dict[str, Any]:
        """Return it as an object that `testing.replay` takes, and JSON can spell."""
        return files.written(checks.recorded(self._state))

    # -- inside ----------------------------------------------------------------------------------

    @property
    def _newest(self) -> RunState:
        """The run that has the id now: it is what calls from outside go to."""
        return self._world.newest[self.workflow_id]

    def _signal(self, payload: dict[str, Any]) -> bool:
        return self._world.tell(self._newest, "SignalReceived", payload)

    def _no_reply(self, target: RunState, name: str, over: float | None) -> Exception:
        if not target.open:
            return RunEndedError(self.workflow_id, target.status)
        if over is None:
            text = f"run {self.workflow_id} never replies to {name}"
            return NeverEndsError(f"{text}\n{driving.waiting(self._world)}")
        self._world.agenda.now = over
        return ResultTimeoutError(f"run {self.workflow_id} has not replied to {name} in time")


def _end_of_chain(run: RunState) -> RunState:
    while (following := run.continued_to or run.retried_as) is not None:
        run = following
    return run


def _is_settled(run: RunState) -> bool:
    return not run.open or run.problem is not None


def _outcome(run: RunState, result_type: Any) -> Any:
    if run.status is Status.CANCELLED:
        raise RunCancelledError(run.workflow_id)
    if run.status is not Status.COMPLETED:
        raise RunFailedError(run.workflow_id, run.status, run.error, run.failure)
    what = f"the result of run {run.workflow_id}"
    return convert(_json.plain(run.result), result_type, what)
