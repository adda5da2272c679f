"""A signal with its sender, and how to answer it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assay._functions import convert
from assay._signals import Received
from assay.channel import Channel
from assay.failure import Failure

T = TypeVar("T")
REPLIES = "assay.reply:"

Answer = Callable[[Received, dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Message(Generic[T]):
    """One signal. A request is answered with `reply` or `reject`; for others they do nothing::

    async for message in ctx.messages("increment"):
        counter += message.payload["amount"]
        message.reply({"value": counter})
    """

    name: str
    payload: T
    sender: str | None
    """Id of the run that has sent it; None: a client."""
    _received: Received
    _answer: Answer

    @property
    def wants_reply(self) -> bool:
        """Whether somebody waits for an answer."""
        return self._received.request_id is not None

    def reply(self, payload: Any = None) -> None:
        """Answer the request."""
        if self.wants_reply:
            self._answer(self._received, {"payload": payload})

    def reject(self, reason: str, *, kind: str = "REJECTED", details: Any = None) -> None:
        """Answer the request with an error."""
        if self.wants_reply:
            failure = Failure(message=reason, kind=kind, retryable=False, details=details)
            self._answer(self._received, {"error": failure.wire()})


class Topic(Channel[T]):
    """The same signals, as payloads or as messages: what is taken here is gone there."""

    def __init__(self, source: Channel[Received], read: Callable[[Received], T]) -> None:
        super().__init__()
        self._source = source
        self._read = read
        self._values = source._values  # type: ignore[assignment]
        self._receivers = source._receivers

    def take(self) -> T:
        return self._read(self._source.take())


def payloads(source: Channel[Received], kind: Any) -> Topic[Any]:
    """Return a channel of payloads."""
    return Topic(source, lambda received: _payload(received, kind))


def messages(source: Channel[Received], kind: Any, answer: Answer) -> Topic[Message[Any]]:
    """Return a channel of messages."""

    def read(received: Received) -> Message[Any]:
        payload = _payload(received, kind)
        return Message(received.name, payload, received.sender, received, answer)

    return Topic(source, read)


def _payload(received: Received, kind: Any) -> Any:
    return convert(received.payload, kind, f"the payload of signal {received.name}")
