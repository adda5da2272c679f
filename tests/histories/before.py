"""A workflow as it was before it was changed: what `payment-before.json` was recorded with."""

from __future__ import annotations

from typing import Any

from assay import workflow

REGISTRY = workflow.Registry()


@REGISTRY.define("Payment")
async def payment(ctx: workflow.Context, input: Any) -> Any:
    paid = await ctx.execute_activity("charge", input)
    await ctx.sleep(60)
    return paid
