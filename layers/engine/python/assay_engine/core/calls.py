"""What a run does to other runs: the command CallWorkflow, and the event it becomes.

The event is a debt: whoever pays it finds everything in it. In the log: c(all), i(d of the
other run), n(ame of a signal), v or r its payload, e the reason, d(eadline), u the id of a
request, y whom to reply to.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import UNSET, Struct

from . import durations, failures, ids, seqs
from .draft import Draft
from .errors import InvalidError
from .history import EventType, Numbered
from .run import Status


class Call(StrEnum):
    SIGNAL = "signal"
    CANCEL = "cancel"
    TERMINATE = "terminate"
    MONITOR = "monitor"
    UNMONITOR = "unmonitor"
    LINK = "link"
    UNLINK = "unlink"


NOT_FOUND, CLOSED = "NOT_FOUND", "CLOSED"
_MESSAGES = {NOT_FOUND: "there is no such run", CLOSED: "the run has ended"}
# Field of the command -> letter in the log.
_TEXTS = {"name": "n", "reason": "e", "request_id": "u", "reply_to": "y"}


class CallWorkflow(Struct, frozen=True, kw_only=True):
    seq: int
    call: Call
    workflow_id: str
    name: str | None = None
    payload: Any = UNSET
    reason: str | None = None
    deadline: float | None = None
    request_id: str | None = None
    reply_to: str | None = None


def read_call(raw: Mapping[str, Any]) -> CallWorkflow:
    call = _call(raw.get("call"))
    name, deadline = _text(raw, "name"), raw.get("deadline")
    if call is Call.SIGNAL and name is None:
        raise InvalidError("CallWorkflow: a signal needs a name")
    return CallWorkflow(
        seq=seqs.checked(raw.get("seq"), "CallWorkflow: seq"),
        call=call,
        workflow_id=_needed(raw, "workflow_id"),
        name=name,
        payload=raw.get("payload", UNSET),
        reason=_text(raw, "reason"),
        deadline=None if deadline is None else durations.parse(deadline, "CallWorkflow: deadline"),
        request_id=None if raw.get("request_id") is None else ids.check_request(raw["request_id"]),
        reply_to=_text(raw, "reply_to"),
    )


def _call(raw: Any) -> Call:
    try:
        return Call(raw)
    except ValueError:
        known = ", ".join(Call)
        raise InvalidError(f"CallWorkflow: call must be one of {known}") from None


def _text(raw: Mapping[str, Any], name: str) -> str | None:
    """A short text: all of them stand in the head."""
    found = raw.get(name)
    if found is None:
        return None
    if not isinstance(found, str):
        raise InvalidError(f"CallWorkflow: {name} must be a text")
    return ids.check_name(found, f"CallWorkflow: {name}")


def _needed(raw: Mapping[str, Any], name: str) -> str:
    found = _text(raw, name)
    if not found:
        raise InvalidError(f"CallWorkflow: {name} is missing")
    return found


def record_call(draft: Draft, command: CallWorkflow) -> None:
    """One event for each; a seq that was used before adds nothing."""
    if not draft.use("used_calls", command.seq):
        return
    data: dict[str, Any] = {"q": command.seq, "c": command.call, "i": command.workflow_id}
    data |= {letter: getattr(command, name) for name, letter in _TEXTS.items()}
    data["d"] = command.deadline
    data = {letter: value for letter, value in data.items() if value is not None}
    if command.payload is not UNSET:
        data |= draft.parcels.field(command.payload, "payload")
    seq = draft.append(EventType.WORKFLOW_CALLED, data)
    draft.owed.add(seq)
    if command.call in (Call.MONITOR, Call.LINK):
        draft.watching.add(seq)
    if command.call is Call.LINK:
        # The other side will watch this run.
        draft.put("watched", value=1)


def shown_call(numbered: Numbered) -> dict[str, Any]:
    data = numbered.event.data
    shown = {"call_seq": data["q"], "call": data["c"], "workflow_id": data["i"]}
    shown |= {name: data[letter] for name, letter in _TEXTS.items() if letter in data}
    if "d" in data:
        shown["deadline"] = data["d"]
    return {**shown, "payload": data["v"]} if "v" in data else shown


def shown_end(numbered: Numbered) -> dict[str, Any]:
    data = numbered.event.data
    error = data.get("e")
    if error is None:
        return {"call_seq": data["q"]}
    return {"call_seq": data["q"], "error": {"kind": error, "message": _MESSAGES[error]}}


def shown_exit(numbered: Numbered) -> dict[str, Any]:
    """How a watched run ended. Without `call_seq`: the other side has made the link."""
    data = numbered.event.data
    shown = {"call_seq": data.get("q"), "workflow_id": data["i"], "status": data["s"]}
    if data["s"] == Status.COMPLETED:
        shown["result"] = data.get("v")
    elif "e" in data or "v" in data:
        shown["error"] = data.get("e", data.get("v"))
    shown |= failures.shown(data)
    return {**shown, "link": True} if "l" in data else shown


def shown_signal(numbered: Numbered) -> dict[str, Any]:
    """A signal, with what only those between runs and those that want a reply carry."""
    data = numbered.event.data
    shown = {"signal": data["n"], "payload": data.get("v")}
    if "u" in data:
        shown["request_id"] = data["u"]
    if "y" in data:
        shown["reply_to"] = data["y"]
    if "s" in data:
        shown["from"] = {"workflow_id": data["s"][0], "run_id": data["s"][1]}
    return shown
