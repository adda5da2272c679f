"""The run that goes on for another: the next of a chain of continuations, the next attempt of
a run that failed. What its predecessor was started with, it is started with too."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core import attempts, ids, keys, options, values
from ..core.change import Change, apply
from ..core.commands import FailWorkflow
from ..core.options import NextAttempt, Options
from ..core.run import Head, Record
from . import incarnations, payloads
from .engine import Engine
from .start import NewRun, prepare_run, stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """What a run leaves to the one that goes on for it."""

    options: Options
    input: str | None
    """JSON text."""
    search_attributes: Any


def inheritance(engine: Engine, head: Head) -> Inheritance:
    record = engine.store.get(Record, keys.record(head.key, head.nonce))
    assert record is not None, "a head without its record"

    def value(stored: str | None) -> Any:
        text = payloads.text(engine, head.key, head.nonce, stored)
        return None if text is None else values.parse(text)

    kept = options.read(value(record.options) or {})
    return Inheritance(
        options=replace(kept, memo=value(record.memo)),
        input=payloads.text(engine, head.key, head.nonce, record.input),
        search_attributes=value(record.search_attributes),
    )


def continuation(
    engine: Engine, source: Head, target_id: str, value: object, closing: Change | None
) -> Head:
    """The head of the run that continues `source`; everything beside it is put. `closing`:
    how the source is closed, None if it has been."""
    left = inheritance(engine, source)
    parent = dict(source.parent) if source.parent else None
    if parent is not None:
        parent.setdefault("c", source.id)
    run = NewRun(
        namespace=source.namespace,
        run_id=target_id,
        type=source.type,
        queue=source.queue,
        nonce=engine.entropy.token(ids.NONCE_CHARS),
        input=value,
        search_attributes=stamped(left.search_attributes),
        parent=parent,
        options=left.options,
        chain_until=source.chain_until,
        earlier=None if closing is None else _earlier(source, closing),
    )
    return prepare_run(engine, run)


def _earlier(source: Head, closing: Change) -> Mapping[str, Any] | None:
    """Children with a parent close policy stay until the chain ends: its last run sees to them."""
    closed = apply(source, closing.do)
    if closed.close_policies is None and closed.earlier is None:
        return None
    return {"i": source.id, "n": source.nonce}


def next_attempt(engine: Engine, head: Head, failure: FailWorkflow | None) -> NextAttempt | None:
    """What comes after a failure of this run (None: it timed out), if anything does."""
    if head.retries is None:
        return None
    policy = inheritance(engine, head).options.retry_policy
    assert policy is not None, "`retries` without a retry policy"
    if failure is not None and not attempts.may_be_retried(failure, policy):
        return None
    delay = attempts.next_delay(head, policy, engine.now())
    if delay is None:
        return None
    return NextAttempt(nonce=engine.entropy.token(ids.NONCE_CHARS), delay=delay)


def try_again(engine: Engine, head: Head, closing: Change, following: NextAttempt) -> Head:
    """Close the attempt that failed and put the next one: both or neither. Returns the closed
    one; raises ConditionFailedError."""
    left = inheritance(engine, head)
    run = NewRun(
        namespace=head.namespace,
        run_id=head.id,
        type=head.type,
        queue=head.queue,
        nonce=following.nonce,
        input=None if left.input is None else values.parse(left.input),
        has_input=left.input is not None,
        search_attributes=left.search_attributes,
        parent=head.parent,
        options=replace(left.options, start_delay=following.delay),
        attempt=(head.attempt or 1) + 1,
        chain_until=head.chain_until,
        earlier=_earlier(head, closing),
    )
    return incarnations.supersede(engine, head, closing, prepare_run(engine, run))
