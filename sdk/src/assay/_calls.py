"""The management calls as data: what to send, and how to read the answer. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote

from assay import _json
from assay._records import HistoryEvent, Started, State, Workflow

PREFIX = "/api/v1/engine/workflow"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One call, and how to read its answer."""

    method: str
    path: str
    read: Callable[[Any], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def changes(self) -> bool:
        """Whether the call has an effect that must not happen twice."""
        return self.method != "GET"


class ListFilter(TypedDict, total=False):
    """What `Client.list` can be narrowed by."""

    status: str
    type: str
    search_attrs: Mapping[str, Any]
    limit: int
    offset: int


class EventPage(TypedDict, total=False):
    """Which part of a history `Client.get_events` returns; nothing given means all of it."""

    limit: int
    cursor: int
    order: str


def start(body: Mapping[str, Any]) -> Call[Started]:
    return Call(method="POST", path="/workflows", body=body, read=Started.read)


def describe(workflow_id: str, namespace: str) -> Call[Workflow]:
    return _get(workflow_id, "", namespace, Workflow.read)


def listing(namespace: str, narrowed: ListFilter) -> Call[list[Workflow]]:
    query: dict[str, str | int] = {"namespace": namespace}
    for name, value in narrowed.items():
        if name == "search_attrs":
            query[name] = _json.encode(value).decode()
        elif isinstance(value, (str, int)):
            query[name] = value
    return Call(method="GET", path="/workflows", query=query, read=_many(Workflow.read))


def events(workflow_id: str, namespace: str, page: EventPage) -> Call[list[HistoryEvent]]:
    call = _get(workflow_id, "/events", namespace, _many(HistoryEvent.read))
    given = {name: value for name, value in page.items() if isinstance(value, (str, int))}
    return Call(method=call.method, path=call.path, read=call.read, query={**call.query, **given})


def state(workflow_id: str, namespace: str, name: str | None) -> Call[State]:
    suffix = "/state" if name is None else f"/state/{quote(name, safe='')}"
    return _get(workflow_id, suffix, namespace, State.read)


def children(workflow_id: str, namespace: str) -> Call[list[Workflow]]:
    return _get(workflow_id, "/children", namespace, _many(Workflow.read))


def signal(workflow_id: str, namespace: str, name: str, payload: Any) -> Call[bool]:
    body = {} if payload is None else {"payload": payload}
    return _post(workflow_id, f"/signal/{quote(name, safe='')}", namespace, body, _delivered)


def cancel(workflow_id: str, namespace: str, reason: str | None) -> Call[None]:
    return _post(workflow_id, "/cancel", namespace, _reason(reason), _nothing)


def terminate(workflow_id: str, namespace: str, reason: str | None) -> Call[None]:
    return _post(workflow_id, "/terminate", namespace, _reason(reason), _nothing)


def continue_as_new(workflow_id: str, namespace: str, body: Mapping[str, Any]) -> Call[Started]:
    return _post(workflow_id, "/continue-as-new", namespace, body, Started.read)


def _get(workflow_id: str, suffix: str, namespace: str, read: Callable[[Any], T]) -> Call[T]:
    query = {"namespace": namespace}
    return Call(method="GET", path=_path(workflow_id, suffix), query=query, read=read)


def _post(
    workflow_id: str,
    suffix: str,
    namespace: str,
    body: Mapping[str, Any],
    read: Callable[[Any], T],
) -> Call[T]:
    query = {"namespace": namespace}
    return Call(method="POST", path=_path(workflow_id, suffix), query=query, body=body, read=read)


def _path(workflow_id: str, suffix: str) -> str:
    return f"/workflows/{quote(workflow_id, safe='')}{suffix}"


def _many(read: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    return lambda body: [read(item) for item in body]


def _reason(reason: str | None) -> dict[str, Any]:
    return {} if reason is None else {"reason": reason}


def _delivered(body: Any) -> bool:
    return not (isinstance(body, dict) and body.get("delivered") is False)


def _nothing(_body: Any) -> None:
    return None
