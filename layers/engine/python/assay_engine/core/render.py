"""Events as readers and workers see them: the payloads of the wire, from the compact log."""

from collections.abc import Iterable, Mapping
from typing import Any

from . import calls, failures, ids, values
from .history import OUTCOMES, Event, EventType, Numbered
from .replies import shown_reply

Schedules = Mapping[int, Numbered]
"""Activity seq -> the last ActivityScheduled with it."""


class Renderer:
    """Renders events of one run in order; remembers schedules to name outcomes."""

    def __init__(self, nonce: str, schedules: Schedules | None = None) -> None:
        self._nonce = nonce
        self._schedules = dict(schedules or {})

    def payload(self, numbered: Numbered) -> Any:
        event = numbered.event
        if event.type is EventType.ACTIVITY_SCHEDULED:
            self._schedules[event.data["q"]] = numbered
            return self._scheduled(numbered)
        if event.type in OUTCOMES or event.type is EventType.ACTIVITY_RETRY_REQUESTED:
            return self._outcome(event)
        return _PLAIN[event.type](numbered)

    def unknown(self, numbered: Numbered) -> bool:
        """Whether an outcome cannot be named because its schedule was not rendered."""
        event = numbered.event
        if event.type is EventType.ACTIVITY_SCHEDULED:
            self._schedules[event.data["q"]] = numbered
        return event.type in OUTCOMES and event.data["q"] not in self._schedules

    def _scheduled(self, numbered: Numbered) -> dict[str, Any]:
        data = numbered.event.data
        return {
            "activity_id": ids.activity_id(self._nonce, numbered.seq),
            "activity_seq": data["q"],
            "name": data["n"],
            "task_queue": data["k"],
            "input": values.text(data["v"]) if "v" in data else None,
        }

    def _outcome(self, event: Event) -> dict[str, Any]:
        data = event.data
        schedule = self._schedules.get(data["q"])
        payload = {
            "activity_id": ids.activity_id(self._nonce, schedule.seq) if schedule else None,
            "activity_seq": data["q"],
            "name": schedule.event.data["n"] if schedule else None,
        }
        if event.type is EventType.ACTIVITY_COMPLETED:
            return {**payload, "result": data.get("v"), "error": None}
        if event.type is EventType.ACTIVITY_FAILED:
            payload |= {"error": error_of(data), "final_attempt": data["f"]}
            return payload | failures.shown(data)
        return {
            **payload,
            "failed_event_seq": data["f"],
            "requested_by": data["b"],
            "reason": data["e"],
            "invalidated_activities": data["x"],
        }


def error_of(data: Mapping[str, Any]) -> str:
    """An error text; a long one was resolved into `v`."""
    return str(data["e"] if "e" in data else data.get("v", ""))


def _timer_scheduled(numbered: Numbered) -> dict[str, Any]:
    data = numbered.event.data
    return {
        "timer_id": numbered.seq,
        "timer_seq": data["q"],
        "fire_at": data["f"],
        "duration_secs": float(data["d"]),
    }


def _awaiting(numbered: Numbered) -> dict[str, Any]:
    data = numbered.event.data
    timer = {"timer_seq": data["q"]} if "q" in data else {}
    return {"signal": data["n"], **timer}


def _side_effect(numbered: Numbered) -> dict[str, Any]:
    data = numbered.event.data
    return {"side_effect_seq": data["q"], "name": data["n"], "value": data.get("v")}


def _upserted(numbered: Numbered) -> dict[str, Any]:
    data = numbered.event.data
    memo = {"memo": data["m"]} if "m" in data else {}
    return {"upsert_seq": data["q"], "patch": data.get("v"), **memo}


def _reason(numbered: Numbered) -> dict[str, Any] | None:
    reason = numbered.event.data.get("e")
    return None if reason is None else {"reason": reason}


_PLAIN: Mapping[EventType, Any] = {
    EventType.STARTED: lambda n: n.event.data.get("v"),
    EventType.COMPLETED: lambda n: n.event.data.get("v"),
    EventType.FAILED: lambda n: {"error": error_of(n.event.data), **failures.shown(n.event.data)},
    EventType.CANCELLED: _reason,
    EventType.CANCEL_REQUESTED: _reason,
    EventType.TIMER_SCHEDULED: _timer_scheduled,
    EventType.TIMER_FIRED: lambda n: {
        "timer_seq": n.event.data["q"],
        "fire_at": n.event.data["f"],
    },
    EventType.TIMER_CANCELLED: lambda n: {"timer_seq": n.event.data["q"]},
    EventType.SIGNAL_RECEIVED: calls.shown_signal,
    EventType.WORKFLOW_CALLED: calls.shown_call,
    EventType.WORKFLOW_CALL_ENDED: calls.shown_end,
    EventType.WORKFLOW_EXITED: calls.shown_exit,
    EventType.REPLY_SENT: shown_reply,
    EventType.AWAITING_SIGNAL: _awaiting,
    EventType.SIDE_EFFECT: _side_effect,
    EventType.CHILD_STARTED: lambda n: {
        "child_workflow_id": n.event.data["i"],
        "workflow_type": n.event.data["n"],
    },
    EventType.CHILD_COMPLETED: lambda n: {
        "child_workflow_id": n.event.data["i"],
        "result": n.event.data.get("v"),
    },
    EventType.CHILD_FAILED: lambda n: {
        "child_workflow_id": n.event.data["i"],
        "error": error_of(n.event.data),
        **failures.shown(n.event.data),
    },
    EventType.ATTRIBUTES_UPSERTED: _upserted,
    EventType.STALLED: lambda n: {"warning": n.event.data["e"]},
}


def shipped(events: Iterable[Numbered]) -> list[Numbered]:
    """The events a worker replays: without results that a retry has invalidated."""
    events = list(events)
    retries = [n for n in events if n.event.type is EventType.ACTIVITY_RETRY_REQUESTED]
    if not retries:
        return events
    return [n for n in events if not any(_invalidated(n, retry) for retry in retries)]


def _invalidated(numbered: Numbered, retry: Numbered) -> bool:
    event = numbered.event
    if numbered.seq > retry.seq:
        return False
    from_seq = retry.event.data["q"]
    if event.type in OUTCOMES:
        return bool(event.data["q"] >= from_seq)
    return event.type is EventType.ACTIVITY_SCHEDULED and bool(event.data["q"] > from_seq)


def for_legacy(kind: EventType, payload: Any) -> Any:
    """A null side effect would make the old client run its function for ever."""
    if kind is EventType.SIDE_EFFECT and payload["value"] is None:
        return {**payload, "value": False}
    return payload
