"""What may differ between two deployments, read once from the CDK context (`-c name=staging`)."""

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Node

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    name: str = "assay"
    lease_secs: int = 30
    memory_mb: int = 256

    @classmethod
    def from_context(cls, node: Node) -> "Config":
        given = {name: node.try_get_context(name) for name in ("name", "lease_secs", "memory_mb")}
        default = cls()
        return cls(
            name=str(given["name"] or default.name),
            lease_secs=int(given["lease_secs"] or default.lease_secs),
            memory_mb=int(given["memory_mb"] or default.memory_mb),
        )


RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64
# An HTTP API gives up after 30 s, and that is not raisable.
HTTP_TIMEOUT = Duration.seconds(29)
BACKGROUND_TIMEOUT = Duration.seconds(60)
