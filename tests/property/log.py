"""The history of one incarnation, as it was observed to grow, and what follows from it."""

from dataclasses import dataclass, field

from assay_engine.core.history import Event, EventType, unpack


@dataclass(slots=True)
class Log:
    texts: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    activities: set[int] = field(default_factory=set)
    """Scheduled, without an outcome."""
    ended_activities: set[int] = field(default_factory=set)
    timers: set[int] = field(default_factory=set)
    fired_timers: set[int] = field(default_factory=set)
    cancelled_timers: set[int] = field(default_factory=set)
    calls: set[int] = field(default_factory=set)
    ended_calls: set[int] = field(default_factory=set)
    exits: set[int] = field(default_factory=set)
    """Seqs of calls whose other run was told to have ended."""
    side_effects: set[int] = field(default_factory=set)
    children: dict[str, int] = field(default_factory=dict)
    """Open children: id -> seq of its start."""
    ended_children: set[str] = field(default_factory=set)
    cancel_requested: bool = False
    closed_at: int | None = None
    cleaned_up: float | None = None
    """When a run that was ended from outside had seen to what it had started."""

    def extend(self, text: str) -> None:
        event = unpack(text)
        retry = event.type is EventType.ACTIVITY_RETRY_REQUESTED
        assert self.closed_at is None or retry, f"{event.type} behind the closing event"
        self.texts.append(text)
        self.events.append(event)
        self._note(event, len(self.events))

    def _note(self, event: Event, seq: int) -> None:
        data = event.data
        match event.type:
            case EventType.ACTIVITY_SCHEDULED:
                assert data["q"] not in self.activities | self.ended_activities, "scheduled twice"
                self.activities.add(data["q"])
            case EventType.ACTIVITY_COMPLETED | EventType.ACTIVITY_FAILED:
                assert data["q"] in self.activities, f"a second outcome of activity {data['q']}"
                self.activities.remove(data["q"])
                self.ended_activities.add(data["q"])
            case EventType.TIMER_SCHEDULED:
                assert data["q"] not in self.timers | self.fired_timers, "timer scheduled twice"
                self.timers.add(data["q"])
            case EventType.TIMER_FIRED:
                assert data["q"] in self.timers, f"timer {data['q']} fired twice, or never set"
                self.timers.remove(data["q"])
                self.fired_timers.add(data["q"])
            case EventType.TIMER_CANCELLED:
                assert data["q"] not in self.cancelled_timers, "timer cancelled twice"
                self.timers.discard(data["q"])
                self.cancelled_timers.add(data["q"])
            case EventType.SIDE_EFFECT:
                assert data["q"] not in self.side_effects, "side effect recorded twice"
                self.side_effects.add(data["q"])
            case EventType.WORKFLOW_CALLED | EventType.WORKFLOW_CALL_ENDED:
                self._note_call(event)
            case EventType.WORKFLOW_EXITED if "q" in data:
                assert data["q"] in self.calls - self.exits, f"call {data['q']} exits twice"
                self.exits.add(data["q"])
            case _:
                self._note_rest(event, seq)

    def _note_call(self, event: Event) -> None:
        seq = event.data["q"]
        if event.type is EventType.WORKFLOW_CALLED:
            assert seq not in self.calls, f"call {seq} is made twice"
            self.calls.add(seq)
        else:
            assert seq in self.calls - self.ended_calls, f"call {seq} ends twice"
            self.ended_calls.add(seq)

    def _note_rest(self, event: Event, seq: int) -> None:
        data = event.data
        match event.type:
            case EventType.CHILD_STARTED:
                again = data["i"] in self.children or data["i"] in self.ended_children
                assert not again, f"child {data['i']} started twice"
                self.children[data["i"]] = seq
            case EventType.CHILD_COMPLETED | EventType.CHILD_FAILED:
                assert data["i"] in self.children, f"a second outcome of child {data['i']}"
                del self.children[data["i"]]
                self.ended_children.add(data["i"])
            case EventType.ACTIVITY_RETRY_REQUESTED:
                assert self.closed_at == seq - 1, "a retry of a run that is not closed"
                self.closed_at = None
                self._undo(int(data["q"]))
            case EventType.CANCEL_REQUESTED:
                self.cancel_requested = True
            case EventType.COMPLETED | EventType.FAILED | EventType.CANCELLED:
                self.closed_at = seq

    def _undo(self, retried: int) -> None:
        """A retry: the failed activity is open again, those behind it never were."""
        self.ended_activities = {seq for seq in self.ended_activities if seq < retried}
        self.activities = {retried}
        self.timers.clear()
        self.children.clear()
