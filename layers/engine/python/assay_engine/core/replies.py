"""The command Reply: a run answers a numbered request, which whoever asked can look up.

In the log: u the id of the request, v or r the answer, `{"payload", "error"}`.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from . import failures, ids, seqs
from .draft import Draft
from .history import EventType, Numbered


class Reply(Struct, frozen=True, kw_only=True):
    seq: int
    request_id: str
    payload: Any
    error: Any


def read_reply(raw: Mapping[str, Any]) -> Reply:
    error = raw.get("error")
    return Reply(
        seq=seqs.checked(raw.get("seq"), "Reply: seq"),
        request_id=ids.check_request(raw.get("request_id"), "Reply: request_id"),
        payload=raw.get("payload"),
        error=error if isinstance(error, str) else failures.read(error, "Reply: error"),
    )


def record_reply(draft: Draft, command: Reply) -> None:
    """One event for each; a seq that was used before adds nothing."""
    if not draft.use("used_replies", command.seq):
        return
    answer = {"payload": command.payload, "error": command.error}
    data = {"q": command.seq, "u": command.request_id, **draft.parcels.field(answer, "reply")}
    draft.owed.add(draft.append(EventType.REPLY_SENT, data))


def shown_reply(numbered: Numbered) -> dict[str, Any]:
    data = numbered.event.data
    return {"reply_seq": data["q"], "request_id": data["u"]}
