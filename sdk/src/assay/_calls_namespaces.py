"""The calls about namespaces, and about the workers and queues of one, as data."""

from __future__ import annotations

from assay._calls import Call, Scope, nothing, place
from assay._records import Namespace, NamespaceStats, QueueStats, WorkerInfo, many, one


def create(_scope: Scope, name: str) -> Call[None]:
    """Make a namespace; it is a `ConflictError` if there is one of that name::

    client.namespaces.create("team")
    """
    return Call(method="POST", path="/namespaces", body={"name": name}, read=nothing)


def listing(_scope: Scope) -> Call[list[Namespace]]:
    """Return all namespaces, by name::

    [namespace.name for namespace in client.namespaces.list()]
    """
    return Call(method="GET", path="/namespaces", read=many(Namespace))


def stats(_scope: Scope, name: str) -> Call[NamespaceStats]:
    """Return how much there is in a namespace; zeros for an unknown one::

    client.namespaces.stats("team").running
    """
    path, query = place("namespaces", name)
    return Call(method="GET", path=path, query=query, read=one(NamespaceStats))


def delete(_scope: Scope, name: str) -> Call[None]:
    """Remove the name of a namespace; its runs stay::

    client.namespaces.delete("team")
    """
    path, query = place("namespaces", name)
    return Call(method="DELETE", path=path, query=query, read=nothing)


def workers(scope: Scope) -> Call[list[WorkerInfo]]:
    """Return the workers of the client's namespace, the oldest first::

    [worker.identity for worker in client.workers.list()]
    """
    query = {"namespace": scope.namespace}
    return Call(method="GET", path="/workers", query=query, read=many(WorkerInfo))


def queues(scope: Scope) -> Call[list[QueueStats]]:
    """Return what waits and runs on each queue of the client's namespace::

    {queue.queue: queue.pending_activities for queue in client.queues.stats()}
    """
    query = {"namespace": scope.namespace}
    return Call(method="GET", path="/queues", query=query, read=many(QueueStats))
