"""Replies to numbered requests: put as an item of the run, looked up by whoever asked."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..core import ids, keys, values
from ..core.history import Numbered
from ..core.run import Head, Payload
from . import names, payloads
from .engine import Engine
from .names import RunRef
from .ports import ConditionFailedError

# A run may end without a reply, or another process put it: a waiting call looks again this often.
LOOK_AGAIN_SECS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What there is of a reply. `status`: of the run at the end of the chain, if there is none."""

    status: str | None = None
    payload: Any = None
    error: Any = None


def put(engine: Engine, head: Head, sent: Numbered) -> None:
    """Pay a ReplySent. The first reply to a request counts. Row `reply`."""
    data = sent.event.data
    request_id = str(data["u"])
    item = Payload(
        key=keys.reply(head.key, head.nonce, request_id),
        text=str(values.from_field(data)),
        created_at=sent.event.at,
        length=sent.seq,
    )
    with suppress(ConditionFailedError):  # put before, or an earlier reply
        engine.store.put(item)
    engine.wakeups.notify(keys.reply_slot(head.key, request_id))


def wait(
    engine: Engine,
    ref: RunRef,
    request_id: str,
    wait_secs: float = 0.0,
    caller_gone: Callable[[], bool] = lambda: False,
) -> Answer:
    """The reply to a request, or what became of the run; waits for it while the run is open."""
    ids.check_request(request_id)
    until = engine.now() + min(wait_secs, engine.options.max_wait_secs)
    head = names.need(engine, ref)
    slots = [keys.reply_slot(head.key, request_id)]
    while True:
        ticket = engine.wakeups.ticket(slots)
        answer, pending = _look(engine, names.need(engine, ref), request_id)
        # A notification is for one waiter; others may wait for the same.
        engine.wakeups.pass_on(slots)
        now = engine.now()
        if not pending or now >= until or caller_gone():
            return answer
        engine.wakeups.wait(slots, ticket, max(min(until - now, LOOK_AGAIN_SECS), 0.001))


def _look(engine: Engine, head: Head, request_id: str) -> tuple[Answer, bool]:
    """The reply, of this run or of one that continues it; and whether one may still come."""
    while True:
        found = engine.store.get(Payload, keys.reply(head.key, head.nonce, request_id))
        if found is not None:
            text = payloads.text(engine, head.key, head.nonce, found.text)
            value = values.parse(text or "{}")
            return Answer(payload=value.get("payload"), error=value.get("error")), False
        following = None
        if head.continued_to is not None:
            following = engine.store.get(Head, keys.head(head.namespace, head.continued_to))
        if following is None:
            # A closed run may still owe its last reply.
            return Answer(status=head.status), head.is_open or bool(head.owed)
        head = following
