"""Values too big for an item, as files and in S3."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import boto3
import pytest

from assay_engine.app.ports import Blobs
from assay_engine.aws.blobs import FileBlobs, S3Blobs
from assay_engine.core.errors import BusyError, InvalidError, NotFoundError
from tests.store import servers
from tests.store.scripted import Reply, scripted

DATA = bytes(range(256)) * 1000
NAME = sha256(DATA).hexdigest()


def s3_at(endpoint: str, prefix: str) -> S3Blobs:
    return S3Blobs(
        "values",
        prefix,
        region_name="us-east-1",
        endpoint_url=endpoint,
        aws_access_key_id="any",
        aws_secret_access_key="thing",
    )


@pytest.fixture(params=["files", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    if request.param == "files":
        yield FileBlobs(tmp_path / "not" / "yet")
        return
    with servers.moto() as endpoint:
        # moto's buckets are those of the process, whichever server shows them.
        blobs = s3_at(endpoint, f"{tmp_path.name}/")
        s3 = boto3.client(
            "s3",
            region_name="us-east-1",
            endpoint_url=endpoint,
            aws_access_key_id="any",
            aws_secret_access_key="thing",
        )
        s3.create_bucket(Bucket="values")
        s3.close()
        yield blobs
        blobs.close()


def test_a_value_is_read_as_it_was_put(blobs: Blobs) -> None:
    blobs.put(NAME, DATA)
    blobs.put("empty", b"")
    assert blobs.get(NAME) == DATA
    assert blobs.get("empty") == b""


def test_a_put_may_be_repeated_and_the_first_one_stays(blobs: Blobs) -> None:
    blobs.put(NAME, DATA)
    blobs.put(NAME, b"other")
    assert blobs.get(NAME) == DATA


def test_a_value_that_is_not_there_is_not_found(blobs: Blobs) -> None:
    with pytest.raises(NotFoundError):
        blobs.get(NAME)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".new-x", "a\n", "/etc/passwd"])
def test_a_name_is_never_a_path(blobs: Blobs, name: str) -> None:
    with pytest.raises(InvalidError):
        blobs.put(name, DATA)
    with pytest.raises(InvalidError):
        blobs.get(name)


def test_files_are_whole_or_not_there(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    blobs.put(NAME, DATA)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    # What a crash leaves behind is no value, and does not stand in its way.
    (tmp_path / ".new-abc").write_bytes(DATA[:10])
    (tmp_path / NAME).unlink()
    blobs.put(NAME, DATA)
    assert blobs.get(NAME) == DATA


def test_a_bucket_that_does_not_answer_is_busy() -> None:
    with scripted(Reply(status=503)) as script:
        blobs = s3_at(script.endpoint, "")
        with pytest.raises(BusyError):
            blobs.get(NAME)
        blobs.close()
