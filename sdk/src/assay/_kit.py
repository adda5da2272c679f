"""What the parts of a worker share."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from assay._clock import Clock
from assay._exchange import ActivityTask, Channel, Problem, WorkflowTask, release
from assay._functions import Registry
from assay._keeper import Keeper
from assay._outbox import Outbox

logger = logging.getLogger("assay.worker")


def _random_id() -> str:
    return uuid.uuid4().hex[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The tools of one running worker.

    `stopping` is set when it takes nothing new, `changed` when its room may have changed.
    """

    loop: asyncio.AbstractEventLoop
    clock: Clock
    channel: Channel
    outbox: Outbox
    keeper: Keeper
    registry: Registry
    queue: str
    stopping: asyncio.Event
    changed: asyncio.Event
    new_id: Callable[[], str] = field(default=_random_id)

    async def release(
        self, task: WorkflowTask | ActivityTask, problem: Problem | None = None
    ) -> None:
        """Hand a task back, so that another worker gets it at once."""
        await self.outbox.submit(release(self.new_id(), task, problem))
