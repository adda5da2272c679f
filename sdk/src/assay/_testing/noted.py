"""A machine that notes everything its workflow issues, and can say where the workflow waits."""

from __future__ import annotations

import asyncio
import linecache
from types import CoroutineType, FrameType
from typing import Any

from assay._history import OWN, Event
from assay._issued import Issue
from assay._replay import Body, Machine

_NOT_THE_USERS = ("assay.", "asyncio.", "contextlib")


class NotedMachine(Machine):
    """`noted` is all that was issued so far, whether history has recorded it or not."""

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.noted: list[Issue] = []

    def deliver(self, event: Event) -> None:
        """Let the workflow see one event, and note what it issues on it."""
        before = self.outstanding
        super().deliver(event)
        if event.event_type not in OWN:
            self.noted += list(self._issued._sealed)[before:]

    def waits_at(self) -> list[str]:
        """Return the lines of workflow code that wait, the main task's first."""
        waiting = sorted(asyncio.all_tasks(self._loop), key=hash)
        places = (_place(task.get_coro()) for task in waiting)
        return list(dict.fromkeys(place for place in places if place is not None))


def _place(coroutine: Any) -> str | None:
    """Return the innermost line that is the user's."""
    found: FrameType | None = None
    while isinstance(coroutine, CoroutineType):
        frame = coroutine.cr_frame
        if frame is not None and not _is_ours(frame):
            found = frame
        coroutine = coroutine.cr_await
    if found is None:
        return None
    code = found.f_code
    line = linecache.getline(code.co_filename, found.f_lineno).strip()
    return f"{code.co_filename}:{found.f_lineno}, in {code.co_name}: {line}"


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_NOT_THE_USERS)
