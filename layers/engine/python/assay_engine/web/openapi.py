"""Makes the specification out of the operations, the bodies and the records.

    python -m assay_engine.web.openapi

writes openapi.json beside this file. It is served as it stands; a test fails when it is stale.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from assay_engine import __version__
from assay_engine.web import records
from assay_engine.web.operations import INTEGER, OPERATIONS, ROOT_OPERATIONS, Operation

PATH = Path(__file__).with_name("openapi.json")
REFERENCE = "#/components/schemas/{name}"
JSON = "application/json"
TEXT = {"type": "string"}
_PLACEHOLDER = re.compile(r"<(\w+)>")

ABOUT = """\
A durable workflow engine. Every path is served under `/api/v1` and under
`/api/v1/engine/workflow`; the two mean the same.

Ids stand in paths percent-encoded and may contain `/`. An id that contains `?` or `#`, or that
would read as another path, is given as the query parameter `id`, with `-` in its place.

Unknown fields and query parameters are ignored. Where a body is optional, no body, `null`, `[]`
and `{}` all mean "no fields". A body may also be an array of its fields in their order.

Errors are `{"error", "code", "retryable"}`: text for people, a stable code for programs, and
whether the same request can succeed later.
"""
REFUSALS = {
    400: "Malformed JSON, or a value that can never be right",
    404: "There is no such thing",
    409: "Not at this moment, or the id lives in several namespaces",
    413: "The body, a value in it, or the answer is too large",
    415: "The body is not declared as JSON",
    422: "Valid JSON of the wrong shape",
    500: "Something unexpected",
    503: "Busy: a repeat will help",
}


def build() -> dict[str, Any]:
    schemas, components = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), operation in OPERATIONS.items():
        _add(paths, method, path, _operation(path, operation, schemas))
    for (method, path), operation in ROOT_OPERATIONS.items():
        entry = _operation(path, operation, schemas) | {"servers": [{"url": "/"}]}
        _add(paths, method, path, entry)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Assay Serverless",
            "version": __version__,
            "description": ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [
            {"url": "/api/v1/engine/workflow", "description": "the prefix of newer clients"},
            {"url": "/api/v1", "description": "the prefix of older clients"},
        ],
        "tags": [{"name": tag} for tag in dict.fromkeys(o.tag for o in OPERATIONS.values())],
        "paths": paths,
        "components": {"schemas": components},
    }


def _schemas() -> tuple[dict[Any, Any], dict[str, Any]]:
    """The schema of each type that an operation names, and the components they refer to."""
    operations = (*OPERATIONS.values(), *ROOT_OPERATIONS.values())
    kinds: dict[Any, None] = dict.fromkeys([records.Error])
    for operation in operations:
        named = (operation.body, *_alternatives(operation))
        kinds.update(dict.fromkeys(kind for kind in named if kind is not None))
    found, components = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    return dict(zip(kinds, found, strict=True)), dict(sorted(components.items()))


def _alternatives(operation: Operation) -> tuple[Any, ...]:
    return operation.answer if isinstance(operation.answer, tuple) else (operation.answer,)


def _add(paths: dict[str, dict[str, Any]], method: str, path: str, entry: dict[str, Any]) -> None:
    paths.setdefault(_PLACEHOLDER.sub(r"{\1}", path), {})[method.lower()] = entry


def _operation(path: str, operation: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
    }
    if operation.about:
        entry["description"] = operation.about
    parameters = [*_in_path(path), *_in_query(operation)]
    if parameters:
        entry["parameters"] = parameters
    if operation.body is not None:
        content = {"schema": schemas[operation.body], "example": operation.example}
        entry["requestBody"] = {"required": operation.body_needed, "content": {JSON: content}}
    entry["responses"] = _responses(operation, schemas)
    return entry


def _in_path(path: str) -> Iterator[dict[str, Any]]:
    for name in _PLACEHOLDER.findall(path):
        schema = dict(INTEGER if name == "activity_id" else TEXT)
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(operation: Operation) -> Iterator[dict[str, Any]]:
    for query in operation.query:
        yield {
            "name": query.name,
            "in": "query",
            "required": False,
            "description": query.about,
            "schema": dict(query.schema or TEXT),
        }


def _responses(operation: Operation, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    status = HTTPStatus(operation.status)
    alternatives = [schemas[kind] for kind in _alternatives(operation)]
    schema = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
    success: dict[str, Any] = {
        "description": status.phrase,
        "content": {operation.media: {"schema": schema}},
    }
    if status is HTTPStatus.PERMANENT_REDIRECT:
        success["headers"] = {"Location": {"schema": {"type": "string"}}}
    also = operation.also
    refusals = {*operation.refusals, 400, 500, 503}
    if operation.body is not None:
        refusals |= {413, 415, 422} if operation.id != "cancelWorkflow" else {413}
    error = {"content": {JSON: {"schema": schemas[records.Error]}}}
    others = {str(code): success | {"description": HTTPStatus(code).phrase} for code in also}
    return (
        {str(operation.status): success}
        | others
        | {str(code): {"description": REFUSALS[code], **error} for code in sorted(refusals)}
    )


def text() -> str:
    return json.dumps(build(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    PATH.write_text(text(), "utf-8")
    sys.stdout.write(f"wrote {PATH}\n")


if __name__ == "__main__":
    main()
