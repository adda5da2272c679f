"""What the engine says about itself."""

import pytest

import assay_engine
from tests.web.calls import LEGACY, NEWER, Calls


@pytest.mark.parametrize("prefix", [LEGACY, NEWER])
def test_health_and_version_are_under_both_prefixes(calls: Calls, prefix: str) -> None:
    below = Calls(prefix)
    assert below.get("/health").body == {"status": "ok", "service": "assay-workflow"}
    assert below.get("/version").body == {
        "version": assay_engine.__version__,
        "build_profile": "release",
    }


def test_healthz_points_to_the_health_of_the_core(calls: Calls) -> None:
    answer = calls.send("GET", "/healthz", at="")
    assert (answer.status, answer.headers["location"]) == (308, "/api/v1/engine/core/health")
    found = calls.send("GET", answer.headers["location"], at="").body
    assert sorted(found) == ["engine_version", "instance_id", "leader", "modules", "status"]


def test_the_core_tells_what_runs(calls: Calls) -> None:
    core = "/api/v1/engine/core"
    assert calls.send("GET", "/active-modules", at=core).body == {"modules": ["workflow"]}
    info = calls.send("GET", "/info", at=core).body
    assert sorted(info) == [
        "backend_data_dir",
        "backend_kind",
        "backend_url_redacted",
        "bind_addr",
        "instance_id",
        "leader",
        "modules",
        "public_url",
        "started_at",
        "version",
    ]


@pytest.mark.parametrize("prefix", [LEGACY, NEWER])
def test_the_docs_page_needs_nothing_from_elsewhere(calls: Calls, prefix: str) -> None:
    answer = Calls(prefix).get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert 'fetch("openapi.json")' in answer.body
    assert "http://" not in answer.body
    assert "https://" not in answer.body
