"""When a failed attempt is tried again."""

from .activity import Policy

# Beyond this the delay itself overflows before anybody would wait for it.
MAX_DELAY_SECS = 30 * 86_400.0


def delay(policy: Policy, attempt: int) -> float:
    """Seconds between the failure of `attempt` (from 1) and the next one."""
    try:
        secs = policy.initial_interval_secs * policy.backoff_coefficient ** (attempt - 1)
    except OverflowError:
        return MAX_DELAY_SECS
    return min(max(secs, 0.0), MAX_DELAY_SECS)


def attempts_left(policy: Policy, attempt: int) -> bool:
    return attempt < policy.max_attempts
