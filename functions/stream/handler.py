"""Fed by the table's stream: tells parents how their children ended. At least once."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from assay_engine import runtime
from assay_engine.app import notices
from assay_engine.store.changes import closed_heads


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    told = notices.closed(runtime.engine(), closed_heads(event["Records"]))
    return {"told": told}
