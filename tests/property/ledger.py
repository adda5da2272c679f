"""What workers and clients were told, to be held against what happened."""

from dataclasses import dataclass, field
from typing import Any

from assay_engine.core.activity import Activity
from assay_engine.core.history import Event, EventType
from tests.property.log import Log
from tests.property.witness import Witness

Attempt = tuple[int, int, int]
"""Activity id, number, retries of the run before it."""


@dataclass(slots=True)
class Signal:
    run_id: str
    mark: str
    answered: bool | None = None
    """None: the answer never came, so it may be there or not."""


@dataclass(slots=True)
class Ledger:
    witness: Witness
    signals: list[Signal] = field(default_factory=list)
    started: set[str] = field(default_factory=set)
    disturbed: set[str] = field(default_factory=set)
    """Runs that a client has tried to cancel, terminate or continue."""
    attempts: dict[Attempt, str] = field(default_factory=dict)
    """Who each attempt was handed to."""
    released: set[Attempt] = field(default_factory=set)

    def handed_out(self, attempt: Attempt, worker: str) -> None:
        """One attempt is one worker's, unless it was handed back."""
        holder = self.attempts.setdefault(attempt, worker)
        if attempt not in self.released:
            assert holder == worker, f"{attempt} is run by {holder} and by {worker}"

    def attempt(self, activity_id: int, number: int, incarnation: str | None = None) -> Attempt:
        """Names an attempt: they are counted anew when the run is retried."""
        if incarnation is None:
            incarnation = self._item(activity_id).nonce
        return activity_id, number, self.retries(incarnation)

    def committed(self, lease: str, report: str | None = None) -> None:
        """A worker was told that its commands are accepted."""
        assert lease in self.witness.commits, "accepted under a lease that committed nothing"
        if report is not None:
            assert self.witness.commits[lease] == report, "accepted for another report's commit"

    def stale(self, incarnation: str, report: str) -> None:
        """A worker was told that its report came too late: not if it is the last one applied."""
        head = next(h for h in self.witness.runs() if h.nonce == incarnation)
        assert head.report != report, "an applied report was answered as stale"

    def fused(self, incarnation: str, report: str) -> None:
        assert (incarnation, report) in self.witness.reports, "accepted, but never applied"

    def completed(self, incarnation: str, seq: int, value: Any) -> None:
        """A worker was told that its result is kept."""
        outcome = self.outcome(incarnation, seq)
        assert outcome is not None, f"the accepted result of activity {seq} is not in history"
        assert outcome.type is EventType.ACTIVITY_COMPLETED, "another outcome was first"
        assert "r" in outcome.data or outcome.data["v"] == value

    def retries(self, incarnation: str) -> int:
        """How often somebody has asked for a retry of the run."""
        events = self.log(incarnation).events
        return sum(event.type is EventType.ACTIVITY_RETRY_REQUESTED for event in events)

    def _item(self, activity_id: int) -> Activity:
        return next(each for each in self.witness.activities() if each.id == activity_id)

    def kept(self, activity_id: int) -> None:
        """A legacy worker's result was answered with 200: the run has an outcome of it, or
        waits for none any more."""
        item = self._item(activity_id)
        head = next(h for h in self.witness.runs() if h.nonce == item.nonce)
        told = self.outcome(item.nonce, item.seq) is not None
        assert told or not head.is_open or head.cancel_after is not None, (
            "an answered result is gone"
        )

    def outcome(self, incarnation: str, seq: int) -> Event | None:
        for event in reversed(self.log(incarnation).events):
            ends = (EventType.ACTIVITY_COMPLETED, EventType.ACTIVITY_FAILED)
            if event.type in ends and event.data["q"] == seq:
                return event
        return None

    def log(self, incarnation: str) -> Log:
        return next(log for (_, nonce), log in self.witness.logs.items() if nonce == incarnation)
