"""Woken by EventBridge: looks after timers and deadlines of queues that nobody polls."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from assay_engine import runtime
from assay_engine.app import recovery

logger = Logger(service="assay-tick")


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    ticked = recovery.tick(runtime.engine())
    if ticked.looked_at:
        logger.debug("settled what was overdue", looked_at=ticked.looked_at)
    return {"looked_at": ticked.looked_at}
