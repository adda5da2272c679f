"""Who works, and what waits: the workers and queues of a namespace."""

import msgspec

from assay_engine.app import queries, workers
from assay_engine.web import answers, records, wire
from assay_engine.web.answers import Answer
from assay_engine.web.api import new_router
from assay_engine.web.request import Request

router = new_router()


@router.get("/workers")
def list_workers(request: Request) -> Answer:
    found = workers.list_workers(request.engine, request.namespace())
    return answers.ok([wire.worker(stored) for stored in found])


@router.get("/queues")
def queue_stats(request: Request) -> Answer:
    found = queries.queue_stats(request.engine, request.namespace())
    return answers.ok(msgspec.convert(found, list[records.QueueStats], from_attributes=True))
