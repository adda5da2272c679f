"""Which run a workflow is, and the records that its context hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What the worker knows of a run before its code begins."""

    workflow_id: str
    workflow_type: str
    namespace: str
    task_queue: str
    run_id: str = ""
    incarnation: str = ""
    attempt: int = 1
    parent_id: str | None = None
    started_at: float = 0.0
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Info(RunInfo):
    """A run as its own code sees it, at this moment."""

    history_length: int
    """How many events lie behind the workflow."""
    history_size: int
    """About how many bytes they take."""
