"""Starts a counter with messages in its inbox, asks it for changes, and ends it."""

from __future__ import annotations

import os

from worker import Start, counter

from assay import Client, errors


def main() -> None:
    with Client(os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")) as client:
        handle = client.start(
            counter,
            Start(0),
            id="my-counter",
            id_conflict_policy="use_existing",
            messages=[("increment", {"amount": 2}), ("increment", {"amount": 1})],
        )
        print(handle.request("increment", {"amount": 4}, timeout=30))
        try:
            handle.request("decrement", {"amount": 10}, timeout=30)
        except errors.RequestRejectedError as rejected:
            print(f"{rejected.kind}: {rejected.message}")
        print(handle.request("decrement", {"amount": 5}, timeout=30))
        print(handle.request("finish", timeout=30))
        print(handle.result(timeout=30))


if __name__ == "__main__":
    main()
