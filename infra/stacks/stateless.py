"""What can be replaced at any time: the functions, what triggers them, and the HTTP API."""

from aws_cdk import Aws, CfnOutput, Duration, Fn, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk.aws_lambda_event_sources import DynamoEventSource
from constructs import Construct

from infra.config import BACKGROUND_TIMEOUT, HTTP_TIMEOUT, Config
from infra.constructs.functions import Functions
from infra.constructs.http_api import EngineApi


class StatelessStack(Stack):
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: Config,
        table: dynamodb.TableV2,
        blobs: s3.Bucket,
    ) -> None:
        super().__init__(scope, id, description=f"{config.name}: the engine's functions")
        functions = Functions(
            self, "Functions", config=config, environment=_environment(config, table, blobs)
        )
        api, worker = (functions.make(name, HTTP_TIMEOUT) for name in ("api", "worker"))
        tick, stream = (functions.make(name, BACKGROUND_TIMEOUT) for name in ("tick", "stream"))
        for function in (api, worker, tick, stream):
            table.grant_read_write_data(function)
            blobs.grant_read_write(function)
        self.api = EngineApi(self, "Api", api=api, worker=worker)
        _every_minute(self, tick)
        _on_closed_runs(table, stream)
        CfnOutput(self, "Url", value=self.api.http.api_endpoint)


def _environment(config: Config, table: dynamodb.TableV2, blobs: s3.Bucket) -> dict[str, str]:
    return {
        "ASSAY_TABLE": table.table_name,
        "ASSAY_BLOBS": f"s3://{blobs.bucket_name}",
        "ASSAY_WF_DISPATCH_TIMEOUT_SECS": str(config.lease_secs),
        # The random part of the stack's id: the same for all functions, known to nobody outside.
        "ASSAY_MARK_KEY": Fn.select(2, Fn.split("/", Aws.STACK_ID)),
    }


def _every_minute(scope: Construct, tick: lambda_.Function) -> None:
    rule = events.Rule(scope, "Tick", schedule=events.Schedule.rate(Duration.minutes(1)))
    rule.add_target(targets.LambdaFunction(tick, retry_attempts=0))


def _on_closed_runs(table: dynamodb.TableV2, stream: lambda_.Function) -> None:
    """Heads no longer open; every other change is filtered out before it costs anything."""
    is_closed_head = {
        "eventName": lambda_.FilterRule.or_("INSERT", "MODIFY"),
        "dynamodb": {
            "Keys": {"sk": {"S": lambda_.FilterRule.is_equal("H")}},
            "NewImage": {"open": {"N": lambda_.FilterRule.not_exists()}},
        },
    }
    stream.add_event_source(
        DynamoEventSource(
            table,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=100,
            bisect_batch_on_error=True,
            retry_attempts=5,
            filters=[lambda_.FilterCriteria.filter(is_closed_head)],
        )
    )
