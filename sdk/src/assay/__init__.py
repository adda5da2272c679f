"""Durable workflows in Python: a client for the engine, and a worker for your code."""

from assay import activity, errors, workflow
from assay.client import Client
from assay.worker import Worker

__version__ = "0.1.0"

__all__ = ["Client", "Worker", "activity", "errors", "workflow"]
