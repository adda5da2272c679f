"""What a person can ask of `assay serve`, and how it says no: in one line."""

import sys
from dataclasses import dataclass
from pathlib import Path

DEFAULT_DATA_DIR = Path(".assay")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of `assay serve`.

    `memory` keeps nothing; `dynamodb_endpoint` uses a store that somebody else runs, and then
    several `assay serve` may share it. Port 0 picks a free one.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    data_dir: Path = DEFAULT_DATA_DIR
    memory: bool = False
    dynamodb_endpoint: str | None = None


class ServeError(Exception):
    """Why the engine cannot run, as the one line a person should read."""


def complain(text: str) -> None:
    """Say on stderr what went wrong, on one line whatever `text` holds."""
    print("assay serve:", " ".join(text.split()), file=sys.stderr, flush=True)
