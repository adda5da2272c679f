"""A counter that lives as a workflow: it is asked to change, and replies with its value."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from assay import Client, Worker, workflow


@dataclass(frozen=True)
class Start:
    initial: int = 0


@dataclass(frozen=True)
class Final:
    counter: int


@workflow.define("Counter")
async def counter(ctx: workflow.Context, start: Start) -> Final:
    value = start.initial
    async for message in ctx.inbox():
        match message.name, message.payload:
            case "increment", {"amount": int(amount)}:
                value += amount
                message.reply({"value": value})
            case "decrement", {"amount": int(amount)} if amount > value:
                message.reject("would result in a negative value", kind="OUT_OF_RANGE")
            case "decrement", {"amount": int(amount)}:
                value -= amount
                message.reply({"value": value})
            case "finish", _:
                message.reply({"message": "finishing"})
                break
            case (("increment" | "decrement"), _):
                message.reject("amount must be a whole number", kind="INVALID")
            case _:
                message.reject(f"unknown request {message.name}", kind="NOT_FOUND")
    return Final(value)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue="default").run()


if __name__ == "__main__":
    main()
