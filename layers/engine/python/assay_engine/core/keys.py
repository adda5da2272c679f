"""Where each record stands in the table, as plain text. Parts are joined by the unit
separator, which no name may contain (see ids.check_name), so parts never need escaping.
"""

from hashlib import sha256
from typing import NamedTuple, Protocol

from . import limits

SEPARATOR = "\x1f"
HEAD = "H"
# Sort keys inside a run's partition: the letter, the run's nonce, then what tells them apart.
RECORD, CHUNK, PAYLOAD, SNAPSHOT, INCARNATION = "R", "C", "P", "S", "I"
MARKER, REPLY, WATCHER = "M", "Y", "W"
RUN, ACTIVITY, WORKERS, QUEUE, POINTER = "run", "act", "wrk", "que", "ptr"
NAMESPACES = "nsp"


class Key(NamedTuple):
    pk: str
    sk: str


def join(*parts: str) -> str:
    return SEPARATOR.join(parts)


def head(namespace: str, run_id: str) -> Key:
    return Key(join(RUN, namespace, run_id), HEAD)


def run_of(key: Key) -> tuple[str, str]:
    """Namespace and id of the run in whose partition `key` stands."""
    _, namespace, run_id = key.pk.split(SEPARATOR, 2)
    return namespace, run_id


def incarnation(head_key: Key, nonce: str) -> Key:
    """Where a head is kept whose id was used again."""
    return Key(head_key.pk, join(INCARNATION, nonce))


def record(head_key: Key, nonce: str) -> Key:
    return Key(head_key.pk, join(RECORD, nonce))


def chunk(head_key: Key, nonce: str, base: int) -> Key:
    return Key(head_key.pk, join(CHUNK, nonce, f"{base:010d}"))


def chunks(head_key: Key, nonce: str) -> Key:
    """What every chunk's sort key begins with."""
    return Key(head_key.pk, join(CHUNK, nonce, ""))


def payload(head_key: Key, nonce: str, name: str) -> Key:
    return Key(head_key.pk, join(PAYLOAD, nonce, name))


def snapshot(head_key: Key, nonce: str, name: str) -> Key:
    return Key(head_key.pk, join(SNAPSHOT, nonce, name))


def call_mark(head_key: Key, sender_nonce: str, event_seq: int) -> Key:
    """Beside whatever run has the called id, now or later: a call is made once."""
    return Key(head_key.pk, join(MARKER, sender_nonce, str(event_seq)))


def request_mark(head_key: Key, nonce: str, request_id: str) -> Key:
    return Key(head_key.pk, join(MARKER, nonce, "r", request_id))


def exit_mark(head_key: Key, caller_nonce: str, event_seq: int) -> Key:
    """Beside the other side of a link: it has heard of the end, or shall not."""
    return Key(head_key.pk, join(MARKER, caller_nonce, str(event_seq), "x"))


class _Watcher(Protocol):
    @property
    def origin(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def call_seq(self) -> int | None: ...


def watcher(head_key: Key, nonce: str, told: _Watcher) -> Key:
    side = "a" if told.call_seq is not None else "p"
    return Key(head_key.pk, join(WATCHER, nonce, told.origin, str(told.seq), side))


def watchers(head_key: Key, nonce: str) -> Key:
    return Key(head_key.pk, join(WATCHER, nonce, ""))


def reply(head_key: Key, nonce: str, request_id: str) -> Key:
    return Key(head_key.pk, join(REPLY, nonce, request_id))


def reply_slot(head_key: Key, request_id: str) -> str:
    """What those wait for who want to hear of a reply: a few, so that none need be forgotten."""
    return join(REPLY, _digest(join(head_key.pk, request_id))[:2])


def activity(activity_id: int, nonce: str, event_seq: int) -> Key:
    return Key(join(ACTIVITY, str(activity_id)), join(nonce, str(event_seq)))


def activities(activity_id: int) -> Key:
    return Key(join(ACTIVITY, str(activity_id)), "")


def worker(namespace: str, worker_id: str) -> Key:
    return Key(join(WORKERS, namespace), worker_id)


def workers(namespace: str) -> Key:
    return Key(join(WORKERS, namespace), "")


def namespace(name: str) -> Key:
    return Key(NAMESPACES, SEPARATOR + name)


def namespaces() -> Key:
    return Key(NAMESPACES, SEPARATOR)


def queue(name: str, namespace: str, kind: str) -> Key:
    # Hashed: queue and namespace together may be longer than a sort key.
    return Key(QUEUE, join(_digest(name), kind, namespace))


def queues(name: str, kind: str) -> Key:
    return Key(QUEUE, join(_digest(name), kind, ""))


def all_queues() -> Key:
    return Key(QUEUE, "")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def pointer(run_id: str, namespace: str) -> Key:
    return Key(join(POINTER, run_id), SEPARATOR + namespace)


def pointers(run_id: str) -> Key:
    return Key(join(POINTER, run_id), SEPARATOR)


WORKFLOWS, ACTIVITIES = "w", "a"


def slot(namespace: str, queue_name: str, kind: str, shard: int = 0) -> str:
    """Partition of the due index."""
    return join(namespace, queue_name, kind, str(shard))


def queue_of(slot_text: str) -> str:
    return slot_text.split(SEPARATOR)[1]


def default_namespace(namespace: str | None) -> str:
    return limits.DEFAULT_NAMESPACE if namespace is None else namespace
