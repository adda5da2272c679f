"""The examples of docs/worker-protocol.md have the shapes that the specification promises."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay_engine.web import exchange_schema as schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "worker-protocol.md"
_BLOCK = re.compile(r"```json\n(.*?)```", re.DOTALL)
EXAMPLES = [json.loads(block) for block in _BLOCK.findall(PAGE.read_text("utf-8"))]
# What tells one example from another.
KINDS: dict[str, Any] = {
    "worker_id": schema.ExchangeRequest,
    "next_poll_secs": schema.ExchangeAnswer,
    "history_next": schema.ExchangeWorkflowTask,
    "max_attempts": schema.ExchangeActivityTask,
    "kind": schema.Report,
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: "-".join(list(example)[:3]))
def test_an_example_has_the_shape_of_the_specification(example: dict[str, Any]) -> None:
    (kind,) = [kind for field, kind in KINDS.items() if field in example]
    described = msgspec.convert(example, kind)
    assert example.items() <= msgspec.to_builtins(described).items()


def test_every_shape_has_an_example() -> None:
    found = {field for example in EXAMPLES for field in KINDS if field in example}
    assert found == KINDS.keys()


def test_every_field_of_a_report_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    missing = [name for name in schema.Report.__struct_fields__ if f"`{name}`" not in text]
    assert missing == []
