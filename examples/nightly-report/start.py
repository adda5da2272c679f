"""Makes one report, and shows the runs that it was made of."""

from __future__ import annotations

import os
import sys

from worker import Request, nightly_report

from assay import Client


def main() -> None:
    region = sys.argv[1] if len(sys.argv) > 1 else "eu-west-1"
    with Client(os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")) as client:
        handle = client.start(nightly_report, Request(region))
        print(handle.result(timeout=60))
        for child in handle.children():
            print(f"{child.id}: {child.status}, parent {child.parent_id}")


if __name__ == "__main__":
    main()
