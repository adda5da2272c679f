"""Which seqs of a kind a run has used, in a few bytes: the highest, and the gaps below it.

`"12"` means 1 to 12; `"12!3-5,7"` means the same without 3, 4, 5 and 7; a leading `z` says
that 0 was used too (a client that leaves the seq out sends 0).
"""

from typing import Any

from .errors import InvalidError

MAX_GAPS = 64
MAX_SEQ = 2**31 - 1


def checked(raw: Any, what: str) -> int:
    """A seq of the newer commands, which no client may leave out."""
    whole = isinstance(raw, int | float) and not isinstance(raw, bool) and raw == int(raw)
    if not whole or not 1 <= raw <= MAX_SEQ:
        raise InvalidError(f"{what} must be a whole number from 1 upwards")
    return int(raw)


def contains(used: str | None, seq: int) -> bool:
    zero, high, gaps = _parse(used)
    if seq == 0:
        return zero
    return seq <= high and not any(low <= seq <= top for low, top in gaps)


def add(used: str | None, seq: int) -> str:
    zero, high, gaps = _parse(used)
    if seq == 0:
        return _text(True, high, gaps)
    if seq > high:
        if seq > high + 1:
            gaps.append((high + 1, seq - 1))
        high = seq
    else:
        gaps = [piece for low, top in gaps for piece in _without(low, top, seq)]
    if len(gaps) > MAX_GAPS:
        raise InvalidError(f"seq {seq} leaves more than {MAX_GAPS} gaps; number from 1 upwards")
    return _text(zero, high, gaps)


def up_to(used: str | None, seq: int) -> str:
    """What is left when everything above `seq` is forgotten."""
    zero, high, gaps = _parse(used)
    kept = [(low, min(top, seq)) for low, top in gaps if low <= seq]
    return _text(zero, min(high, seq), kept)


def _without(low: int, top: int, seq: int) -> list[tuple[int, int]]:
    if not low <= seq <= top:
        return [(low, top)]
    return [piece for piece in ((low, seq - 1), (seq + 1, top)) if piece[0] <= piece[1]]


def _parse(used: str | None) -> tuple[bool, int, list[tuple[int, int]]]:
    text = used or "0"
    zero, text = text.startswith("z"), text.removeprefix("z")
    high, _, rest = text.partition("!")
    gaps = []
    for piece in filter(None, rest.split(",")):
        low, _, top = piece.partition("-")
        gaps.append((int(low), int(top or low)))
    return zero, int(high), gaps


def _text(zero: bool, high: int, gaps: list[tuple[int, int]]) -> str:
    pieces = ",".join(str(low) if low == top else f"{low}-{top}" for low, top in gaps)
    return ("z" if zero else "") + str(high) + (f"!{pieces}" if pieces else "")
