"""Namespaces: made, listed, counted, deleted."""

import msgspec

from assay_engine.app import namespaces
from assay_engine.core import ids
from assay_engine.web import answers, bodies, records, wire
from assay_engine.web.answers import Answer
from assay_engine.web.api import new_router
from assay_engine.web.request import Request

router = new_router()


@router.post("/namespaces")
def create(request: Request) -> Answer:
    body = request.body(bodies.CreateNamespace)
    namespaces.create(request.engine, ids.check_name(body.name, "name"))
    return answers.empty(201)


@router.get("/namespaces")
def list_all(request: Request) -> Answer:
    return answers.ok([wire.namespace(stored) for stored in namespaces.list_all(request.engine)])


@router.get("/namespaces/<name>")
def stats(request: Request, name: str) -> Answer:
    found = namespaces.stats(request.engine, request.text_id(name, "namespace"))
    return answers.ok(msgspec.convert(found, records.NamespaceStats, from_attributes=True))


@router.delete("/namespaces/<name>")
def delete(request: Request, name: str) -> Answer:
    namespaces.delete(request.engine, request.text_id(name, "namespace"))
    return answers.empty()
