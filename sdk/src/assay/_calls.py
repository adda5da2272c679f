"""The calls about runs as data: what to send, and how to read the answer. No I/O.

The first argument of each is the scope of the client that makes it. The docstrings are those of
the clients' methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Protocol, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from assay import _json
from assay._clock import Clock
from assay._durations import Duration, seconds
from assay._records import HistoryEvent, Reply, Started, State, Workflow, many, one, read_state
from assay._transport import Request

PREFIX = "/api/v1/engine/workflow"

# A gateway decodes paths before it hands them on, so these would be read as its own.
_NOT_IN_PATHS: Final = frozenset("/?#%")

T = TypeVar("T")


class EagerWorker(Protocol):
    """A worker in this process that can be handed the first task of a run at its start."""

    @property
    def worker_id(self) -> str:
        """Its id, as it tells the engine."""

    @property
    def queue(self) -> str:
        """The queue it works on."""

    def offer(self, task: dict[str, Any]) -> None:
        """Take a workflow task that is already leased to it; called from any thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a client's calls have in common."""

    namespace: str
    clock: Clock
    workers: list[EagerWorker] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One call, and how to read its answer."""

    method: str
    path: str
    read: Callable[[Any], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    def request(self, *, key: str, timeout_secs: float) -> Request:
        """Return what is sent; a call that changes something carries `key` with every try."""
        return Request(
            method=self.method,
            path=PREFIX + self.path,
            query=self.query,
            headers={} if self.method == "GET" else {"idempotency-key": key},
            body=None if self.body is None else _json.encode(self.body),
            timeout_secs=timeout_secs,
        )


class ListFilter(TypedDict, total=False):
    """What a list of runs can be narrowed by."""

    status: str
    type: str
    search_attrs: Mapping[str, Any]
    limit: int
    offset: int


class EventPage(TypedDict, total=False):
    """Which part of a history is wanted; nothing given means all of it."""

    limit: int
    cursor: int
    order: str


def start(body: Mapping[str, Any]) -> Call[Started]:
    return Call(method="POST", path="/workflows", body=body, read=one(Started))


def describe(scope: Scope, workflow_id: str, *, run_id: str | None = None) -> Call[Workflow]:
    """Return the record of a run, the newest of that id or the one with that `run_id`::

    client.describe("order-7").status
    """
    return _get(scope, workflow_id, "", run_id, one(Workflow))


def listing(scope: Scope, **narrowed: Unpack[ListFilter]) -> Call[list[Workflow]]:
    """Return runs, the newest first::

    client.list(status="RUNNING", type="Order", search_attrs={"env": "prod"}, limit=10)
    """
    query: dict[str, str | int] = {"namespace": scope.namespace}
    for name, value in narrowed.items():
        if name == "search_attrs":
            query[name] = _json.encode(value).decode()
        elif isinstance(value, (str, int)):
            query[name] = value
    return Call(method="GET", path="/workflows", query=query, read=many(Workflow))


def get_events(
    scope: Scope, workflow_id: str, *, run_id: str | None = None, **page: Unpack[EventPage]
) -> Call[list[HistoryEvent]]:
    """Return the history of a run, or the given page of it::

    client.get_events("order-7", limit=10, order="desc")
    """
    call = _get(scope, workflow_id, "/events", run_id, many(HistoryEvent))
    given = {name: value for name, value in page.items() if isinstance(value, (str, int))}
    return replace(call, query={**call.query, **given})


def get_state(
    scope: Scope, workflow_id: str, name: str | None = None, *, run_id: str | None = None
) -> Call[State]:
    """Return what a run's query said last; without a name all of them::

    client.get_state("order-7", "progress").value
    """
    suffix = "/state" if name is None else f"/state/{quote(name, safe='')}"
    return _get(scope, workflow_id, suffix, run_id, read_state)


def list_children(
    scope: Scope, workflow_id: str, *, run_id: str | None = None
) -> Call[list[Workflow]]:
    """Return the runs that this run has started, the oldest first::

    [child.id for child in client.list_children("order-7")]
    """
    return _get(scope, workflow_id, "/children", run_id, many(Workflow))


def signal(
    scope: Scope, workflow_id: str, name: str, payload: Any = None, *, request_id: str | None = None
) -> Call[bool]:
    """Send a signal; return False if the run had ended and did not take it::

        client.signal("order-7", "approve", {"by": "ada"})

    Of several signals with the same `request_id` a run gets only the first.
    """
    body = _given(payload=payload, request_id=request_id)
    return _post(scope, workflow_id, f"/signal/{quote(name, safe='')}", body, _delivered)


def cancel(
    scope: Scope, workflow_id: str, reason: str | None = None, *, deadline: Duration | None = None
) -> Call[None]:
    """Ask a run to stop; its code may clean up first, until the deadline::

    client.cancel("order-7", "not wanted any more", deadline="5m")
    """
    limit = None if deadline is None else seconds(deadline)
    return _post(scope, workflow_id, "/cancel", _given(reason=reason, deadline=limit), nothing)


def terminate(scope: Scope, workflow_id: str, reason: str | None = None) -> Call[None]:
    """End a run at once; its code is not asked::

    client.terminate("order-7", "it hangs")
    """
    return _post(scope, workflow_id, "/terminate", _given(reason=reason), nothing)


def continue_as_new(
    scope: Scope, workflow_id: str, input: Any, new_workflow_id: str | None
) -> Call[Started]:
    body = _given(input=input, workflow_id=new_workflow_id)
    return _post(scope, workflow_id, "/continue-as-new", body, one(Started))


def reply(scope: Scope, workflow_id: str, request_id: str, wait_secs: int) -> Call[Reply]:
    call = _get(scope, workflow_id, f"/replies/{request_id}", None, one(Reply))
    return replace(call, query={**call.query, "wait_secs": wait_secs})


def place(noun: str, name: str, suffix: str = "") -> tuple[str, dict[str, str | int]]:
    """Return the path of one thing, and the query that names it where the path cannot."""
    if name in (".", "..", "-", "") or _NOT_IN_PATHS & set(name):
        return f"/{noun}/-{suffix}", {"id": name}
    return f"/{noun}/{quote(name, safe='')}{suffix}", {}


def nothing(_body: Any) -> None:
    """Read the answer of a call that has nothing to say."""


def _get(
    scope: Scope, workflow_id: str, suffix: str, run_id: str | None, read: Callable[[Any], T]
) -> Call[T]:
    path, query = place("workflows", workflow_id, suffix)
    query |= {"namespace": scope.namespace} | ({} if run_id is None else {"run_id": run_id})
    return Call(method="GET", path=path, query=query, read=read)


def _post(
    scope: Scope,
    workflow_id: str,
    suffix: str,
    body: Mapping[str, Any],
    read: Callable[[Any], T],
) -> Call[T]:
    path, query = place("workflows", workflow_id, suffix)
    query |= {"namespace": scope.namespace}
    return Call(method="POST", path=path, query=query, body=body, read=read)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _delivered(body: Any) -> bool:
    return not (isinstance(body, dict) and body.get("delivered") is False)
