"""Chooses the store that the options ask for, and starts it: embedded, in memory, or another's.

Everything behind it sees an endpoint and nothing else.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from . import data_dir, environment
from .aws_json import AwsJson, CallRefusedError, UnreachableError
from .data_dir import DataDirectory
from .dynoxide import Dynoxide, find_binary
from .moto_store import MotoStore
from .options import ServeError, ServeOptions, complain


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStore:
    endpoint: str
    label: str
    blobs: Path
    shared: bool = False
    process: Dynoxide | None = None


def open_store(options: ServeOptions, stack: ExitStack, died: Callable[[], None]) -> OpenStore:
    """Start the store; `stack` ends it. `died` is called if its process ends unasked."""
    if options.dynamodb_endpoint is not None:
        _check_url(options.dynamodb_endpoint)
        directory = _directory(options, stack, exclusive=False)
        endpoint = options.dynamodb_endpoint
        return OpenStore(endpoint=endpoint, label=endpoint, blobs=directory.blobs, shared=True)
    binary = find_binary()
    if binary is None:
        return _moto(stack)
    directory = _directory(options, stack, exclusive=True)
    store = Dynoxide(binary, directory.database, died=died)
    stack.callback(store.stop)
    store.start()
    label = "dynoxide in memory" if options.memory else f"dynoxide in {directory.path}"
    return OpenStore(endpoint=store.endpoint, label=label, blobs=directory.blobs, process=store)


def check_reachable(endpoint: str) -> None:
    """Whether DynamoDB answers there. Needs the environment's credentials."""
    table = os.environ.get("ASSAY_TABLE", environment.TABLE)
    try:
        AwsJson(endpoint).table("DescribeTable", {"TableName": table})
    except UnreachableError as error:
        raise ServeError(f"no DynamoDB endpoint at {endpoint}: {error}") from None
    except CallRefusedError as error:
        if error.code != "ResourceNotFoundException":
            raise ServeError(f"the DynamoDB endpoint {endpoint} refused: {error}") from None


def _directory(options: ServeOptions, stack: ExitStack, *, exclusive: bool) -> DataDirectory:
    if options.memory:
        directory = data_dir.in_memory()
    else:
        directory = data_dir.durable(options.data_dir, exclusive=exclusive)
    stack.callback(directory.release)
    return directory


def _moto(stack: ExitStack) -> OpenStore:
    complain("no dynoxide binary was found: the store is in memory, and gone on exit")
    directory = data_dir.in_memory()
    stack.callback(directory.release)
    store = MotoStore()
    stack.callback(store.stop)
    store.start()
    return OpenStore(endpoint=store.endpoint, label="moto in memory", blobs=directory.blobs)


def _check_url(endpoint: str) -> None:
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ServeError(f"{endpoint} is not an http:// or https:// address")
