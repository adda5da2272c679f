"""Reading a run: its history, children, state and activities; and scheduling an activity."""

from typing import Any

from assay_engine.app import queries, retrying
from assay_engine.core import ids
from assay_engine.core.errors import InvalidError, NotFoundError
from assay_engine.web import answers, bodies, records, wire
from assay_engine.web.answers import Answer
from assay_engine.web.api import new_router
from assay_engine.web.request import Request, integer

router = new_router()

UINT16 = range(2**16)
MAX_PAGE = 1000
DEFAULT_PAGE = 50
PAGED_FORM = "read it in pages, with `?limit=` and `?cursor=`"


@router.get("/workflows/<workflow_id>/events")
def events(request: Request, workflow_id: str) -> Answer:
    ref, page = request.incarnation(workflow_id), _page(request)
    found = queries.events(request.engine, ref, page)
    listed = [wire.event(view, ref.run_id) for view in found]
    if page is not None and not answers.fits(answers.encode(listed)):
        listed = [wire.shortened(record) for record in listed]
    return answers.ok(listed, hint=PAGED_FORM if page is None else "use a smaller `limit`")


@router.get("/workflows/<workflow_id>/children")
def children(request: Request, workflow_id: str) -> Answer:
    found = queries.children(request.engine, request.incarnation(workflow_id))
    now = request.engine.now()
    return answers.ok([wire.shortened(wire.workflow(view, now)) for view in found])


@router.get("/workflows/<workflow_id>/state")
def state(request: Request, workflow_id: str) -> Answer:
    view = queries.state(request.engine, request.incarnation(workflow_id))
    return answers.ok(
        records.State(state=view.state, event_seq=view.event_seq, created_at=view.created_at),
        hint="ask for one query, with `/state/{name}`",
    )


@router.get("/workflows/<workflow_id>/state/<name>")
def state_value(request: Request, workflow_id: str, name: str) -> Answer:
    ref = request.incarnation(workflow_id)
    view = queries.state(request.engine, ref)
    found: Any = view.state  # an object, unless the worker sent something else
    if not isinstance(found, dict) or name not in found:
        raise NotFoundError(f"query '{name}' for workflow {ref.run_id}")
    return answers.ok(
        records.StateValue(value=found[name], event_seq=view.event_seq, created_at=view.created_at)
    )


@router.get("/workflows/<workflow_id>/activities")
def activities(request: Request, workflow_id: str) -> Answer:
    found = queries.activities(request.engine, request.incarnation(workflow_id))
    return answers.ok([wire.shortened(wire.activity(view)) for view in found])


@router.post("/workflows/<workflow_id>/activities")
def schedule_activity(request: Request, workflow_id: str) -> Answer:
    body = request.body(bodies.ScheduleActivity)
    ids.check_name(body.name, "name")
    ids.check_name(body.task_queue, "task_queue")
    ref = request.run(workflow_id)
    return answers.created(
        wire.activity(retrying.schedule_activity(request.engine, ref, body.command()))
    )


@router.get("/activities/<activity_id>")
def activity(request: Request, activity_id: str) -> Answer:
    number = integer(activity_id, "activity id")
    return answers.ok(wire.activity(queries.activity(request.engine, number)))


def _page(request: Request) -> queries.EventPage | None:
    """Any of the three parameters asks for a page; without them it is the whole history."""
    limit = request.query_integer("limit", UINT16)
    cursor = request.query_integer("cursor")
    order = request.query("order")
    if order not in (None, "asc", "desc"):
        raise InvalidError(f"order: {order!r} is neither `asc` nor `desc`")
    if limit is None and cursor is None and order is None:
        return None
    size = DEFAULT_PAGE if limit is None else min(max(limit, 1), MAX_PAGE)
    return queries.EventPage(limit=size, cursor=cursor, descending=order == "desc")
