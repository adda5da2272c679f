"""A worker with the Python SDK: `python -m tests.crash.exchange_worker URL JOURNAL`."""

import os
import sys
from typing import Any

from assay import Client, Worker, activity, workflow
from tests.crash.journal import Journal

OPTIONS = workflow.ActivityOptions(max_attempts=20, initial_interval_secs=0.1)


def main(url: str, path: str) -> None:
    journal = Journal(path)

    @workflow.define("Pay")
    async def pay(ctx: workflow.Context, _input: Any) -> dict[str, Any]:
        token = await ctx.side_effect("token", lambda: os.urandom(8).hex())
        await ctx.wait_for_signal("go")
        with workflow.unguarded():
            journal.hang("workflow task")
        charged = await ctx.execute_activity("charge", token, **OPTIONS)
        shipped = await ctx.execute_activity("ship", token, **OPTIONS)
        return {"token": token, "charged": charged, "shipped": shipped}

    @workflow.activity("charge")
    def charge(ctx: activity.Context, token: str) -> str:
        journal.note("charge", ctx.workflow_id, ctx.attempt)
        journal.hang("activity")
        return f"charged {token}"

    @workflow.activity("ship")
    def ship(ctx: activity.Context, token: str) -> str:
        journal.note("ship", ctx.workflow_id, ctx.attempt)
        return f"shipped {token}"

    @workflow.define("Family")
    async def family(ctx: workflow.Context, _input: Any) -> str:
        child = f"{ctx.workflow_id}-child"
        return str(await ctx.start_child_workflow("Child", workflow_id=child, input=child))

    @workflow.define("Child")
    async def child(ctx: workflow.Context, name: str) -> str:
        return str(await ctx.execute_activity("ship", name))

    with Client(url) as client:
        Worker(client, queue="payments", wait_secs=1).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
