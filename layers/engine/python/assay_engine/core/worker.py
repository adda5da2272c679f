"""Workers, queues and namespaces as they are stored."""

from dataclasses import dataclass

from . import keys
from .keys import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    key: Key
    identity: str
    queue: str
    workflows: tuple[str, ...] | None
    activities: tuple[str, ...] | None
    max_concurrent_workflows: int
    max_concurrent_activities: int
    registered_at: float
    last_heartbeat: float

    @property
    def id(self) -> str:
        return self.key.sk

    @property
    def namespace(self) -> str:
        return self.key.pk.split(keys.SEPARATOR, 1)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """Registry: a namespace has, or once had, entries of this kind on this queue."""

    key: Key
    queue: str
    shards: int = 1

    @property
    def kind(self) -> str:
        return self.key.sk.split(keys.SEPARATOR, 2)[1]

    @property
    def namespace(self) -> str:
        return self.key.sk.split(keys.SEPARATOR, 2)[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    key: Key
    created_at: float

    @property
    def name(self) -> str:
        return self.key.sk.removeprefix(keys.SEPARATOR)
