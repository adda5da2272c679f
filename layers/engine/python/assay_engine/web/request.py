"""One request as the routes see it: its engine, its query, its body. Knows API Gateway's
event, not what any call means."""

import base64
import re
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from assay_engine.app.engine import Engine
from assay_engine.app.names import RunRef
from assay_engine.core import ids, limits
from assay_engine.core.errors import AssayError, InvalidError
from assay_engine.web import json_body

T = TypeVar("T", bound=msgspec.Struct)

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
INT64 = range(-(2**63), 2**63)


def integer(text: str, what: str, allowed: range = INT64) -> int:
    """`text` as a number out of `allowed`; a clear 400 otherwise."""
    # Longer texts cannot fit, and Python refuses to convert the very long ones.
    if len(text) > 40 or _INTEGER.fullmatch(text) is None or int(text) not in allowed:
        raise InvalidError(f"{what}: cannot read {text[:40]!r} as a number here")
    return int(text)


class Request:
    """A request while it is answered. Routes get it as their first argument."""

    def __init__(
        self, engine: Engine, event: APIGatewayProxyEventV2, context: object = None
    ) -> None:
        self.engine = engine
        self._event = event
        self._context = context
        self._pairs: list[tuple[str, str]] | None = None

    def caller_gone(self) -> bool:
        """Whether nobody reads the answer any more; `assay serve` can tell, Lambda cannot."""
        gone = getattr(self._context, "caller_gone", None)
        return bool(gone()) if callable(gone) else False

    def query(self, name: str) -> str | None:
        """A query parameter; unknown ones are never asked for, so they are ignored."""
        if self._pairs is None:
            text = str(self._event.raw_event.get("rawQueryString") or "")
            self._pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
        found = [value for key, value in self._pairs if key == name]
        if len(found) > 1:
            raise InvalidError(f"query parameter `{name}` is given {len(found)} times")
        return found[0] if found else None

    def query_integer(self, name: str, allowed: range = INT64) -> int | None:
        text = self.query(name)
        return None if text is None else integer(text, name, allowed)

    def query_number(self, name: str, allowed: tuple[float, float]) -> float | None:
        text = self.query(name)
        if text is None:
            return None
        low, high = allowed
        if _NUMBER.fullmatch(text) is None or not low <= float(text) <= high:
            raise InvalidError(f"{name}: {text[:40]!r} is no number from {low:g} to {high:g}")
        return float(text)

    def namespace(self) -> str:
        """The namespace a list is asked for."""
        given = self.query("namespace")
        return limits.DEFAULT_NAMESPACE if given is None else ids.check_name(given, "namespace")

    def text_id(self, in_path: str, what: str) -> str:
        """An id: `?id=` wins over the path, where `?` and `#` cannot stand."""
        given = self.query("id")
        return ids.check_name(in_path if given is None else given, what)

    def run(self, in_path: str) -> RunRef:
        """The run a by-id call means."""
        namespace = self.query("namespace")
        if namespace is not None:
            ids.check_name(namespace, "namespace")
        return RunRef(run_id=self.text_id(in_path, "workflow id"), namespace=namespace)

    def incarnation(self, in_path: str) -> RunRef:
        """The run a reading call means: the newest with its id, or the one named by `?run_id=`."""
        given = self.query("run_id")
        return replace(self.run(in_path), incarnation=given)

    def body(self, kind: type[T]) -> T:
        """The body, which has to be there."""
        raw = self._checked()
        json_body.check_content_type(self._content_type())
        return json_body.decode(raw, kind)

    def optional_body(self, kind: type[T]) -> T:
        """The body of a call that needs no fields: empty, null, [] and {} all mean none."""
        raw = self._checked()
        if raw.strip() in json_body.NO_FIELDS:
            return kind()
        return self.body(kind)

    def tolerated_body(self, kind: type[T]) -> T:
        """The body of a call that is never refused for what it says."""
        raw = self._checked()
        try:
            return json_body.decode(raw, kind)
        except AssayError:
            return kind()

    def body_object(self) -> dict[str, Any]:
        """The body as an object whose fields the use case checks."""
        raw = self._checked()
        json_body.check_content_type(self._content_type())
        return json_body.decode_object(raw)

    def _checked(self) -> bytes:
        text = str(self._event.raw_event.get("body") or "")
        if self._event.raw_event.get("isBase64Encoded"):
            raw = base64.b64decode(text)
        else:
            raw = text.encode("utf-8", "surrogatepass")
        json_body.check_size(raw)
        return raw

    def _content_type(self) -> str | None:
        return self._event.headers.get("content-type")
