"""Waits for a job that is ready at the fifth look, and shows the runs this took."""

from __future__ import annotations

import os

from worker import Job, poller

from assay import Client


def main() -> None:
    with Client(os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")) as client:
        handle = client.start(poller, Job("import", ready_after=5, every="50ms"))
        print(handle.result(timeout=60))
        run = handle.describe()
        while run.continued_to is not None:
            print(f"{run.status}, goes on in another run")
            run = client.describe(run.continued_to)
        print(f"{run.status}, {len(client.get_events(run.id))} events")


if __name__ == "__main__":
    main()
