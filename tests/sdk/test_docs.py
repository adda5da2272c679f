"""The code in docs/sdk.md runs, and its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from assay import workflow
from assay.client import Client
from assay.worker import WorkerOptions

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sdk.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> workflow.Registry:
    fresh = workflow.Registry()
    monkeypatch.setattr(workflow, "default_registry", fresh)
    return fresh


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_page_runs(number: int, registry: workflow.Registry) -> None:
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[number], f"docs/sdk.md block {number}", "exec"), names)

    assert any(callable(value) for value in names.values())


def test_the_workflow_of_the_page_refers_only_to_what_exists(
    registry: workflow.Registry,
) -> None:
    for block in BLOCKS:
        for name in re.findall(r"\b(?:workflow|errors|activity)\.(\w+)", block):
            module = re.search(rf"\b(workflow|errors|activity)\.{name}", block)
            assert module is not None
            assert hasattr(__import__(f"assay.{module.group(1)}", fromlist=[name]), name)


def test_the_table_of_the_context_is_complete() -> None:
    public = {name for name in vars(workflow.Context) if not name.startswith("_")} | {"info"}
    told = set(re.findall(r"`(?:await )?(\w+)[(`]", PAGE))

    assert public <= told


def test_the_table_of_the_worker_is_complete() -> None:
    told = set(re.findall(r"^\| `(\w+)` \| \d", PAGE, re.MULTILINE))

    assert told == set(WorkerOptions.__annotations__) - {"clock"}


def test_the_calls_of_the_client_are_named() -> None:
    public = {name for name in vars(Client) if not name.startswith("_")}

    assert {name for name in public if f"`{name}" not in PAGE} == {"close"}
