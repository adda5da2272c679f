"""The smallest worker: one workflow, one activity."""

from __future__ import annotations

import logging
import os

from assay import Client, Worker, workflow


@workflow.define("Hello")
async def hello(ctx: workflow.Context, name: str) -> str:
    return await ctx.execute_activity(greet, name)


@workflow.activity("greet")
def greet(name: str) -> str:
    return f"Hello, {name}!"


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue="default").run()


if __name__ == "__main__":
    main()
