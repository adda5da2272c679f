"""What a worker did, line by line in a file that survives it; and where it is to hang."""

import json
import os
import time
from pathlib import Path
from typing import Any


class Journal:
    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def note(self, *what: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(what) + "\n")

    def hang(self, where: str) -> None:
        """Say so and wait to be killed, if that is what this worker is for."""
        if os.environ.get("HANG_IN") == where:
            self.note("hangs", where)
            time.sleep(3600)
