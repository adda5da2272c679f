from pathlib import Path

import pytest

from assay_devserver import environment

BLOBS = Path("/data/blobs")
QUIET = {
    "POWERTOOLS_SERVICE_NAME": "assay",
    "POWERTOOLS_TRACE_DISABLED": "true",
    "POWERTOOLS_METRICS_DISABLED": "true",
    "POWERTOOLS_LOG_LEVEL": "WARNING",
}
LOCAL_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def prepared(given, *, endpoint="http://127.0.0.1:4000", shared=False):
    environ = dict(given)
    environment.prepare(environ, endpoint=endpoint, blobs=BLOBS, shared=shared)
    return environ


def test_an_embedded_store_is_ours_whatever_the_shell_says():
    given = {"AWS_PROFILE": "work", "ASSAY_BLOBS": "s3://bucket", "ASSAY_WAKEUPS": "shared"}
    assert prepared(given) == {
        "ASSAY_TABLE": "assay",
        "ASSAY_DYNAMODB_ENDPOINT": "http://127.0.0.1:4000",
        "ASSAY_BLOBS": "file:///data/blobs",
        "ASSAY_WAKEUPS": "local",
        **LOCAL_CREDENTIALS,
        **QUIET,
    }


def test_a_shared_store_may_have_its_own_bucket_and_credentials():
    given = {"AWS_PROFILE": "work", "ASSAY_BLOBS": "s3://bucket", "AWS_REGION": "eu-west-1"}
    endpoint = "https://dynamodb.eu-west-1.amazonaws.com"
    assert prepared(given, endpoint=endpoint, shared=True) == {
        **given,
        "ASSAY_TABLE": "assay",
        "ASSAY_DYNAMODB_ENDPOINT": endpoint,
        "ASSAY_WAKEUPS": "shared",
        "AWS_EC2_METADATA_DISABLED": "false",
        **QUIET,
    }


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "ASSAY_TABLE", "POWERTOOLS_LOG_LEVEL"])
def test_what_the_shell_sets_stays(name):
    assert prepared({name: "mine"})[name] == "mine"
