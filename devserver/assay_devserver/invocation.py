"""Calls a function's handler the way Lambda does: an event and a context, nothing else.

Which events there are is the business of the gateway and the loops.
"""

import importlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Handler = Callable[[dict[str, Any], Any], Any]

# An HTTP API gives up after 30 s; the other triggers have no such limit, but are short here too.
TIMEOUT_SECS = 30.0


@dataclass(slots=True, kw_only=True)
class Context:
    """What a handler may ask about its own invocation."""

    function_name: str
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    memory_limit_in_mb: int = 256
    identity: None = None
    client_context: None = None
    deadline: float = field(default_factory=lambda: time.monotonic() + TIMEOUT_SECS)
    caller_gone: Callable[[], bool] = lambda: False
    """Nobody reads the answer any more. AWS cannot tell; where one can, waiting calls ask."""

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        return "local"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.deadline - time.monotonic()) * 1000))


class Function:
    """One function: its trigger's name, and the handler behind it."""

    def __init__(self, trigger: str, handler: Handler) -> None:
        self.trigger = trigger
        self._handler = handler
        self._name = f"assay-{trigger}"

    def __call__(
        self, event: dict[str, Any], caller_gone: Callable[[], bool] = lambda: False
    ) -> Any:
        return self._handler(event, Context(function_name=self._name, caller_gone=caller_gone))


def load(trigger: str) -> Handler:
    """The real handler of `functions/<trigger>`. It reads the environment when imported."""
    handler: Handler = importlib.import_module(f"assay_functions.{trigger}.handler").handler
    return handler


def blame(error: BaseException) -> str:
    """An error and where it was raised, short enough for a line of the log."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        code = trace.tb_frame.f_code
        place = f" ({code.co_filename}:{trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{place}"
