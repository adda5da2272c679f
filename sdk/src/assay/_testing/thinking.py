"""Letting a run's code see what is new, and doing what it issues: one event for each command."""

from __future__ import annotations

from assay import _json
from assay._failures import failed, failure_of
from assay._history import Command
from assay._records import Status
from assay._testing import attempts, calls, checks, endings, putting
from assay._testing.noted import NotedMachine
from assay._testing.replaying import copied
from assay._testing.state import Pending, Policy, RunState
from assay._testing.world import World, info_of
from assay.workflow import body

_CLOSING = ("CompleteWorkflow", "FailWorkflow", "CancelWorkflow", "ContinueAsNew")


def think(world: World, run: RunState) -> None:
    """Hand a run what it has not seen."""
    run.waking = False
    if not run.open or run.problem is not None:
        return
    run.status = Status.RUNNING
    try:
        commands = _stubbed(world, run) or _issued(world, run)
        for command in commands:
            _apply(world, run, command)
        run.seen = len(run.events)
        if world.replay_each_step:
            checks.repeats_itself(world, run)
    except Exception as error:
        run.problem = error
        raise


def _issued(world: World, run: RunState) -> list[Command]:
    if run.machine is None:
        registry = world.code.workflows(run.workflow_type)
        run.machine = NotedMachine(body(registry, info_of(run)))
    run.machine.feed(copied(run.events[run.machine.delivered :]), run.seen)
    commands = run.machine.commands()
    if not run.machine.closed:
        run.machine.record()
    return commands


def _stubbed(world: World, run: RunState) -> list[Command]:
    """Return how a function ends the run that stands in a workflow's place."""
    stub = world.code.stubs.get(run.workflow_type)
    if stub is None:
        return []
    try:
        result = stub.function(*stub.arguments(None, _json.plain(run.input)))
    except Exception as error:  # noqa: BLE001  told as live
        return [{"type": "FailWorkflow", **failed(failure_of(error))}]
    return [{"type": "CompleteWorkflow", "result": _json.plain(result)}]


def _apply(world: World, run: RunState, command: Command) -> None:
    if command["type"] in _CLOSING:
        ending = endings.Ending.of(run, command)
        endings.close(world, run, ending, retried=ending.status is Status.FAILED)
    elif command["type"] == "RecordSnapshot":
        run.snapshot = command["state"]
    else:
        _RECORDING[command["type"]](world, run, command)


def _activity(world: World, run: RunState, command: Command) -> None:
    payload = {
        "activity_id": len(run.events) + 1,
        "activity_seq": command["seq"],
        "name": command["name"],
        "task_queue": command["task_queue"],
        "input": _json.encode(command["input"]).decode(),
    }
    pending = Pending(
        seq=command["seq"],
        name=command["name"],
        input=command["input"],
        event_seq=world.append(run, "ActivityScheduled", payload),
        policy=Policy.read(command),
    )
    run.activities[pending.seq] = pending
    world.agenda.soon(lambda: attempts.begin(world, run, pending))


def _timer(world: World, run: RunState, command: Command) -> None:
    seq, secs = command["seq"], command["duration_secs"]
    due = {"timer_seq": seq, "fire_at": world.now + secs}
    timer_id = len(run.events) + 1
    world.append(run, "TimerScheduled", {"timer_id": timer_id, **due, "duration_secs": secs})

    def fire() -> None:
        del run.timers[seq]
        world.tell(run, "TimerFired", due)

    run.timers[seq] = world.agenda.later(secs, fire)


def _cancel_timer(world: World, run: RunState, command: Command) -> None:
    world.append(run, "TimerCancelled", {"timer_seq": command["seq"]})
    timer = run.timers.pop(command["seq"], None)
    if timer is not None:
        timer.call_off()


def _wait(world: World, run: RunState, command: Command) -> None:
    world.append(run, "WorkflowAwaitingSignal", {"signal": command["name"]})


def _side_effect(world: World, run: RunState, command: Command) -> None:
    named = {"side_effect_seq": command["seq"], "name": command["name"]}
    world.append(run, "SideEffectRecorded", {**named, "value": command["value"]})


def _upsert(world: World, run: RunState, command: Command) -> None:
    memo = command.get("memo")
    told = {"upsert_seq": command["seq"], "patch": command["patch"]}
    world.append(run, "SearchAttributesUpserted", told | ({} if memo is None else {"memo": memo}))
    run.search_attributes |= command["patch"]
    run.memo |= memo or {}


def _child(world: World, run: RunState, command: Command) -> None:
    named = {"child_workflow_id": command["workflow_id"], "workflow_type": command["workflow_type"]}
    world.append(run, "ChildWorkflowStarted", named)
    putting.start_child(world, run, command)


def _call(world: World, run: RunState, command: Command) -> None:
    told = {name: value for name, value in command.items() if name not in ("type", "seq")}
    world.append(run, "WorkflowCalled", {"call_seq": command["seq"], **told})
    world.agenda.soon(lambda: calls.perform(world, run, command))


def _reply(world: World, run: RunState, command: Command) -> None:
    request_id = command["request_id"]
    world.append(run, "ReplySent", {"reply_seq": command["seq"], "request_id": request_id})
    run.replies.setdefault(request_id, command)


_RECORDING = {
    "ScheduleActivity": _activity,
    "ScheduleTimer": _timer,
    "CancelTimer": _cancel_timer,
    "WaitForSignal": _wait,
    "RecordSideEffect": _side_effect,
    "UpsertSearchAttributes": _upsert,
    "StartChildWorkflow": _child,
    "CallWorkflow": _call,
    "Reply": _reply,
}
