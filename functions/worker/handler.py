"""What workers call: exchange and the legacy calls. Apart from `api`, so that the hot path
imports no more than it needs and scales by itself."""

from collections.abc import Mapping
from typing import Any

from assay_engine import runtime
from assay_engine.web.api import Api
from assay_engine.web.routes import tasks

app = Api(runtime.engine, routers=(tasks.router,))


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    return app.resolve(event, context)
