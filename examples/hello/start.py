"""Runs Hello once and prints its result."""

from __future__ import annotations

import os
import sys

from worker import hello

from assay import Client


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "world"
    with Client(os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")) as client:
        print(client.execute(hello, name, timeout=30))


if __name__ == "__main__":
    main()
