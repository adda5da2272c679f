"""The engine's limits made small, so that a short history reaches what a huge one would:
batches in parts, long tails, cut chunks, pages, values in items and blobs of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from assay_engine.app import dispatch, polling, recovery
from assay_engine.core import commit, limits

# How long a tail may be after a commit, after an inbound event, and at all.
_TAILS = ((0, 0, 1), (0, 300, 500), (200, 400, 900))
_SMALL = {
    (limits, "INLINE_VALUE_BYTES"): (60, 400),
    (limits, "ITEM_VALUE_BYTES"): (500,),
    (limits, "MAX_CUT"): (1, 3),
    (limits, "MAX_BATCH_BYTES"): (1, 400),
    (limits, "MAX_EAGER"): (1, 3),
    (limits, "CHILD_CHECK_SECS"): (1.0, 30.0),
    (limits, "CANCEL_GRACE_SECS"): (3.0,),
    (limits, "OWED_SECS"): (1.0,),
    (dispatch, "PAGE_BYTES"): (1, 900),
    (polling, "PAGE"): (1, 2),
    (polling, "LONG_PAGE"): (1, 2),
    (recovery, "PAGE"): (1, 2),
}


@contextmanager
def squeezed(random: Random, share: float) -> Iterator[None]:
    """Make about `share` of the limits small for a while."""
    chosen = {place: random.choice(sizes) for place, sizes in _SMALL.items()}
    chosen = {place: size for place, size in chosen.items() if random.random() < share}
    if random.random() < share:
        names = ("TAIL_AFTER_COMMIT", "TAIL_AFTER_INBOUND", "TAIL_FULL")
        for name, size in zip(names, random.choice(_TAILS), strict=True):
            chosen[limits, name] = size
    if (limits, "MAX_BATCH_BYTES") in chosen:
        chosen[commit, "_SURELY_FIT"] = 1
    old = {(module, name): getattr(module, name) for module, name in chosen}
    try:
        for (module, name), size in chosen.items():
            setattr(module, name, size)
        yield
    finally:
        for (module, name), size in old.items():
            setattr(module, name, size)
