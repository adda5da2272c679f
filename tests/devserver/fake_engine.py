"""An engine of a few lines for `assay serve`, run as a program of its own:
`python -m tests.devserver.fake_engine '{"port": 0, ...}'` with the options as JSON.
"""

import json
import os
import sys
import time
from pathlib import Path

from assay_devserver.aws_json import AwsJson, CallRefusedError
from assay_devserver.main import Engine, serve
from assay_devserver.options import ServeOptions

TABLE = "assay"


def table_at(endpoint):
    service = AwsJson(endpoint)
    string_keys = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]
    service.table(
        "CreateTable",
        {
            "TableName": TABLE,
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": string_keys,
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {
                "StreamEnabled": True,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
        },
    )
    return service


class FakeEngine:
    def __init__(self):
        self.received = []
        self.ticks = 0

    def prepare(self):
        try:
            table_at(os.environ["ASSAY_DYNAMODB_ENDPOINT"])
        except CallRefusedError as error:
            if error.code != "ResourceInUseException":
                raise

    def load(self, trigger):
        return {"api": self.api, "worker": self.api, "tick": self.tick, "stream": self.stream}[
            trigger
        ]

    def api(self, event, context):
        method, path = event["requestContext"]["http"]["method"], event["rawPath"]
        return getattr(self, f"{method.lower()}_{path.strip('/')}")(event)

    def tick(self, event, context):
        self.ticks += 1

    def stream(self, event, context):
        self.received += [record["dynamodb"]["Keys"]["sk"]["S"] for record in event["Records"]]

    def post_put(self, event):
        item = {"pk": {"S": "run"}, "sk": {"S": event["body"]}}
        service = AwsJson(os.environ["ASSAY_DYNAMODB_ENDPOINT"])
        service.table("PutItem", {"TableName": TABLE, "Item": item})
        return {"statusCode": 200}

    def get_items(self, event):
        service = AwsJson(os.environ["ASSAY_DYNAMODB_ENDPOINT"])
        found = service.table("Scan", {"TableName": TABLE})["Items"]
        return sorted(item["sk"]["S"] for item in found if item["pk"]["S"] == "run")

    def get_received(self, event):
        return self.received

    def get_ticks(self, event):
        return self.ticks

    def get_environment(self, event):
        return {name: value for name, value in os.environ.items() if name.startswith("ASSAY_")}

    def get_hang(self, event):
        time.sleep(600)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    if "data_dir" in given:
        given["data_dir"] = Path(given["data_dir"])
    fake = FakeEngine()
    sys.exit(serve(ServeOptions(**given), Engine(prepare=fake.prepare, load=fake.load)))
