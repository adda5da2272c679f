"""Starting a run from outside: what if its id is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay._records import Status
from assay._testing import endings
from assay._testing.putting import NewRun, deliver, new_chain, put
from assay._testing.state import RunState
from assay._testing.world import World
from assay.errors import ConflictError

_FAILED = (Status.FAILED, Status.CANCELLED, Status.TIMED_OUT)


def start(world: World, new: NewRun, policies: Mapping[str, Any]) -> RunState:
    """Start a run from outside; its policies say what if its id is taken."""
    known = world.newest.get(new.workflow_id)
    if known is not None:
        conflict, reuse = _policies(policies)
        if known.open and conflict == "use_existing":
            deliver(world, known, new.messages)
            return known
        if known.open and conflict == "terminate_existing":
            endings.terminate(world, known, None)
        elif known.open or not _may_reuse(known, reuse):
            text = f"workflow {new.workflow_id} exists already"
            raise ConflictError(text, code="already_exists", status=409)
    return put(world, new, new_chain(world, new))


def _policies(given: Mapping[str, Any]) -> tuple[str, str]:
    if not {"id_conflict_policy", "id_reuse_policy"} & given.keys():
        return "fail", "reject_duplicate"
    return (
        given.get("id_conflict_policy", "fail"),
        given.get("id_reuse_policy", "allow_duplicate"),
    )


def _may_reuse(known: RunState, policy: str) -> bool:
    if policy == "allow_duplicate_failed_only":
        return known.status in _FAILED
    return policy == "allow_duplicate"
