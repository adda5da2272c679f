"""The HTTP API: the workers' hot path to one function, everything else to the other.

`assay serve` has the same routes; a test compares them.
"""

from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

PREFIXES = ("/api/v1", "/api/v1/engine/workflow")
WORKER_PATHS = (
    "/workers/exchange",
    "/workers/register",
    "/workers/heartbeat",
    "/workflow-tasks/{proxy+}",
    "/tasks/{proxy+}",
)


class EngineApi(Construct):
    def __init__(
        self, scope: Construct, id: str, *, api: lambda_.IFunction, worker: lambda_.IFunction
    ) -> None:
        super().__init__(scope, id)
        self.http = apigateway.HttpApi(
            self, "Http", default_integration=HttpLambdaIntegration("ApiFunction", api)
        )
        workers = HttpLambdaIntegration("WorkerFunction", worker)
        for path in (prefix + path for prefix in PREFIXES for path in WORKER_PATHS):
            self.http.add_routes(
                path=path, methods=[apigateway.HttpMethod.POST], integration=workers
            )
