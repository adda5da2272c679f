"""Runs a pool once, and prints who did what."""

from __future__ import annotations

import os

from worker import Plan, worker_pool

from assay import Client


def main() -> None:
    with Client(os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")) as client:
        summary = client.execute(worker_pool, Plan(workers=3, jobs=12), timeout=60)
        for done in summary.processed:
            print(f"worker {done.worker}: job {done.job} -> {done.result}")
        print(f"total: {summary.total}")


if __name__ == "__main__":
    main()
