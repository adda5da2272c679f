"""Records out of the table's stream: what a Lambda is handed, as the engine's own types."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core import keys
from ..core.run import Head
from .mapping import codec


def closed_heads(records: list[Mapping[str, Any]]) -> Iterator[Head]:
    """Heads that these stream records closed: open before, or new, and no longer open. The
    copy of a head whose id was used again may be the only one that says how it ended."""
    for record in records:
        change = record.get("dynamodb", {})
        new, old = change.get("NewImage"), change.get("OldImage")
        if not new or "open" in new or not _is_head(new):
            continue
        if old is None or "open" in old:
            yield codec(Head).record(new)


def _is_head(item: Mapping[str, Any]) -> bool:
    # Not by its sort key alone: a worker may be called "H".
    pk, sk = str(item["pk"]["S"]), str(item["sk"]["S"])
    of_run = pk.startswith(keys.join(keys.RUN, ""))
    return of_run and (sk == keys.HEAD or sk.startswith(keys.join(keys.INCARNATION, "")))
