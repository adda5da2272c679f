"""Management calls over HTTP, and what reaches no other function: it knows every route, so that
a wrong method on a worker's path is told so. Wiring only: `web` decides."""

from collections.abc import Mapping
from typing import Any

from assay_engine import runtime
from assay_engine.web.api import Api
from assay_engine.web.routes import history, meta, namespaces, runs, tasks, workers

app = Api(
    runtime.engine,
    routers=(
        meta.router,
        runs.router,
        history.router,
        workers.router,
        namespaces.router,
        tasks.router,
    ),
    roots=(meta.core_router,),
)


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    return app.resolve(event, context)
