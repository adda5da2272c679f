"""How a run is stopped from outside, as data: nothing is written here.

For `ending`, and for calls between runs, which write the same together with their marker.
"""

from typing import Any

from ..core import limits
from ..core.change import Copy, Equals, Exists, Put, PutIfMissing
from ..core.decide import error_field
from ..core.draft import Draft
from ..core.history import EventType
from ..core.run import Head, Status
from ..core.settle import close_for_good
from .inbound import Inbound


def cancel_request(
    reason: str | None, now: float, *, nonce: str | None = None, deadline: float | None = None
) -> Inbound:
    """Of a run that somebody has taken: its worker may clean up first."""
    only = () if nonce is None else (Equals(("nonce",), nonce),)
    # The last deadline given counts, so that it can be shortened. The key may lie behind it.
    until = () if deadline is None else (Put(("cancel_until",), now + deadline),)
    return Inbound(
        type=EventType.CANCEL_REQUESTED,
        data=_reason(reason),
        guard=(Exists(("status_letter",)), *only),
        also=(
            Put(("timers",), {}),
            Copy(("cancel_after",), "length", keep=True),
            PutIfMissing(("cancel_due",), now + limits.CANCEL_GRACE_SECS),
            *until,
        ),
        looked_at=deadline is not None,
    )


def cancelled(head: Head, reason: str | None, now: float) -> Draft:
    """Of a run nobody has ever taken, so nobody has to answer."""
    draft = Draft(head=head, now=now)
    draft.append(EventType.CANCEL_REQUESTED, _reason(reason))
    draft.append(EventType.CANCELLED, {})
    close_for_good(draft, Status.CANCELLED)
    return draft


def terminated(head: Head, reason: str | None, now: float) -> Draft:
    draft = Draft(head=head, now=now)
    draft.append(EventType.FAILED, error_field(draft, "terminated" if reason is None else reason))
    close_for_good(draft, Status.FAILED)
    return draft


def _reason(reason: str | None) -> dict[str, Any]:
    return {} if reason is None else {"e": reason}
