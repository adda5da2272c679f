"""Assay's engine: durable workflows on one DynamoDB table."""

__version__ = "0.1.0"
