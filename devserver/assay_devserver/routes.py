"""Which function serves a call: the same routes as the HTTP API in infra/ has."""

from dataclasses import dataclass

PREFIXES = ("/api/v1", "/api/v1/engine/workflow")
# The hot path. Everything else, wrong methods included, is the api function's.
WORKER_PATHS = (
    "/workers/exchange",
    "/workers/register",
    "/workers/heartbeat",
    "/workflow-tasks/{proxy+}",
    "/tasks/{proxy+}",
)
DEFAULT_KEY = "$default"


@dataclass(frozen=True, slots=True)
class Route:
    function: str
    key: str


WORKER_ROUTES = tuple(
    Route("worker", f"POST {prefix}{path}") for prefix in PREFIXES for path in WORKER_PATHS
)
DEFAULT_ROUTE = Route("api", DEFAULT_KEY)

_EXACT = {route.key: route for route in WORKER_ROUTES if not route.key.endswith("{proxy+}")}
_GREEDY = tuple(
    (route.key.removesuffix("{proxy+}"), route)
    for route in WORKER_ROUTES
    if route.key.endswith("{proxy+}")
)


def route(method: str, path: str) -> Route:
    call = f"{method} {path}"
    if exact := _EXACT.get(call):
        return exact
    for start, greedy in _GREEDY:
        if call.startswith(start) and len(call) > len(start):
            return greedy
    return DEFAULT_ROUTE
