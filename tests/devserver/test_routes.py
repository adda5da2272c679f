import pytest

from assay_devserver.routes import route


@pytest.mark.parametrize("prefix", ["/api/v1", "/api/v1/engine/workflow"])
@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/workers/exchange", "/workers/exchange"),
        ("/workers/register", "/workers/register"),
        ("/workers/heartbeat", "/workers/heartbeat"),
        ("/workflow-tasks/poll", "/workflow-tasks/{proxy+}"),
        ("/workflow-tasks/a/b/commands", "/workflow-tasks/{proxy+}"),
        ("/tasks/17/complete", "/tasks/{proxy+}"),
    ],
)
def test_a_workers_calls_go_to_the_worker_function(prefix, path, pattern):
    found = route("POST", prefix + path)
    assert (found.function, found.key) == ("worker", f"POST {prefix}{pattern}")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/workers"),
        ("GET", "/api/v1/workers/exchange"),
        ("POST", "/api/v1/workers/exchange/more"),
        ("POST", "/api/v1/tasks/"),
        ("POST", "/api/v1/tasks"),
        ("POST", "/api/v1/workflows"),
        ("POST", "/api/v2/tasks/poll"),
        ("TRACE", "/"),
        ("GET", "/openapi.json"),
    ],
)
def test_everything_else_goes_to_the_api_function(method, path):
    found = route(method, path)
    assert (found.function, found.key) == ("api", "$default")
