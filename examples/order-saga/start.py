"""Three orders: one that is shipped, one whose card is declined, one that cannot be delivered."""

from __future__ import annotations

import os

from worker import Order, order

from assay import Client, errors

ORDERS = (Order("1", 20, "Main St 5"), Order("2", 2000, "Main St 5"), Order("3", 20, "nowhere"))


def main() -> None:
    with Client(os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")) as client:
        for each in ORDERS:
            handle = client.start(order, each)
            try:
                print(f"order {each.id}: {handle.result(timeout=60)}")
            except errors.RunFailedError as failed:
                print(f"order {each.id}: {failed.error}")
            steps = [event for event in handle.events() if event.event_type == "ActivityCompleted"]
            print("  done:", ", ".join(step.payload["name"] for step in steps))


if __name__ == "__main__":
    main()
