"""What must be true when everything has come to rest."""

from typing import Any

from assay_engine.app import queries
from assay_engine.app.names import RunRef
from assay_engine.core import activity as states
from assay_engine.core import ids, keys, values
from assay_engine.core.history import Event, EventType, Numbered
from assay_engine.core.render import Renderer, shipped
from assay_engine.core.run import Chunk, Head, Record
from tests.property import programs
from tests.property.clients import TERMINATED, program_of
from tests.property.machine import Machine
from tests.property.world import SLOTS, World


def check(world: World) -> None:
    heads = world.witness.runs()
    _every_root_exists(world, heads)
    for head in heads:
        assert not head.is_open, f"{head.id} is still open"
        _history_is_complete(world, head)
        _history_is_what_the_program_does(world, head)
        _ends_as_its_program_does(world, head)
        _owes_nothing(world, head)
        _children_are_there(world, head)
        _children_end_with_it(world, head)
        _children_end_by_their_policy(world, head)
    _items_agree_with_history(world)
    _signals_are_there_once(world)
    _calls_are_made_once(world)
    _links_are_told_once(world)
    for slot in SLOTS:
        assert not world.witness.due(slot, limit=1), "an index entry that nobody needs"


def _every_root_exists(world: World, heads: list[Head]) -> None:
    missing = world.ledger.started - {head.id for head in heads}
    assert not missing, f"started, and not there: {missing}"


def _history_is_complete(world: World, head: Head) -> None:
    """Chunks and tail together are the log, as it was observed to grow."""
    log = world.witness.logs[head.key, head.nonce]
    texts: list[str] = []
    for chunk in world.witness.query(Chunk, keys.chunks(head.key, head.nonce)):
        if chunk.base < head.base:
            assert chunk.base == len(texts), "chunks overlap, or leave a gap"
            texts += chunk.events[: head.base - chunk.base]
    assert len(texts) == head.base, "what was cut stands in no chunk"
    assert texts + list(head.tail) == log.texts


def _events(world: World, head: Head) -> list[dict[str, Any]]:
    renderer = Renderer(head.nonce)
    log = world.witness.logs[head.key, head.nonce]
    shown = []
    for each in shipped(Numbered(n, event) for n, event in enumerate(log.events, start=1)):
        seq, event = each.seq, each.event
        data = dict(event.data)
        if seq == 1:
            data["v"] = program_of(world, head)
        if "r" in data:
            data["v"] = world.value(head, str(data.pop("r")))
        numbered = Numbered(seq, Event(event.type, event.at, data))
        shown.append({"seq": seq, "event_type": event.type, "payload": renderer.payload(numbered)})
    return shown


def _history_is_what_the_program_does(world: World, head: Head) -> None:
    """Replaying every event issues exactly the recorded commands, in their order."""
    machine = Machine()
    events = _events(world, head)
    machine.feed(events[:-1])
    while machine.issued and machine.issued[0]["type"] == "WaitForSignal":
        machine.issued.popleft()
    if _is_disturbed(world, head):
        return
    assert machine.closes_with(events[-1]["event_type"]), (events[-1], machine.issued)


def _root_of(world: World, head: Head) -> Head:
    while head.parent is not None:
        above = world.witness.get(Head, keys.head(head.namespace, str(head.parent["i"])))
        assert above is not None
        head = above
    return head


def _is_disturbed(world: World, head: Head) -> bool:
    """Whether it may end otherwise than its program: by a client, or by its parent's end."""
    root = _root_of(world, head)
    disturbed = root.id in world.ledger.disturbed or _is_limited(world, root)
    return disturbed or _ends_with_its_parent(world, head)


def _is_limited(world: World, head: Head) -> bool:
    record = world.witness.get(Record, keys.record(head.key, head.nonce))
    assert record is not None
    given = {} if record.options is None else world.value(head, record.options)
    return "run_timeout" in given or "execution_timeout" in given


def _ends_with_its_parent(world: World, head: Head) -> bool:
    if head.parent is None:
        return False
    (parent,) = [
        run
        for run in world.witness.runs()
        if ids.child_nonce(run.nonce, int(head.parent["s"])) == head.parent["n"]
    ]
    started = world.witness.logs[parent.key, parent.nonce].events[int(head.parent["s"]) - 1]
    return started.data.get("p") in ("terminate", "request_cancel")


def _ends_as_its_program_does(world: World, head: Head) -> None:
    if _is_disturbed(world, head):
        return
    if head.continued_to is not None:
        target = world.witness.get(Head, keys.head(head.namespace, head.continued_to))
        assert target is not None, f"{head.id} continues as nothing"
        return
    retried = world.ledger.retries(head.nonce) > 0
    status, value = programs.expected(program_of(world, head), retried=retried)
    ref = RunRef(run_id=head.id, namespace=head.namespace, incarnation=head.incarnation_id)
    seen = queries.describe(world.processes[0], ref)
    found = seen.error if seen.result is None else values.parse(seen.result)
    assert (str(seen.head.status), found) == (status, value), head.id


def _owes_nothing(world: World, head: Head) -> None:
    assert head.due is None
    assert not head.cleanup
    assert not head.watched, f"{head.id} has not told who watches it"
    assert not head.owed, f"{head.id} owes {head.owed} for ever"
    record = world.witness.get(Record, keys.record(head.key, head.nonce))
    assert record is not None
    log = world.witness.logs[head.key, head.nonce]
    wanted: dict[str, Any] = {}
    for event in log.events:
        if event.type is EventType.ATTRIBUTES_UPSERTED:
            wanted |= world.value(head, str(values.from_field(event.data)))
    stored = record.search_attributes
    merged = world.value(head, stored) if stored else {}
    assert wanted.items() <= merged.items(), f"attributes of {head.id} were never merged"


def _children_are_there(world: World, head: Head) -> None:
    """Also those whose parent did not wait for them."""
    log = world.witness.logs[head.key, head.nonce]
    for child_id, seq in log.children.items():
        child = world.witness.get(Head, keys.head(head.namespace, child_id))
        assert child is not None, f"{head.id} never put its child {child_id} ({seq})"


def _children_end_with_it(world: World, head: Head) -> None:
    """A run that was ended from outside has asked its open children to end too."""
    log = world.witness.logs[head.key, head.nonce]
    if log.events[-1].data.get("e") != TERMINATED:
        return
    for child_id, seq in log.children.items():
        if log.events[seq - 1].data.get("p") == "abandon":
            continue
        chain = _chain(world, keys.head(head.namespace, child_id))
        asked = any(world.witness.logs[run.key, run.nonce].cancel_requested for run in chain)
        before = (chain[-1].completed_at or 0) <= (log.cleaned_up or 0) + world.skew_secs
        assert asked or before, f"{child_id} goes on after its parent {head.id} was terminated"


def _children_end_by_their_policy(world: World, head: Head) -> None:
    log = world.witness.logs[head.key, head.nonce]
    if head.continued_to is not None or head.retried_as is not None:
        return
    for child_id, seq in log.children.items():
        policy = log.events[seq - 1].data.get("p")
        if policy not in ("terminate", "request_cancel"):
            continue
        chain = _chain(world, keys.head(head.namespace, child_id))
        asked = any(world.witness.logs[run.key, run.nonce].cancel_requested for run in chain)
        before = (chain[-1].completed_at or 0) <= (log.cleaned_up or 0) + world.skew_secs
        assert before or (asked and policy == "request_cancel"), f"{child_id} outlives {head.id}"


def _chain(world: World, key: keys.Key) -> list[Head]:
    """A run and those that continue it."""
    chain: list[Head] = []
    while True:
        head = world.witness.get(Head, key)
        assert head is not None
        chain.append(head)
        if head.continued_to is None:
            return chain
        key = keys.head(head.namespace, head.continued_to)


def _items_agree_with_history(world: World) -> None:
    outcomes = {
        states.COMPLETED: EventType.ACTIVITY_COMPLETED,
        states.FAILED: EventType.ACTIVITY_FAILED,
    }
    for item in world.witness.activities():
        told = world.ledger.outcome(item.nonce, item.seq)
        place = f"activity {item.seq} of {item.run[1]}"
        assert item.status_letter not in (states.READY, states.RUNNING), f"{place} never ends"
        if item.status_letter in outcomes and told is not None:
            assert told.type is outcomes[item.status_letter], f"{place}: item and history differ"


def _signals_are_there_once(world: World) -> None:
    for sent in world.ledger.signals:
        found = sum(
            event.data.get("v") == sent.mark
            for (key, _), log in world.witness.logs.items()
            if keys.run_of(key)[1] == sent.run_id
            for event in log.events
            if event.type is EventType.SIGNAL_RECEIVED
        )
        wanted = {True: (1,), False: (0,), None: (0, 1)}[sent.answered]
        assert found in wanted, f"signal {sent.mark} to {sent.run_id} is there {found} times"


def _calls_are_made_once(world: World) -> None:
    """A signal of a run is there if it was told so, and not if it was told that it is not."""
    received = [
        event.data.get("v")
        for log in world.witness.logs.values()
        for event in log.events
        if event.type is EventType.SIGNAL_RECEIVED and "s" in event.data
    ]
    for (key, _), log in world.witness.logs.items():
        ends = {e.data["q"]: e for e in log.events if e.type is EventType.WORKFLOW_CALL_ENDED}
        for event in log.events:
            if event.type is not EventType.WORKFLOW_CALLED or event.data["c"] != "signal":
                continue
            ended = ends.get(event.data["q"])
            wanted = (0, 1) if ended is None else (0,) if "e" in ended.data else (1,)
            found = received.count(event.data["v"])
            assert found in wanted, f"{event.data} of {keys.run_of(key)[1]} is there {found} times"


def _links_are_told_once(world: World) -> None:
    """The other side of a link hears at most once for each that was made."""
    made = [
        (keys.run_of(key)[1], event.data["i"])
        for (key, _), log in world.witness.logs.items()
        for event in log.events
        if event.type is EventType.WORKFLOW_CALLED and event.data["c"] == "link"
    ]
    for (key, _), log in world.witness.logs.items():
        told = [
            (event.data["i"], keys.run_of(key)[1])
            for event in log.events
            if event.type is EventType.WORKFLOW_EXITED and "q" not in event.data
        ]
        for caller, _ in told:
            links = sum(one[0] == caller for one in made)
            assert 0 < sum(one[0] == caller for one in told) <= links, f"{caller} exits twice"
