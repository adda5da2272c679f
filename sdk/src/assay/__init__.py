"""Durable workflows in Python: a client for the engine, and a worker for your code."""

from assay import activity, channel, errors, saga, workflow
from assay._handles import AsyncWorkflowHandle, WorkflowHandle
from assay._options import RetryPolicy
from assay.async_client import AsyncClient
from assay.client import Client
from assay.failure import Failure
from assay.worker import Worker

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncWorkflowHandle",
    "Client",
    "Failure",
    "RetryPolicy",
    "Worker",
    "WorkflowHandle",
    "activity",
    "channel",
    "errors",
    "saga",
    "workflow",
]
