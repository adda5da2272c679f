"""The environment that the functions see: what `cdk deploy` sets on them, said for one process."""

from collections.abc import MutableMapping
from pathlib import Path
from urllib.parse import urlsplit

TABLE = "assay"


def prepare(environ: MutableMapping[str, str], *, endpoint: str, blobs: Path, shared: bool) -> None:
    """Set it, before any handler is imported. `shared`: others work on the same store."""
    environ.setdefault("ASSAY_TABLE", TABLE)
    environ["ASSAY_DYNAMODB_ENDPOINT"] = endpoint
    environ["ASSAY_WAKEUPS"] = "shared" if shared else "local"
    if shared:
        # Who shares a store may share a bucket too.
        environ.setdefault("ASSAY_BLOBS", f"file://{blobs}")
    else:
        environ["ASSAY_BLOBS"] = f"file://{blobs}"
        environ.pop("AWS_PROFILE", None)
    if not _is_aws(endpoint) and "AWS_PROFILE" not in environ:
        # Stores outside AWS want some credentials, and take any.
        environ.setdefault("AWS_ACCESS_KEY_ID", "local")
        environ.setdefault("AWS_SECRET_ACCESS_KEY", "local")
    if "AWS_REGION" not in environ:
        environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    environ.setdefault("AWS_EC2_METADATA_DISABLED", "true" if not _is_aws(endpoint) else "false")
    _hush_powertools(environ)


def _hush_powertools(environ: MutableMapping[str, str]) -> None:
    environ.setdefault("POWERTOOLS_SERVICE_NAME", "assay")
    environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")
    environ.setdefault("POWERTOOLS_METRICS_DISABLED", "true")
    environ.setdefault("POWERTOOLS_LOG_LEVEL", "WARNING")


def _is_aws(endpoint: str) -> bool:
    return ".amazonaws.com" in (urlsplit(endpoint).hostname or "")
