"""Whether a run that failed is tried once more, and when."""

from .commands import FailWorkflow
from .options import RetryPolicy
from .run import Head


def may_be_retried(command: FailWorkflow, policy: RetryPolicy) -> bool:
    """Whether this failure may be mended by another attempt: not if it says that it cannot,
    or is of a kind that the policy lists."""
    failure = command.failure or {}
    listed = failure.get("kind") in policy.non_retryable_kinds
    return failure.get("retryable") is not False and not listed


def next_delay(head: Head, policy: RetryPolicy, now: float) -> float | None:
    """Seconds until the next attempt of a run that failed now; None: there is none."""
    attempt = head.attempt or 1
    # Who asked it to end was told yes: the chain ends here.
    if head.cancel_after is not None or not policy.attempts_left(attempt):
        return None
    delay = policy.delay(attempt)
    over = head.chain_until is not None and now + delay >= head.chain_until
    return None if over else delay
