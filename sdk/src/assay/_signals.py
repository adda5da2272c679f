"""Where a signal goes: to the channel of its topic, to the inbox, or on the pile till asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.channel import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One signal as history has it."""

    name: str
    payload: Any
    sender: str | None = None
    """Id of the run that has sent it; None: a client."""
    request_id: str | None = None
    """Somebody waits for a reply under this id."""

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Received:
        sender = payload.get("from")
        return cls(
            name=payload["signal"],
            payload=payload.get("payload"),
            sender=sender.get("workflow_id") if isinstance(sender, Mapping) else None,
            request_id=payload.get("request_id"),
        )


class Signals:
    """All signals of one run, each delivered to one place, in the order in which they came."""

    def __init__(self) -> None:
        self._topics: dict[str, Channel[Received]] = {}
        self._inbox: Channel[Received] | None = None
        self._unclaimed: deque[Received] = deque()

    def deliver(self, received: Received) -> None:
        """Take one in."""
        topic = self._topics.get(received.name, self._inbox)
        if topic is None:
            self._unclaimed.append(received)
        else:
            topic.put(received)

    def topic(self, name: str) -> Channel[Received]:
        """Return the channel of all signals of that name, those that came before included."""
        if name not in self._topics:
            self._topics[name] = Channel()
            self._claim(self._topics[name], name)
        return self._topics[name]

    def inbox(self) -> Channel[Received]:
        """Return the channel of everything that no topic has claimed."""
        if self._inbox is None:
            self._inbox = Channel()
            self._claim(self._inbox, None)
        return self._inbox

    def _claim(self, channel: Channel[Received], name: str | None) -> None:
        others: deque[Received] = deque()
        for received in self._unclaimed:
            if name in (None, received.name):
                channel.put(received)
            else:
                others.append(received)
        self._unclaimed = others
