"""Starts one run of Hello and prints its result."""

from __future__ import annotations

import os
import sys

from assay import Client


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "world"
    with Client(os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")) as client:
        run = client.start("Hello", input=name)
        print(client.wait_for_result(run.workflow_id, timeout=30))


if __name__ == "__main__":
    main()
