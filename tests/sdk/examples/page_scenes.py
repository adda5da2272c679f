"""What the workflows of docs/sdk.md do: a scene for each, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay import activity, errors, testing, workflow

Env = testing.Environment
Scene = Callable[[Env], Any]


def _hello(env: Env) -> Any:
    return env.start("Hello", "Ada").result()


def _order(env: Env) -> Any:
    return env.start("Order", {"id": "7", "rows": [1, 2, 3]}).result()


def _cheapest(env: Env) -> Any:
    return env.start("Cheapest", ["corner", "super"]).result()


def _where(env: Env) -> Any:
    return len(env.start("Where").result().split(" on ")[0])


def _payment(env: Env) -> Any:
    env.activity("check_fraud", lambda: None)
    env.activity("charge", lambda order: f"paid {order['total']}")
    return env.start("Payment", {"total": 5}).result()


def _reminder(env: Env) -> Any:
    sent: list[Any] = []
    env.activity("remind", sent.append)
    return env.start("Reminder", 3).result(), len(sent)


def _jobs(env: Env) -> Any:
    env.activity("double", lambda number: number * 2)
    run = env.start("Jobs", messages=[("add_job", {"id": 4})])
    run.signal("add_job", {"id": 5})
    return run.result(), env.now.timestamp() - run.history[0].timestamp


def _counter(env: Env) -> Any:
    run = env.start("Counter", 1)
    replies = [run.request("increment", {"amount": 2})]
    with pytest.raises(errors.RequestRejectedError) as rejected:
        run.request("increment", {"amount": "two"})
    return [*replies, rejected.value.kind, run.request("finish"), run.result()]


def _asking(env: Env) -> Any:
    counter = env.start("Counter", 4, id="counter")
    return env.start("Asking", "counter").result(), counter.result()


def _part(env: Env) -> Any:
    return env.start("Part", 4).result()


def _whole(env: Env) -> Any:
    run = env.start("Whole", [1, 2, -3, 4])
    return run.result(), [str(child.status) for child in run.children]


def _guard(env: Env) -> Any:
    env.workflow("Good", _good)
    env.workflow("Bad", _bad)
    env.start("Good", id="good")
    env.start("Bad", id="bad")
    return env.start("Guard", ["good", "bad"]).result()


async def _good(ctx: workflow.Context) -> str:
    await ctx.sleep(1)
    return "fine"


async def _bad(ctx: workflow.Context) -> str:
    await ctx.sleep(2)
    raise workflow.ApplicationError("lost", kind="NOT_FOUND")


def _lease(env: Env) -> Any:
    told: list[Any] = []

    def note(ctx: activity.Context, value: str) -> None:
        told.append((ctx.info.name, value))

    for name in ("allocate", "report", "give_back"):
        env.activity(name, note)
    run = env.start("Lease", "host-1")
    run.cancel("not needed")
    with pytest.raises(errors.RunCancelledError):
        run.result()
    return told


def _pay(env: Env) -> Any:
    with pytest.raises(errors.RunFailedError) as failed:
        env.start("Pay", ["lost"]).result()
    return env.start("Pay", ["lost", "good"]).result(), failed.value.failure.kind


def _trip(env: Env) -> Any:
    told: list[str] = []

    def note(ctx: activity.Context, _who: str) -> str:
        told.append(ctx.info.name)
        return ctx.info.name.partition("_")[2]

    for name in ("book_room", "cancel_room", "book_flight", "cancel_flight"):
        env.activity(name, note)
    env.activity("charge", _refuse)
    with pytest.raises(errors.RunFailedError):
        env.start("Trip", "ada").result()
    undone = list(told)
    env.activity("charge", lambda: None)
    return undone, env.start("Trip", "ada").result()


def _refuse(_who: str) -> None:
    raise errors.NonRetryableError("no money")


def _pool(env: Env) -> Any:
    return env.start("Pool", 5).result()


def _watch(env: Env) -> Any:
    env.activity("is_ready", lambda looks: looks == 150)
    run = env.start("Watch", 0)
    return run.result(), len(env.runs)


def _import(env: Env) -> Any:
    env.activity("load", lambda: None, takes=1)
    run = env.start("Import", ["a", "b"])
    env.advance(1)
    progress = [run.query("progress")]
    run.result()
    return [*progress, run.query("progress"), run.search_attributes, run.memo]


def _bill(env: Env) -> Any:
    return env.start("Bill", 5, context={"tenant": "acme"}).result()


def _parcel(env: Env) -> Any:
    return env.start("Parcel", "order-7", messages=[("shipped", "no. 5")]).result()


def _approval(env: Env) -> Any:
    env.activity("charge", lambda: "paid")
    run = env.start("Approval", 5)
    with pytest.raises(errors.RunFailedError) as failed:
        run.result()
    return failed.value.failure.kind


SCENES: dict[str, tuple[Scene, Any]] = {
    "Hello": (_hello, "Hello, Ada!"),
    "Order": (_order, {"order_id": "7", "total": 6}),
    "Cheapest": (_cheapest, 5),
    "Where": (_where, 36),
    "Payment": (_payment, "paid 5"),
    "Reminder": (_reminder, (3 * 86400.0, 3)),
    "Jobs": (_jobs, ([8, 10], 3600.0)),
    "Counter": (_counter, [{"value": 3}, "INVALID", "finishing", 3]),
    "Asking": (_asking, (7, 7)),
    "Part": (_part, 8),
    "Whole": (_whole, (14, ["COMPLETED", "COMPLETED", "FAILED", "COMPLETED"])),
    "Guard": (_guard, {"good": "COMPLETED fine", "bad": "FAILED NOT_FOUND: lost"}),
    "Lease": (
        _lease,
        [("allocate", "host-1"), ("report", "not needed"), ("give_back", "host-1")],
    ),
    "Pay": (_pay, ("paid", "CARD_DECLINED")),
    "Trip": (
        _trip,
        (["book_room", "book_flight", "cancel_flight", "cancel_room"], "room, flight"),
    ),
    "Pool": (_pool, [0, 4, 8, 12, 16]),
    "Watch": (_watch, (150, 2)),
    "Import": (
        _import,
        [{"done": 1, "of": 2}, {"done": 2, "of": 2}, {"stage": "done"}, {"files": ["a", "b"]}],
    ),
    "Bill": (_bill, "5 to acme"),
    "Parcel": (_parcel, "order-7: no. 5"),
    "Approval": (_approval, "EXPIRED"),
}

# What the guard refuses, as the page names it, and a call of it.
MODULES = "os, random, secrets, socket, sqlite3, subprocess, time, uuid"
REFUSED = {
    "time.time()": "time.time()",
    "time.monotonic()": "time.monotonic()",
    "datetime.now()": "datetime.now(UTC)",
    "date.today()": "date.today()",
    "random.random()": "random.random()",
    "random.choice()": "random.choice('abc')",
    "uuid.uuid4()": "uuid.uuid4()",
    "os.urandom()": "os.urandom(8)",
    "secrets.token_hex()": "secrets.token_hex()",
    "open()": "open('/dev/null')",
    "os.listdir()": "os.listdir('/')",
    "socket.create_connection()": "socket.create_connection(('127.0.0.1', 9))",
    "subprocess.run()": "subprocess.run(['true'])",
    "sqlite3.connect()": "sqlite3.connect(':memory:')",
}
