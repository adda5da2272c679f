"""Starting a run, finding it, and everything a client does to it."""

from assay_engine.app import queries, replies, retrying, runs, signals
from assay_engine.app.names import RunRef
from assay_engine.core import durations, limits
from assay_engine.core.errors import AssayError, InvalidError
from assay_engine.core.run import Status
from assay_engine.web import answers, bodies, json_body, records, starting, wire
from assay_engine.web.answers import Answer
from assay_engine.web.api import new_router
from assay_engine.web.request import Request

router = new_router()

WAIT_SECS = (0.0, limits.MAX_WAIT_SECS)


@router.post("/workflows")
def start(request: Request) -> Answer:
    body = request.body(bodies.StartWorkflow)
    found = runs.start(request.engine, starting.request(body))
    answer = wire.started(found, extended=starting.extended(body))
    return answers.created(answer) if found.started else answers.ok(answer)


@router.get("/workflows")
def list_runs(request: Request) -> Answer:
    found = queries.list_runs(request.engine, _filter(request))
    now = request.engine.now()
    listed = [wire.shortened(wire.workflow(view, now)) for view in found]
    return answers.ok(listed, hint="use a smaller `limit`, and `offset`")


@router.get("/workflows/<workflow_id>")
def describe(request: Request, workflow_id: str) -> Answer:
    view = queries.describe(request.engine, request.incarnation(workflow_id))
    record = wire.workflow(view, request.engine.now())
    return answers.ok(record if answers.fits(answers.encode(record)) else wire.shortened(record))


@router.post("/workflows/<workflow_id>/signal/<name>")
def signal(request: Request, workflow_id: str, name: str) -> Answer:
    body = request.optional_body(bodies.Signal)
    ref = request.run(workflow_id)
    if _delivered(request, ref, name, body):
        return answers.empty()
    return answers.ok(records.Delivery(delivered=False))


def _delivered(request: Request, ref: RunRef, name: str, body: bodies.Signal) -> bool:
    if body.request_id is None:
        return runs.signal(request.engine, ref, name, body.payload)
    sent = signals.Signal(name=name, payload=body.payload, request_id=body.request_id)
    return signals.request(request.engine, ref, sent)


@router.get("/workflows/<workflow_id>/replies/<request_id>")
def reply(request: Request, workflow_id: str, request_id: str) -> Answer:
    ref = request.run(workflow_id)
    secs = request.query_number("wait_secs", WAIT_SECS) or 0.0
    found = replies.wait(request.engine, ref, request_id, secs, request.caller_gone)
    if found.status is None:
        return answers.ok(records.Reply(replied=True, payload=found.payload, error=found.error))
    return answers.ok(records.NoReply(replied=False, status=Status(found.status)))


@router.post("/workflows/<workflow_id>/cancel")
def cancel(request: Request, workflow_id: str) -> Answer:
    body = request.tolerated_body(bodies.Cancel)
    deadline = None if body.deadline is None else durations.parse(body.deadline, "deadline")
    runs.cancel(request.engine, request.run(workflow_id), body.reason, deadline)
    return answers.empty()


@router.post("/workflows/<workflow_id>/terminate")
def terminate(request: Request, workflow_id: str) -> Answer:
    body = request.optional_body(bodies.Terminate)
    runs.terminate(request.engine, request.run(workflow_id), body.reason)
    return answers.empty()


@router.post("/workflows/<workflow_id>/continue-as-new")
def continue_as_new(request: Request, workflow_id: str) -> Answer:
    body = request.optional_body(bodies.ContinueAsNew)
    target = body.workflow_id if (body.workflow_id or "").strip() else None
    ref = request.run(workflow_id)
    return answers.created(
        wire.started(runs.continue_as_new(request.engine, ref, body.input, target))
    )


@router.post("/workflows/<workflow_id>/retry")
def retry(request: Request, workflow_id: str) -> Answer:
    body = request.body(bodies.Retry)
    requested_by, reason = body.requested_by.strip(), body.reason.strip()
    if not requested_by or not reason:
        raise InvalidError("requested_by and reason are required")
    ref = request.run(workflow_id)
    return answers.ok(wire.retried(retrying.retry(request.engine, ref, requested_by, reason)))


def _filter(request: Request) -> queries.RunFilter:
    limit = request.query_integer("limit")
    return queries.RunFilter(
        namespace=request.namespace(),
        status=_status(request.query("status")),
        type=request.query("type"),
        attributes=_attributes(request.query("search_attrs")),
        limit=50 if limit is None else max(limit, -1),
        offset=max(request.query_integer("offset") or 0, 0),
    )


def _status(text: str | None) -> str | None:
    if not text:
        return None
    try:
        return Status(text.upper())
    except ValueError:
        known = ", ".join(Status)
        raise InvalidError(f"status: {text!r} is none of {known}") from None


def _attributes(text: str | None) -> dict[str, object] | None:
    if not text:
        return None
    try:
        return json_body.decode_object(text.encode()) or None
    except AssayError as error:
        raise InvalidError(f"search_attrs: {error}") from None
