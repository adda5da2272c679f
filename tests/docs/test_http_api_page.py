"""docs/http-api.md names every call, every error code and every field of a body."""

import re
from pathlib import Path

from assay_engine.web import errors
from assay_engine.web.operations import OPERATIONS, ROOT_OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "http-api.md").read_text("utf-8")
ENGINE = ROOT / "layers" / "engine" / "python" / "assay_engine"
_CODE = re.compile(r'\bcode\s*=\s*"(\w+)"')
_ROW = re.compile(r"^\| (\d{3}) \| `(\w+)` \|", re.MULTILINE)
_CALL = re.compile(r"`(GET|POST|DELETE|PATCH|PUT) (/[^`]*)`")


def _shown(path: str) -> str:
    return re.sub(r"<(\w+)>", r"{\1}", path)


def _calls() -> set[tuple[str, str]]:
    operations = {**OPERATIONS, **ROOT_OPERATIONS}
    return {(method, _shown(path)) for method, path in operations}


def test_every_call_is_on_the_page_and_no_other() -> None:
    assert set(_CALL.findall(PAGE)) == _calls()


def test_every_error_code_is_on_the_page_and_no_other() -> None:
    sources = [path for part in ("core", "app", "web") for path in (ENGINE / part).rglob("*.py")]
    used = {code for path in sources for code in _CODE.findall(path.read_text("utf-8"))}
    assert {code for _, code in _ROW.findall(PAGE)} == used


def test_every_status_that_an_error_can_have_is_on_the_page() -> None:
    assert {int(status) for status, _ in _ROW.findall(PAGE)} == {*errors.STATUSES.values(), 500}


def test_every_field_of_a_body_is_in_the_row_of_its_call() -> None:
    for (method, path), operation in OPERATIONS.items():
        if operation.body is None or operation.id == "exchange":
            continue
        call = f"`{method} {_shown(path)}`"
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {call} |")]
        missing = [name for name in operation.body.__struct_fields__ if f"`{name}`" not in row]
        assert (call, missing) == (call, [])
