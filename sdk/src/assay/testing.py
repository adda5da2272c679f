"""Tests of workflows without an engine: time is skipped, and recorded histories are replayed.

::

    def test_order() -> None:
        with testing.Environment() as env:
            env.activity("charge", lambda ctx, input: "paid")
            run = env.start(order, {"total": 5}, id="o-1")
            run.signal("approve", {"by": "ada"})
            assert run.result() == {"payment": "paid"}

    def test_running_orders_can_go_on_with_this_code() -> None:
        testing.replay("tests/histories")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from assay import workflow as _workflow
from assay._durations import Duration, seconds
from assay._functions import ACTIVITY_NAME, Function, Registry, result_type
from assay._functions import name_of as _name_of
from assay._history import Event
from assay._records import Status
from assay._start import Message, StartOptions
from assay._testing import checks, driving, endings, files, replaying, starting, thinking
from assay._testing.agenda import Agenda
from assay._testing.attempts import WorkerDiedError
from assay._testing.driving import NeverEndsError
from assay._testing.files import History
from assay._testing.handle import Run
from assay._testing.options import Options
from assay._testing.putting import NewRun
from assay._testing.world import Activity, Code, World
from assay._workflows import (
    In,
    InputOnly,
    R,
    WithInput,
    WithoutInput,
    WorkflowRef,
    name_of,
    queue_of,
)
from assay.errors import AssayError, NonDeterminismError, NotFoundError, UsageError

if TYPE_CHECKING:
    from assay.client import Client

__all__ = [
    "Environment",
    "Event",
    "NeverEndsError",
    "Run",
    "WorkerDiedError",
    "export",
    "replay",
]

_BEGINNING = datetime(2025, 1, 1, tzinfo=UTC)


class Environment:
    """An engine in this process, with a clock of its own::

        with testing.Environment() as env:
            env.activity("charge", lambda input: "paid")
            run = env.start(order, {"total": 5})
            env.advance("30d")
            assert run.status == "COMPLETED"

    Activities and children are run for real, unless a test puts something in their place. Every
    run is replayed from its own history when it ends, or when the environment is left; with
    `replay_each_step` after each step. One that does something else then is no workflow that an
    engine can run, and `NonDeterminismError` tells where it parts.
    """

    def __init__(
        self,
        *,
        registry: Registry | None = None,
        start_time: datetime = _BEGINNING,
        replay_each_step: bool = False,
    ) -> None:
        self._world = World(
            agenda=Agenda(start_time.timestamp()),
            code=Code(registry=_workflow.default_registry if registry is None else registry),
            think=thinking.think,
            time_out=endings.time_out,
            replay_each_step=replay_each_step,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left = [run for run in self._world.runs if run.open and run.problem is None]
        try:
            if error is None:
                for run in left:
                    checks.repeats_itself(self._world, run)
        finally:
            for run in self._world.runs:
                if run.machine is not None:
                    run.machine.drop()
            self._world.loop.close()

    # -- code ------------------------------------------------------------------------------------

    def activity(
        self,
        activity: str | Callable[..., Any],
        function: Callable[..., Any],
        *,
        takes: Duration = 0,
    ) -> None:
        """Put a function in the place of an activity; `takes` is what it takes of skipped time.

        It may be sync or async, of a context and an input, of either, or of none; a failure that
        it raises is retried as live. Raising `WorkerDiedError` plays a worker that dies::

            env.activity(charge, lambda input: "paid")
            env.activity("ship", ship_slowly, takes="2h")
        """
        name = _name_of(activity, ACTIVITY_NAME)
        self._world.code.activities[name] = Activity(
            function=Function(name, _taking_input(function)), takes_secs=seconds(takes)
        )

    def workflow(self, workflow: WorkflowRef, function: Callable[..., Any]) -> None:
        """Put a function in the place of a workflow, for children that a test is not about.

        A plain function of the input is called once, and what it returns is the result; an
        `async def` is run as a workflow::

            env.workflow("Shipping", lambda input: {"parcel": 7})
        """
        name, code = name_of(workflow), self._world.code
        if inspect.iscoroutinefunction(function):
            code.stubs.pop(name, None)
            code.own.workflows[name] = Function(name, function)
        else:
            code.stubs[name] = Function(name, _taking_input(function))

    # -- time ------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The time of the environment, in UTC."""
        return datetime.fromtimestamp(self._world.now, UTC)

    def advance(self, duration: Duration) -> None:
        """Let time pass, and everything happen that falls due::

        env.advance("30d")
        """
        driving.advance(self._world, seconds(duration))

    # -- runs ------------------------------------------------------------------------------------

    @overload
    def start(
        self, workflow: str, input: Any = None, **options: Unpack[StartOptions]
    ) -> Run[Any]: ...

    @overload
    def start(
        self, workflow: WithInput[In, R], input: In, **options: Unpack[StartOptions]
    ) -> Run[R]: ...

    @overload
    def start(
        self, workflow: InputOnly[In, R], input: In, **options: Unpack[StartOptions]
    ) -> Run[R]: ...

    @overload
    def start(self, workflow: WithoutInput[R], **options: Unpack[StartOptions]) -> Run[R]: ...

    def start(
        self, workflow: WorkflowRef, input: Any = None, **options: Unpack[StartOptions]
    ) -> Run[Any]:
        """Start a run, and let happen what can happen without time passing::

        run = env.start(order, {"total": 5}, id="o-1", run_timeout="1h")
        """
        name = name_of(workflow)
        new = NewRun(
            workflow_id=self._new_id(name, options),
            workflow_type=name,
            task_queue=options.get("task_queue") or queue_of(workflow),
            input=input,
            options=Options.read(options),
            messages=[Message(*message) for message in options.get("messages", ())],
        )
        state = starting.start(self._world, new, options)
        driving.settle(self._world)
        return Run(self._world, state, result_type(workflow))

    @property
    def runs(self) -> list[Run[Any]]:
        """Every run of the environment, children too, the oldest first."""
        return [Run(self._world, state) for state in self._world.runs]

    def get(self, workflow_id: str) -> Run[Any]:
        """Return the newest run of an id::

        env.get("o-1-parcel").signal("delivered")
        """
        try:
            return Run(self._world, self._world.newest[workflow_id])
        except KeyError:
            text = f"there is no run {workflow_id}"
            raise NotFoundError(text, code="not_found", status=404) from None

    def _new_id(self, name: str, options: StartOptions) -> str:
        given = {options[key] for key in ("id", "workflow_id") if key in options}
        if len(given) > 1:
            raise UsageError("`id` and `workflow_id` are the same thing: give one of them")
        return str(given.pop()) if given else f"{name}-{len(self._world.runs) + 1}"


def _taking_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a stand-in that does not care take whatever it is given."""
    try:
        cares = bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a built-in that does not tell
        cares = True
    return function if cares else lambda _input: function()


def replay(histories: History | Iterable[History], registry: Registry | None = None) -> list[str]:
    """Replay recorded histories with the code as it is; return their names.

    Each is a file, a folder of `*.json` files, or an object as `export` returns it. All are
    tried; `NonDeterminismError` then tells of each that the code does not repeat, where it parts
    and what it does instead. A history that has ended must end in the same way::

        def test_running_orders_can_go_on_with_this_code() -> None:
            testing.replay("tests/histories")

    A file can also be made with two calls to the API, as
    `{"record": <GET /workflows/{id}>, "events": <GET /workflows/{id}/events>}`.
    """
    known = _workflow.default_registry if registry is None else registry
    found = files.read_all(histories)
    reports = [report for recorded in found if (report := _failure(recorded, known)) is not None]
    if reports:
        text = f"{len(reports)} of {len(found)} histories cannot be replayed"
        raise NonDeterminismError("\n\n".join([text, *reports]))
    return [recorded.name for recorded in found]


def _failure(recorded: replaying.Recorded, registry: Registry) -> str | None:
    """Return why a history cannot be replayed."""
    kind = recorded.info.workflow_type
    if kind not in registry.workflows:
        return f"{recorded.name}: there is no workflow {kind!r}"
    try:
        replaying.replay(recorded, registry)
    except AssayError as error:
        return f"{recorded.name} ({kind}): {error}"
    return None


def export(client: Client, workflow_id: str) -> dict[str, Any]:
    """Return a run of an engine as an object that `replay` takes, and JSON can spell::

    Path("tests/histories/order-7.json").write_text(json.dumps(testing.export(client, "order-7")))
    """
    record = client.describe(workflow_id)
    told = {
        name: getattr(record, name, None)
        for name in (
            "workflow_type",
            "run_id",
            "incarnation",
            "namespace",
            "task_queue",
            "attempt",
            "parent_id",
            "context",
        )
    }
    events = [
        {
            "seq": event.seq,
            "event_type": event.event_type,
            "payload": event.payload,
            "timestamp": event.timestamp,
            "truncated": list(event.truncated),
        }
        for event in client.get_events(workflow_id)
    ]
    ended = {"terminated": True} if record.status is Status.TIMED_OUT else {}
    return {**told, "workflow_id": record.id, **ended, "events": events}
