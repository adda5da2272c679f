"""From the body of a start to the use case: its id, policies, options, messages. What is wrong
is a 400 that names the field."""

from typing import Any

from msgspec import UnsetType

from assay_engine.app.start import Message
from assay_engine.app.starting import EagerStart, IdConflictPolicy, IdReusePolicy, StartRun
from assay_engine.core import ids, limits, options
from assay_engine.core.errors import InvalidError, ShapeError
from assay_engine.core.options import choice
from assay_engine.web.bodies import StartWorkflow

MAX_MESSAGES = 100
MAX_LEASE_BYTES = 64
_OPTIONS = tuple(StartWorkflow.__struct_fields__[len(StartWorkflow.POSITIONS) :])


def extended(body: StartWorkflow) -> bool:
    """Whether the caller knows more than the original's fields."""
    given = (getattr(body, name) for name in _OPTIONS)
    return any(value is not None and not isinstance(value, UnsetType) for value in given)


def request(body: StartWorkflow) -> StartRun:
    if body.cron_schedule is not None:
        raise InvalidError("cron_schedule is not supported yet")
    on_conflict, on_reuse = _policies(body)
    namespace = limits.DEFAULT_NAMESPACE if body.namespace is None else body.namespace
    return StartRun(
        run_id=_id(body),
        type=body.workflow_type,
        namespace=namespace,
        queue=body.task_queue,
        input=body.input,
        search_attributes=body.search_attributes,
        options=options.read({name: getattr(body, name) for name in _OPTIONS}),
        messages=_messages(body.messages),
        on_conflict=on_conflict,
        on_reuse=on_reuse,
        eager=_eager(body),
    )


def _id(body: StartWorkflow) -> str:
    given = [text for text in (body.workflow_id, body.id) if not isinstance(text, UnsetType)]
    if not given:
        raise ShapeError("Object missing required field `workflow_id`")
    if given[0] != given[-1]:
        raise InvalidError("id and workflow_id are different: they mean the same")
    return given[0]


def _policies(body: StartWorkflow) -> tuple[IdConflictPolicy, IdReusePolicy]:
    """Without any of them a taken id is a conflict; each has a default beside the other."""
    conflict, reuse = body.id_conflict_policy, body.id_reuse_policy
    fails = body.execution_error_when_already_started
    if fails is not None and not isinstance(fails, bool):
        raise InvalidError("execution_error_when_already_started must be true or false")
    if conflict is None and fails is not None:
        conflict = IdConflictPolicy.FAIL if fails else IdConflictPolicy.USE_EXISTING
    if conflict is None and reuse is None:
        return IdConflictPolicy.FAIL, IdReusePolicy.REJECT
    conflict = IdConflictPolicy.FAIL if conflict is None else conflict
    reuse = IdReusePolicy.ALLOW if reuse is None else reuse
    return (
        IdConflictPolicy(choice(IdConflictPolicy, conflict, "id_conflict_policy")),
        IdReusePolicy(choice(IdReusePolicy, reuse, "id_reuse_policy")),
    )


def _messages(given: Any) -> tuple[Message, ...]:
    if given is None or given == {}:
        return ()
    if not isinstance(given, list) or len(given) > MAX_MESSAGES:
        raise InvalidError(f"messages must be a list of at most {MAX_MESSAGES} messages")
    return tuple(_message(one, f"messages[{place}]") for place, one in enumerate(given))


def _message(given: Any, what: str) -> Message:
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise InvalidError(f"{what} must be an object with a text `name`, and a `payload`")
    name = ids.check_name(given["name"], f"{what}.name")
    return Message(name=name, payload=given.get("payload"))


def _eager(body: StartWorkflow) -> EagerStart | None:
    wanted = body.enable_eager_start
    if wanted is not None and not isinstance(wanted, bool):
        raise InvalidError("enable_eager_start must be true or false")
    if not wanted:
        return None
    worker, lease = body.worker_id, body.lease
    if not isinstance(worker, str) or not worker:
        raise InvalidError("worker_id: enable_eager_start needs the worker's name")
    if lease is not None and (
        not isinstance(lease, str) or not 0 < len(lease.encode()) <= MAX_LEASE_BYTES
    ):
        raise InvalidError(f"lease must be a text of 1 to {MAX_LEASE_BYTES} bytes")
    return EagerStart(worker=ids.check_name(worker, "worker_id"), lease=lease)
