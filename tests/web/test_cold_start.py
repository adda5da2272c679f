"""The worker function loads no more than the hot path needs."""

import json
import subprocess
import sys

HEAVY = (
    "pydantic",
    "jwt",
    "cryptography",
    "croniter",
    "httpx",
    "moto",
    "assay_engine.web.openapi",
    "assay_engine.web.operations",
    "assay_engine.app.queries",
)


def test_the_worker_function_imports_nothing_that_only_others_need() -> None:
    code = (
        "import json, sys, assay_functions.worker.handler;"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert json.loads(loaded.stdout) == []
