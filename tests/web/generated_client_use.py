"""Run by a test beside a client generated from our specification: starts and describes a run."""

import sys

from client import Client  # type: ignore[import-not-found]
from client.api.workflows import (  # type: ignore[import-not-found]
    describe_workflow,
    start_workflow,
)
from client.models import StartWorkflow  # type: ignore[import-not-found]

url = sys.argv[1]
body = StartWorkflow(workflow_type="Order", workflow_id="generated-1", input_={"amount": 5})
with Client(base_url=url, raise_on_unexpected_status=True) as client:
    started = start_workflow.sync(client=client, body=body)
    record = describe_workflow.sync(started.workflow_id, client=client)
print(started.status, record.workflow_type, record.id)  # noqa: T201
