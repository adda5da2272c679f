"""Reserve, charge, ship; what was done is undone, the last thing first, when a step fails."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from assay import Client, Worker, workflow

logger = logging.getLogger("order-saga")


@dataclass(frozen=True)
class Order:
    id: str
    total: int
    address: str


@dataclass(frozen=True)
class Receipt:
    payment: str
    tracking: str


@workflow.define("Order")
async def order(ctx: workflow.Context, order: Order) -> Receipt:
    async with workflow.Saga() as saga:
        reservation = await ctx.execute_activity(reserve_inventory, order)
        saga.compensate(ctx.execute_activity, release_inventory, reservation)

        payment = await ctx.execute_activity(charge_payment, order)
        saga.compensate(ctx.execute_activity, refund_payment, payment)

        tracking = await ctx.execute_activity(ship_order, order, max_attempts=2)
    return Receipt(payment, tracking)


@workflow.activity("reserve_inventory")
def reserve_inventory(order: Order) -> str:
    return f"reservation of {order.id}"


@workflow.activity("release_inventory")
def release_inventory(reservation: str) -> None:
    logger.info("released: %s", reservation)


@workflow.activity("charge_payment")
def charge_payment(order: Order) -> str:
    if order.total > 1000:
        raise workflow.ApplicationError("over the limit", kind="CARD_DECLINED", retryable=False)
    return f"payment of {order.total}"


@workflow.activity("refund_payment")
def refund_payment(payment: str) -> None:
    logger.info("refunded: %s", payment)


@workflow.activity("ship_order")
def ship_order(order: Order) -> str:
    if order.address == "nowhere":
        raise workflow.ApplicationError("no such place", kind="NOT_FOUND", retryable=False)
    return f"parcel {order.id}"


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    url = os.environ.get("ASSAY_ENGINE_URL", "http://127.0.0.1:8080")
    Worker(Client(url), queue="default").run()


if __name__ == "__main__":
    main()
