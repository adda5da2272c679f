"""Facts of the templates that the engine depends on, read from an in-process synthesis."""

import json
import re
import shutil
from pathlib import Path

import pytest

from assay_devserver import routes

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="the CDK needs Node")


@pytest.fixture(scope="module")
def templates():
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")
    # Imported late: aws_cdk starts a Node process, which the other tests can do without.
    import aws_cdk as cdk  # noqa: PLC0415
    from aws_cdk.assertions import Template  # noqa: PLC0415

    from app import build  # noqa: PLC0415
    from infra.config import Config  # noqa: PLC0415

    app = cdk.App(context={"aws:cdk:bundling-stacks": []})
    stacks = build(app, Config())
    yield tuple(Template.from_stack(stack).to_json()["Resources"] for stack in stacks)
    monkeypatch.undo()


def properties(resources, kind):
    return [entry["Properties"] for entry in resources.values() if entry["Type"] == kind]


def test_the_table_has_the_keys_the_sparse_index_and_the_stream(templates):
    (table,) = properties(templates[0], "AWS::DynamoDB::GlobalTable")
    assert table["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    assert {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]} == {
        "pk": "S",
        "sk": "S",
        "q": "S",
        "due": "N",
    }
    assert table["GlobalSecondaryIndexes"] == [
        {
            "IndexName": "due",
            "KeySchema": [
                {"AttributeName": "q", "KeyType": "HASH"},
                {"AttributeName": "due", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["t"]},
        }
    ]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    (replica,) = table["Replicas"]
    recovery = {"PointInTimeRecoveryEnabled": True}
    assert replica["PointInTimeRecoverySpecification"] == recovery
    assert replica["DeletionProtectionEnabled"] is True


def test_nothing_that_must_survive_is_deleted_with_its_stack(templates):
    kinds = {"AWS::DynamoDB::GlobalTable", "AWS::S3::Bucket"}
    kept = {
        entry["Type"]
        for entry in templates[0].values()
        if entry["Type"] in kinds and entry["DeletionPolicy"] == "Retain"
    }
    assert kept == kinds


def test_the_routes_are_those_of_assay_serve(templates):
    resources = templates[1]
    integrations = {
        name: entry["Properties"]["IntegrationUri"]["Fn::GetAtt"][0]
        for name, entry in resources.items()
        if entry["Type"] == "AWS::ApiGatewayV2::Integration"
    }
    deployed = {}
    for route in properties(resources, "AWS::ApiGatewayV2::Route"):
        integration = json.dumps(route["Target"])
        (function,) = [f for name, f in integrations.items() if f'"{name}"' in integration]
        deployed[route["RouteKey"]] = re.match("Functions(Api|Worker)", function)[1].lower()
    served = {route.key: route.function for route in routes.WORKER_ROUTES}
    assert deployed == {**served, routes.DEFAULT_ROUTE.key: routes.DEFAULT_ROUTE.function}


def test_the_stream_reaches_its_function_in_batches_that_are_taken_apart(templates):
    (source,) = properties(templates[1], "AWS::Lambda::EventSourceMapping")
    assert source["StartingPosition"] == "TRIM_HORIZON"
    assert source["BatchSize"] == 100
    assert source["BisectBatchOnFunctionError"] is True
    (pattern,) = source["FilterCriteria"]["Filters"]
    assert json.loads(pattern["Pattern"]) == {
        "eventName": ["INSERT", "MODIFY"],
        "dynamodb": {
            "Keys": {"sk": {"S": ["H"]}},
            "NewImage": {"open": {"N": [{"exists": False}]}},
        },
    }


def test_the_tick_comes_every_minute(templates):
    (rule,) = properties(templates[1], "AWS::Events::Rule")
    assert rule["ScheduleExpression"] == "rate(1 minute)"


def test_every_trigger_has_its_function_with_the_engines_environment(templates):
    functions = properties(templates[1], "AWS::Lambda::Function")
    triggers = {
        f["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]: f["Environment"]["Variables"]
        for f in functions
    }
    assert triggers.keys() == {"assay-api", "assay-worker", "assay-tick", "assay-stream"}
    for variables in triggers.values():
        assert {name for name in variables if name.startswith("ASSAY_")} == {
            "ASSAY_TABLE",
            "ASSAY_BLOBS",
            "ASSAY_WF_DISPATCH_TIMEOUT_SECS",
            "ASSAY_MARK_KEY",
        }
    assert {f["Handler"] for f in functions} == {"handler.handler"}


def test_the_layer_has_the_versions_that_were_tested():
    tested = set(Path(ROOT / "requirements.txt").read_text().splitlines())
    layer = Path(ROOT / "layers/dependencies/requirements.txt").read_text().splitlines()
    assert [line for line in layer if not line.startswith("#") and line not in tested] == []
