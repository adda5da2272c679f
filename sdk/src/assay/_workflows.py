"""Which workflow is meant, by a registered name or by its function, and the function's types."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from assay import _functions

_DEFAULT_QUEUE = "default"

In = TypeVar("In")
R = TypeVar("R")

WorkflowRef: TypeAlias = str | Callable[..., Coroutine[Any, Any, Any]]
# A workflow takes a context and an input, or either, or none.
WithInput: TypeAlias = Callable[[Any, In], Coroutine[Any, Any, R]]
InputOnly: TypeAlias = Callable[[In], Coroutine[Any, Any, R]]
WithoutInput: TypeAlias = (
    Callable[[Any], Coroutine[Any, Any, R]] | Callable[[], Coroutine[Any, Any, R]]
)


def name_of(workflow: WorkflowRef) -> str:
    """Return the name that a workflow is registered by."""
    return _functions.name_of(workflow, _functions.WORKFLOW_NAME)


def queue_of(workflow: WorkflowRef) -> str:
    """Return the queue that a workflow is run on if nothing else is said."""
    return getattr(workflow, "__assay_queue__", None) or _DEFAULT_QUEUE
