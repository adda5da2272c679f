"""The engine about itself: health, version, its specification and the page that shows it."""

from functools import cache
from pathlib import Path

from aws_lambda_powertools.event_handler import Response, content_types

from assay_engine import __version__
from assay_engine.app.engine import Engine
from assay_engine.web import answers, records
from assay_engine.web.answers import Answer
from assay_engine.web.api import new_router
from assay_engine.web.request import Request

router = new_router()
core_router = new_router()

CORE = "/api/v1/engine/core"
MODULES = ["workflow"]
_FOLDER = Path(__file__).parent.parent


@router.get("/health")
def health(_: Request) -> Answer:
    return answers.ok(records.Health(status="ok", service="assay-workflow"))


@router.get("/version")
def version(_: Request) -> Answer:
    return answers.ok(records.Version(version=__version__, build_profile="release"))


@router.get("/openapi.json")
def specification(_: Request) -> Answer:
    return Response(200, content_types.APPLICATION_JSON, _file("openapi.json"))


@router.get("/docs")
def documentation(_: Request) -> Answer:
    return Response(200, "text/html; charset=utf-8", _file("docs.html"))


@core_router.get("/healthz")
def redirect_to_health(_: Request) -> Answer:
    return Response(308, content_types.APPLICATION_JSON, "{}", {"Location": f"{CORE}/health"})


@core_router.get(f"{CORE}/health")
def core_health(request: Request) -> Answer:
    instance_id, _ = _instance(request.engine)
    return answers.ok(
        records.CoreHealth(
            status="ok",
            engine_version=__version__,
            instance_id=instance_id,
            modules=MODULES,
            leader=True,
        )
    )


@core_router.get(f"{CORE}/info")
def core_info(request: Request) -> Answer:
    instance_id, started_at = _instance(request.engine)
    return answers.ok(
        records.CoreInfo(
            version=__version__,
            instance_id=instance_id,
            started_at=started_at,
            leader=True,
            modules=MODULES,
            backend_kind="dynamodb",
            backend_data_dir=None,
            backend_url_redacted=None,
            bind_addr=None,
            public_url=None,
        )
    )


@core_router.get(f"{CORE}/active-modules")
def active_modules(_: Request) -> Answer:
    return answers.ok(records.Modules(modules=MODULES))


@cache
def _file(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


_instances: list[tuple[str, float]] = []


def _instance(engine: Engine) -> tuple[str, float]:
    """A name for this process, and since when it has been asked: nothing here elects a leader."""
    if not _instances:
        _instances.append((engine.entropy.token(12), engine.now()))
    return _instances[0]
