"""The Lambda functions, alike in everything but their trigger."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.config import ARCHITECTURE, ROOT, RUNTIME, Config
from infra.constructs.layers import dependencies_layer, engine_layer


class Functions(Construct):
    """Makes functions that share layers, environment and size."""

    def __init__(
        self, scope: Construct, id: str, *, config: Config, environment: dict[str, str]
    ) -> None:
        super().__init__(scope, id)
        self._config = config
        self._environment = environment
        self._layers = [dependencies_layer(self), engine_layer(self)]

    def make(self, trigger: str, timeout: Duration) -> lambda_.Function:
        name = trigger.title()
        group = logs.LogGroup(
            self,
            f"{name}Log",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        code = lambda_.Code.from_asset(
            str(ROOT / "functions" / trigger), exclude=["**/__pycache__", "*.pyc"]
        )
        return lambda_.Function(
            self,
            name,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            code=code,
            handler="handler.handler",
            layers=self._layers,
            memory_size=self._config.memory_mb,
            timeout=timeout,
            environment={**self._environment, "POWERTOOLS_SERVICE_NAME": f"assay-{trigger}"},
            log_group=group,
        )
