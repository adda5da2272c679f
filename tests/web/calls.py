"""Calls the real handlers with the events that the local gateway makes of HTTP requests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay_functions.api import handler as api
from assay_functions.worker import handler as worker

from assay_devserver import events
from assay_devserver.routes import route

LEGACY, NEWER = "/api/v1", "/api/v1/engine/workflow"
HANDLERS = {"api": api.handler, "worker": worker.handler}
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    headers: Mapping[str, str]


class Calls:
    """`calls.get("/workflows")`; paths go below the prefix unless `at` says another place."""

    def __init__(self, prefix: str = LEGACY) -> None:
        self.prefix = prefix

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def post(self, path: str, body: Any) -> Answer:
        return self.send("POST", path, json.dumps(body).encode(), JSON)

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        at: str | None = None,
    ) -> Answer:
        target = (self.prefix if at is None else at) + path
        request = events.Request(
            method=method,
            target=target,
            headers=list((headers or {}).items()),
            body=body,
            source_ip="127.0.0.1",
            protocol="HTTP/1.1",
            arrived=0.0,
        )
        decoded = events.path_of(target)
        chosen = route(method, decoded)
        event = events.to_event(request, path=decoded, route_key=chosen.key)
        return _answer(HANDLERS[chosen.function](event, None))

    def start(self, workflow_id: str, **fields: Any) -> Answer:
        return self.post(
            "/workflows", {"workflow_type": "Order", "workflow_id": workflow_id, **fields}
        )

    def claim(self, queue: str = "main", worker_id: str = "w-test") -> Any:
        return self.post("/workflow-tasks/poll", {"queue": queue, "worker_id": worker_id}).body

    def command(self, workflow_id: str, *commands: Any, worker_id: str = "w-test") -> Answer:
        body = {"worker_id": worker_id, "commands": list(commands)}
        return self.post(f"/workflow-tasks/{workflow_id}/commands", body)


def _answer(result: Mapping[str, Any]) -> Answer:
    headers = {name.lower(): str(value) for name, value in (result.get("headers") or {}).items()}
    text = result["body"]
    is_json = headers.get("content-type", "").startswith("application/json")
    return Answer(result["statusCode"], json.loads(text) if is_json and text else text, headers)
