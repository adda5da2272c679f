"""Records the histories of this folder: `python -m tests.histories.record [name ...]`.

A history that is there already stays as it is, because that is what it is for; delete the file
to have it recorded anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay import testing
from assay.errors import ApplicationError, RunCancelledError, RunFailedError
from tests.histories import before, workflows

HERE = Path(__file__).parent
Recording = Callable[[testing.Environment], testing.Run[Any]]


def order(env: testing.Environment) -> testing.Run[Any]:
    env.activity("charge", _at_the_second_attempt)
    env.activity("ship", lambda: "parcel 7")
    return _ended(env.start("Order", {"total": 5}, id="order"))


def order_refunded(env: testing.Environment) -> testing.Run[Any]:
    env.activity("charge", lambda: "paid")
    env.activity("ship", _sold_out)
    env.activity("refund", lambda: None)
    return _ended(env.start("Order", {"total": 5}, id="order-refunded"))


def fan(env: testing.Environment) -> testing.Run[Any]:
    env.activity("square", _square_but_three, takes=1)
    return _ended(env.start("Fan", 5, id="fan"))


def reminder(env: testing.Environment) -> testing.Run[Any]:
    env.activity("remind", lambda: None)
    run = env.start("Reminder", id="reminder")
    env.advance("8d12h")
    run.signal("answer", "yes")
    return _ended(run)


def reminder_in_vain(env: testing.Environment) -> testing.Run[Any]:
    env.activity("remind", lambda: None)
    return _ended(env.start("Reminder", id="reminder-in-vain"))


def family(env: testing.Environment) -> testing.Run[Any]:
    env.activity("square", lambda number: number * number)
    env.activity("remind", lambda: None)
    env.activity("charge", lambda: _refuse("EMPTY_ORDER"))
    return _ended(env.start("Family", id="family"))


def chance(env: testing.Environment) -> testing.Run[Any]:
    env.activity("use", lambda: None)
    return _ended(env.start("Chance", id="chance"))


def payment(env: testing.Environment) -> testing.Run[Any]:
    for name in ("check_fraud", "charge", "send_receipt"):
        env.activity(name, lambda: "ok")
    return _ended(env.start("Payment", 5, id="payment"))


def payment_before(env: testing.Environment) -> testing.Run[Any]:
    env.workflow("Payment", before.payment)
    env.activity("charge", lambda: "ok")
    return _ended(env.start("Payment", 5, id="payment-before"))


def payment_open(env: testing.Environment) -> testing.Run[Any]:
    env.workflow("Payment", before.payment)
    env.activity("charge", lambda: "ok")
    return env.start("Payment", 5, id="payment-open")


def lease(env: testing.Environment) -> testing.Run[Any]:
    env.activity("rent", lambda: "flat 3")
    env.activity("give_back", lambda: None)
    run = env.start("Lease", id="lease")
    env.advance("1h")
    run.cancel("moved out")
    return _ended(run)


def lease_terminated(env: testing.Environment) -> testing.Run[Any]:
    env.activity("rent", lambda: "flat 3")
    run = env.start("Lease", id="lease-terminated")
    run.terminate("the house is gone")
    return run


def counter(env: testing.Environment) -> testing.Run[Any]:
    run = env.start("Counter", 1, id="counter")
    run.signal("add", 2)
    return run


def counter_end(env: testing.Environment) -> testing.Run[Any]:
    run = env.start("Counter", 1, id="counter-end")
    run.signal("add", 2)
    run.latest.signal("add", 9)
    return run.latest


def desk(env: testing.Environment) -> testing.Run[Any]:
    env.activity("cook", lambda dish: f"{dish}, cooked", takes="4m")
    run = env.start("Desk", id="desk", messages=[("order", "soup")])
    for dish in ("fish", "rice", "cake"):
        run.signal("order", dish)
    env.advance("6m")
    run.signal("stop")
    return _ended(run)


def together(env: testing.Environment) -> testing.Run[Any]:
    env.activity("left", lambda: "L", takes=2)
    env.activity("right", lambda: "R", takes=1)
    return _ended(env.start("Together", id="together"))


def boss(env: testing.Environment) -> testing.Run[Any]:
    return _ended(env.start("Boss", id="boss"))


def boss_helper(env: testing.Environment) -> testing.Run[Any]:
    return boss(env).children[0]


RECORDINGS: dict[str, Recording] = {
    function.__name__.replace("_", "-"): function
    for function in (
        order,
        order_refunded,
        fan,
        reminder,
        reminder_in_vain,
        family,
        chance,
        payment,
        payment_before,
        payment_open,
        lease,
        lease_terminated,
        counter,
        counter_end,
        desk,
        together,
        boss,
        boss_helper,
    )
}


def _ended(run: testing.Run[Any]) -> testing.Run[Any]:
    with suppress(RunFailedError, RunCancelledError):
        run.result()
    return run


def _refuse(kind: str) -> None:
    raise ApplicationError("not this one", kind=kind, retryable=False)


def _sold_out() -> None:
    _refuse("SOLD_OUT")


def _at_the_second_attempt(ctx: Any, input: Any) -> str:
    if ctx.attempt == 1:
        raise ConnectionError("no line")
    return "paid"


def _square_but_three(number: int) -> int:
    if number == 3:
        _refuse("UNLUCKY")
    return number * number


def main(names: list[str]) -> None:
    for name in names or RECORDINGS:
        file = HERE / f"{name}.json"
        if file.exists():
            continue
        with testing.Environment(registry=workflows.REGISTRY) as env:
            exported = RECORDINGS[name](env).export()
        file.write_text(json.dumps(exported, indent=1) + "\n")
        sys.stdout.write(f"{file.name}: {len(exported['events'])} events\n")


if __name__ == "__main__":
    main(sys.argv[1:])
