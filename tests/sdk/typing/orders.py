"""A user's file, as mypy --strict sees it. `error:` names what must be found in that line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from assay import workflow
from assay.async_client import AsyncClient
from assay.client import Client, RetryPolicy, Workflow, WorkflowHandle


@dataclass
class Order:
    total: int


@dataclass
class Parcel:
    number: str


@workflow.define("Order")
async def order(ctx: workflow.Context, input: Order) -> Parcel:
    return Parcel(str(input.total))


@workflow.define("Count")
async def count(ctx: workflow.Context, start: int | None = None) -> int:
    return start or 0


@workflow.define("Plain")
async def plain(input: Order) -> str:
    return str(input.total)


@workflow.define("Tick")
async def tick(ctx: workflow.Context) -> None:
    return None


def use(client: Client) -> None:
    handle = client.start(order, Order(5), id="order-7", run_timeout="1h")
    assert_type(handle, WorkflowHandle[Parcel])
    assert_type(handle.result(timeout=60), Parcel)
    assert_type(handle.describe(), Workflow)
    assert_type(client.start(order, input=Order(5)).result(), Parcel)
    assert_type(client.execute(order, Order(5), timeout="1m"), Parcel)
    assert_type(client.execute(count), int)
    assert_type(client.execute(count, None), int)
    assert_type(client.execute(count, 5), int)
    assert_type(client.execute(plain, Order(5)), str)
    assert_type(client.start(tick, retry_policy=RetryPolicy(maximum_attempts=3)).result(), None)
    assert_type(client.start("Order", {"total": 5}).result(), Any)
    assert_type(client.get_handle("order-7").result(), Any)
    assert_type(client.list(status="RUNNING", limit=5), list[Workflow])


async def use_async(client: AsyncClient) -> None:
    handle = await client.start(order, Order(5), id="order-7")
    assert_type(await handle.result(timeout=60), Parcel)
    assert_type(await client.execute(order, Order(5)), Parcel)
    assert_type(await client.describe("order-7"), Workflow)


def misuse(client: Client, handle: WorkflowHandle[Parcel]) -> None:
    client.start(order, "five")  # error: arg-type
    client.start(order)  # error: arg-type
    client.start(plain, 5)  # error: arg-type
    client.execute(order, 5)  # error: arg-type
    client.start(order, Order(5), run_timout=5)  # error: call-overload
    client.start("Order", id_conflict_policy="maybe")  # error: call-overload
    assert client.start(order, Order(5)).result().weight  # error: attr-defined
    client.describe(5)  # error: arg-type
    client.list(state="RUNNING")  # error: call-arg
    client.schedules.patch("nightly", cron=5)  # error: call-arg
    handle.request("add", timeout=[])  # error: arg-type


async def misuse_async(client: AsyncClient) -> None:
    await client.start(order, "five")  # error: arg-type
    assert (await client.execute(order, Order(5))).weight  # error: attr-defined
