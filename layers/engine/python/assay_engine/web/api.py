"""Which function answers a request: routing on Powertools, with two rules of our own.

An id may hold anything, `/` too, so `<id>` matches everything and the known suffixes decide:
the most specific rule that fits a path owns it, and a method it lacks is a 405. And many
requests are answered at once (`assay serve`), while Powertools keeps the current one in
attributes of classes; here nothing about a request is kept anywhere.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import ResponseBuilder, Route, Router
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from assay_engine.app.engine import Engine
from assay_engine.core.errors import InvalidError, NotFoundError
from assay_engine.web import errors
from assay_engine.web.request import Request

PREFIXES = ("/api/v1", "/api/v1/engine/workflow")
_PLACEHOLDER = re.compile(r"<(\w+)>")
Methods = dict[str, Route]


def new_router() -> Router:
    return Router()  # type: ignore[no-untyped-call]


class Api(APIGatewayHttpResolver):
    """Answers API Gateway's events with the routes it was given."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        routers: Iterable[Router],
        roots: Iterable[Router] = (),
    ) -> None:
        """`routers` are served under both prefixes, `roots` as they stand."""
        super().__init__()
        self.engine = engine
        for router in roots:
            self.include_router(router)
        for router in routers:
            for prefix in PREFIXES:
                self.include_router(router, prefix=prefix)
        self._static = _by_path(self._static_routes)
        self._dynamic = sorted(_by_path(self._dynamic_routes).items(), key=_specific_first)

    def resolve(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        proxy = APIGatewayProxyEventV2(dict(event))
        method = proxy.http_method.upper()
        try:
            response = self._answer(proxy, method, context)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever it is becomes an answer
            response = errors.answer(error)
        if method == "HEAD":
            response.body = ""
        builder: ResponseBuilder[APIGatewayProxyEventV2] = ResponseBuilder(response)
        return builder.build(proxy)

    def _answer(self, proxy: APIGatewayProxyEventV2, method: str, context: Any) -> Response[str]:
        methods, ids = self._match(proxy.path)
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            allow = ",".join(_allowed(methods))
            raise errors.MethodError(f"{method} is not allowed here, {allow} is", allow=allow)
        response: Response[str] = route.func(Request(self.engine(), proxy, context), **ids)
        return response

    def _match(self, path: str) -> tuple[Methods, dict[str, str]]:
        if path in self._static:
            return self._static[path], {}
        for _, methods in self._dynamic:
            found = next(iter(methods.values())).rule.match(path)
            if found:
                return methods, _readable(found.groupdict())
        raise NotFoundError("no such route")

    @staticmethod
    def _compile_regex(rule: str, base_regex: str = "") -> re.Pattern[str]:  # noqa: ARG004
        """`<id>` matches anything, also nothing; at the end of a rule not a trailing slash."""
        parts = _PLACEHOLDER.split(rule)
        pattern = "".join(
            f"(?P<{part}>.*)" if index % 2 else re.escape(part) for index, part in enumerate(parts)
        )
        if not parts[-1] and len(parts) > 1:
            pattern = pattern.removesuffix(".*)") + ".*[^/])"
        return re.compile(pattern + r"\Z", re.DOTALL)


def _by_path(routes: Iterable[Route]) -> dict[str, Methods]:
    found: dict[str, Methods] = {}
    for route in routes:
        found.setdefault(route.path, {})[route.method] = route
    return found


def _specific_first(item: tuple[str, Methods]) -> tuple[int, int]:
    literals = _PLACEHOLDER.split(item[0])[::2]
    return -len(literals), -sum(map(len, literals))


def _allowed(methods: Methods) -> Iterable[str]:
    for method in methods:
        yield method
        if method == "GET":
            yield "HEAD"


def _readable(ids: dict[str, str]) -> dict[str, str]:
    try:
        "".join(ids.values()).encode()
    except UnicodeEncodeError:
        raise InvalidError("the path is not UTF-8") from None
    return ids
