"""What must survive: the table and the bucket. Nothing here is replaced by a deployment."""

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.config import Config

DUE_INDEX = "due"


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


class StatefulStack(Stack):
    def __init__(self, scope: Construct, id: str, *, config: Config) -> None:
        super().__init__(scope, id, description=f"{config.name}: runs and their payloads")
        self.table = dynamodb.TableV2(
            self,
            "Table",
            partition_key=_string("pk"),
            sort_key=_string("sk"),
            billing=dynamodb.Billing.on_demand(),
            dynamo_stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            time_to_live_attribute="ttl",
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=True,
            removal_policy=RemovalPolicy.RETAIN,
            global_secondary_indexes=[self._due_index()],
        )
        self.blobs = s3.Bucket(
            self,
            "Blobs",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.RETAIN,
        )

    def _due_index(self) -> dynamodb.GlobalSecondaryIndexPropsV2:
        """Sparse: only an item that somebody has to look at has both keys."""
        return dynamodb.GlobalSecondaryIndexPropsV2(
            index_name=DUE_INDEX,
            partition_key=_string("q"),
            sort_key=dynamodb.Attribute(name="due", type=dynamodb.AttributeType.NUMBER),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=["t"],
        )
