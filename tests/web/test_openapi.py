"""The specification: not stale, complete, valid, and good enough for a generator."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from assay_functions.api import handler as api
from openapi_spec_validator import validate

from assay_engine.web import openapi
from assay_engine.web.api import PREFIXES
from tests.web.calls import LEGACY, Calls

SPEC = json.loads(openapi.PATH.read_text("utf-8"))
CLIENT = Path(__file__).with_name("generated_client_use.py")


def _served() -> set[tuple[str, str]]:
    routes = [*api.app._static_routes, *api.app._dynamic_routes]
    return {(route.method, route.openapi_path) for route in routes}


def _described() -> set[tuple[str, str]]:
    return {
        (method.upper(), server["url"].rstrip("/") + path)
        for path, methods in SPEC["paths"].items()
        for method, operation in methods.items()
        for server in operation.get("servers", SPEC["servers"])
    }


def test_the_committed_specification_is_what_the_code_says() -> None:
    again = "run `python -m assay_engine.web.openapi`"
    assert openapi.PATH.read_text("utf-8") == openapi.text(), again


def test_the_specification_is_valid_openapi() -> None:
    validate(SPEC)


def test_every_served_route_is_described_and_no_other() -> None:
    assert _described() == _served()
    assert [server["url"] for server in SPEC["servers"]] == sorted(PREFIXES, reverse=True)


def test_every_operation_has_a_name_a_tag_an_answer_and_its_errors() -> None:
    operations = [one for methods in SPEC["paths"].values() for one in methods.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    for one in operations:
        assert one["tags"]
        assert one["summary"]
        assert {"400", "500", "503"} < one["responses"].keys()
        assert all("schema" in next(iter(r["content"].values())) for r in one["responses"].values())


def test_the_example_of_every_body_is_accepted(calls: Calls) -> None:
    calls.start("run")
    for path, methods in SPEC["paths"].items():
        for method, operation in methods.items():
            if "requestBody" not in operation:
                continue
            example = operation["requestBody"]["content"]["application/json"]["example"]
            place = re.sub(r"\{(\w+)\}", lambda m: {"activity_id": "1"}.get(m[1], "run"), path)
            answer = calls.send(
                method.upper(),
                place,
                json.dumps(example).encode(),
                {"content-type": "application/json"},
            )
            assert answer.status not in (400, 415, 422, 500), (path, answer)


def test_the_served_specification_is_the_committed_one(calls: Calls) -> None:
    assert calls.get("/openapi.json").body == SPEC


class _Bridge(BaseHTTPRequestHandler):
    """A socket in front of the handlers, for a client that speaks HTTP."""

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        answer = Calls("").send(
            self.command, self.path, self.rfile.read(length), dict(self.headers.items())
        )
        body = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("content-type", answer.headers["content-type"])
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url(calls: Calls) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bridge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{LEGACY}"
    server.shutdown()
    server.server_close()


def test_a_generated_client_starts_and_describes_a_run(url: str, tmp_path: Path) -> None:
    target = tmp_path / "client"
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    config = tmp_path / "config.yml"
    config.write_text("post_hooks: []\n")
    generated = subprocess.run(
        [*command, "--path", openapi.PATH, "--output-path", target, "--config", config],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (generated.returncode, "WARNING" in generated.stdout) == (0, False), generated.stdout
    used = subprocess.run(
        [sys.executable, CLIENT, url],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (used.returncode, used.stdout) == (0, "PENDING Order generated-1\n"), used.stderr
