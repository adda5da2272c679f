"""Values too big for an item: in S3, or as files where `assay serve` runs without AWS.

A name always stands for the same bytes, so a second put of it has nothing to do.
"""

import os
import re
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from ..core.errors import AssayError, BusyError, InvalidError, NotFoundError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_PASSING = frozenset({"ConditionalRequestConflict", "SlowDown", "RequestTimeout"})
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class FileBlobs:
    """One file a value; a put that has returned survives a power cut."""

    def __init__(self, directory: Path | str) -> None:
        self._directory = Path(directory)

    def put(self, name: str, data: bytes) -> None:
        target = self._directory / _checked(name)
        if not target.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=self._directory, prefix=".new-", delete=False) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(file.name).replace(target)
        # Also where another put has just made it, and has not come as far as this.
        self._keep_names()

    def get(self, name: str) -> bytes:
        try:
            return (self._directory / _checked(name)).read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"no value {name}") from None

    def _keep_names(self) -> None:
        """A renamed file is only sure to have its name once the directory is written."""
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


class S3Blobs:
    """One object a value, under `prefix`."""

    def __init__(self, bucket: str, prefix: str = "", **client: Any) -> None:
        """`client`: what boto3.client takes besides, such as region_name and endpoint_url."""
        self._bucket = bucket
        self._prefix = prefix
        self._options = client
        self._creation = Lock()
        self._client: S3Client | None = None

    def put(self, name: str, data: bytes) -> None:
        key = self._prefix + _checked(name)
        try:
            self._s3().put_object(Bucket=self._bucket, Key=key, Body=data, IfNoneMatch="*")
        except (BotoCoreError, ClientError) as error:
            if _code(error) != "PreconditionFailed":
                raise _translated(error) from error

    def get(self, name: str) -> bytes:
        key = self._prefix + _checked(name)
        try:
            return self._s3().get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except (BotoCoreError, ClientError) as error:
            raise _translated(error) from error

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _s3(self) -> "S3Client":
        if self._client is None:
            # Cold start: most invocations never touch S3.
            import boto3  # noqa: PLC0415

            with self._creation:
                if self._client is None:
                    self._client = boto3.client("s3", **self._options)
        return self._client


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise InvalidError(f"{name!r} cannot name a value")
    return name


def _code(error: Exception) -> str:
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def _translated(error: BotoCoreError | ClientError) -> AssayError:
    code = _code(error)
    if code == "NoSuchKey":
        return NotFoundError("no such value")
    if not isinstance(error, ClientError) or code in _PASSING or _status(error) >= 500:
        return BusyError(f"S3 did not answer: {code or type(error).__name__}")
    return AssayError(f"S3 refused: {code}")


def _status(error: ClientError) -> int:
    return int(error.response["ResponseMetadata"].get("HTTPStatusCode", 0))
