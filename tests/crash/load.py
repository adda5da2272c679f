"""Clients and a worker that go on while the engine dies under them, and remember each answer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import httpx

from tests.crash.journal import Journal
from tests.crash.legacy_worker import LegacyWorker
from tests.crash.processes import Api

SIGNALS = ("note", "note", "go")
_PAUSE_SECS = 0.05


def _answer(call: Callable[[], httpx.Response]) -> httpx.Response | None:
    """The answer, unless there was none or it asks for a repeat."""
    try:
        answer = call()
    except httpx.TransportError:
        return None
    assert answer.status_code in (200, 201, 409, 503), answer.text
    return None if answer.status_code == 503 else answer


@dataclass(slots=True)
class Client:
    """Starts one run and sends it signals, each until it is answered."""

    run: str
    queue: str
    answered: list[str] = field(default_factory=list)
    """Payloads of signals that were taken. Every try has a payload of its own."""
    unanswered: list[str] = field(default_factory=list)

    def drive(self, api: Api) -> None:
        while not self._started(api):
            time.sleep(_PAUSE_SECS)
        for name in SIGNALS:
            while not self._signalled(api, name):
                time.sleep(_PAUSE_SECS)

    def _started(self, api: Api) -> bool:
        # 409: a start whose answer was lost is there all the same.
        return _answer(lambda: api.start(self.run, "Pay", self.queue)) is not None

    def _signalled(self, api: Api, name: str) -> bool:
        payload = uuid4().hex
        path = f"/workflows/{self.run}/signal/{name}"
        answer = _answer(lambda: api.post(path, {"payload": payload}))
        if answer is None:
            self.unanswered.append(payload)
        elif answer.json() != {"delivered": False}:
            self.answered.append(payload)
        return answer is not None


@dataclass(slots=True)
class Results:
    """What was sent as the result of one activity, in that order."""

    sent: list[str] = field(default_factory=list)
    answered: int | None = None
    """Place of the first that was answered with 200."""

    @property
    def possible(self) -> list[str]:
        """One of these has to be in history: nothing later can have been first."""
        return self.sent if self.answered is None else self.sent[: self.answered + 1]


class RememberingWorker(LegacyWorker):
    """A legacy worker that lives through the engine's deaths; every result is unlike any other."""

    def __init__(self, url: str, journal: Path, queue: str) -> None:
        super().__init__(url, Journal(str(journal)), queue)
        self.results: dict[tuple[str, int], Results] = {}

    def run(self, activity: dict[str, Any]) -> str:
        return uuid4().hex

    def complete(self, activity: dict[str, Any], result: str) -> None:
        results = self.results.setdefault((activity["workflow_id"], activity["seq"]), Results())
        results.sent.append(result)
        place = len(results.sent) - 1
        super().complete(activity, result)
        if results.answered is None:
            results.answered = place

    def work_until(self, over: Event) -> None:
        while not over.is_set():
            try:
                busy = self.work()
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                _check(error)
                busy = False
            if not busy:
                over.wait(_PAUSE_SECS)


def _check(error: httpx.TransportError | httpx.HTTPStatusError) -> None:
    """No answer is no surprise, nor a lease lost meanwhile or a request to try again."""
    if isinstance(error, httpx.HTTPStatusError):
        assert error.response.status_code in (409, 503), error.response.text
