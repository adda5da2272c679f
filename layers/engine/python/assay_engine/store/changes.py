"""Records out of the table's stream: what a Lambda is handed, as the engine's own types."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core import keys
from ..core.run import Head
from .mapping import codec


def closed_heads(records: list[Mapping[str, Any]]) -> Iterator[Head]:
    """Heads that these stream records closed: open before, or new, and no longer open."""
    for record in records:
        change = record.get("dynamodb", {})
        new, old = change.get("NewImage"), change.get("OldImage")
        if not new or new.get("sk", {}).get("S") != keys.HEAD or "open" in new:
            continue
        if old is None or "open" in old:
            yield codec(Head).record(new)
