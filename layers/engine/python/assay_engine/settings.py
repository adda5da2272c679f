"""The environment, parsed once into typed settings. Nothing else reads os.environ."""

from collections.abc import Mapping
from dataclasses import dataclass


class SettingError(ValueError):
    """A variable that cannot be read; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    table: str = "assay"
    region: str = "us-east-1"
    dynamodb_endpoint: str | None = None
    blobs: str | None = None
    """`s3://bucket/prefix` or `file:///directory`."""
    wakeups: str = "none"
    """`local`: one process serves the table; `shared`: several do; `none`: functions in AWS."""
    lease_secs: float = 30.0
    mark_key: str = ""


def from_environment(environ: Mapping[str, str]) -> Settings:
    wakeups = environ.get("ASSAY_WAKEUPS", "none")
    if wakeups not in ("none", "local", "shared"):
        raise SettingError("ASSAY_WAKEUPS must be none, local or shared")
    return Settings(
        table=environ.get("ASSAY_TABLE", "assay"),
        region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        dynamodb_endpoint=environ.get("ASSAY_DYNAMODB_ENDPOINT") or None,
        blobs=environ.get("ASSAY_BLOBS") or None,
        wakeups=wakeups,
        lease_secs=_positive(environ, "ASSAY_WF_DISPATCH_TIMEOUT_SECS", 30.0),
        mark_key=environ.get("ASSAY_MARK_KEY", ""),
    )


def _positive(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 86_400.0:
        raise SettingError(f"{name} must be a number of seconds above 0, not {text!r}")
    return value
