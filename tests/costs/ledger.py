"""Where measured figures are written down: .cache/costs.json, and the test's own output."""

import fcntl
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.costs.metered import Price

BOOK = Path(__file__).resolve().parents[2] / ".cache" / "costs.json"


def state(what: str, price: Price | dict[str, float]) -> None:
    """Print a figure and keep it; tests of several processes may do so at once."""
    figures = asdict(price) if isinstance(price, Price) else price
    told = ", ".join(f"{name} {value}" for name, value in figures.items())
    sys.stdout.write(f"{what}: {told}\n")
    BOOK.parent.mkdir(exist_ok=True)
    with BOOK.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.loads(BOOK.read_text()) if BOOK.exists() else {}
        known[what] = figures
        BOOK.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
