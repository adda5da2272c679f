"""Random writes that an update expression can say, on a few records so that they meet."""

from typing import Any

from hypothesis import strategies as st

from assay_engine.core import keys
from assay_engine.core.activity import Activity
from assay_engine.core.change import (
    Action,
    AllOf,
    AnyOf,
    AtMost,
    Below,
    Change,
    Condition,
    Contains,
    Copy,
    Drop,
    DropFirst,
    Equals,
    Exclude,
    Exists,
    Extend,
    Include,
    Missing,
    Path,
    Plus,
    Put,
    PutIfMissing,
)
from assay_engine.core.run import Chunk, Head
from tests.store.records import activity, chunk, head

HEADS = [head(run_id).key for run_id in ("r1", "r2", "r10")]
ACTIVITIES = [activity(number).key for number in (7, 8)]
CHUNKS = [chunk(base, run_id=run_id).key for base in (0, 5, 10) for run_id in ("r1", "r2")]
SLOTS = [keys.slot("main", queue, keys.WORKFLOWS) for queue in ("a", "b")]

# Few values, so that conditions hold about as often as not; some of them awkward.
moments = st.sampled_from([0.0, 0.1 + 0.2, 5.0, 1_763_467_200.0, 1_763_467_200.1234567]) | (
    st.floats(1e-3, 2e9)
)
wholes = st.integers(-2, 6)
texts = st.sampled_from(["", "w1", "w2", "ünï \x1f #:[0]", "☃" * 5])
names = st.sampled_from(["1", "2", "a.b", "x[0]", "#n", ":v", "a b", "]", "é"])
members = st.frozensets(st.integers(0, 5), max_size=3)
events = st.lists(texts, max_size=4).map(tuple)
lines = st.fixed_dictionaries({"a": wholes, "w": texts}, optional={"x": moments, "r": texts})

head_fields = st.fixed_dictionaries(
    {"slot": st.sampled_from(SLOTS), "length": wholes, "type": st.sampled_from(["t1", "t2"])},
    optional={
        "open": st.none(),
        "tail": events,
        "due": moments,
        "lease_token": texts,
        "eager": st.dictionaries(names, lines, max_size=2),
        "timers": st.dictionaries(names, moments, max_size=2),
        "awaited": st.dictionaries(names, wholes, max_size=2),
        "queued": members,
        "refusals": wholes,
        "parent": st.dictionaries(names, st.one_of(texts, wholes, moments), max_size=2),
    },
)
heads = st.builds(
    lambda key, fields: head(keys.run_of(key)[1], **fields), st.sampled_from(HEADS), head_fields
)
activities = st.builds(
    lambda number, fields: activity(number, **fields),
    st.sampled_from([7, 8]),
    st.fixed_dictionaries(
        {"slot": st.sampled_from(SLOTS)}, optional={"due": moments, "worker": texts}
    ),
)
chunks = st.builds(lambda key, texts: Chunk(key=key, events=texts), st.sampled_from(CHUNKS), events)
records = st.one_of(heads, heads, activities, chunks)


def _paths() -> st.SearchStrategy[Path]:
    flat = st.sampled_from(["length", "due", "lease_token", "refusals", "queued", "open", "parent"])
    inner = st.tuples(st.sampled_from(["timers", "awaited", "eager"]), names)
    deep = st.tuples(st.just("eager"), names, st.sampled_from(["a", "w", "x"]))
    return st.one_of(flat.map(lambda name: (name,)), inner, deep)


numbers = st.one_of(
    st.sampled_from([("length",), ("due",), ("refusals",), ("running_at",)]),
    st.tuples(st.sampled_from(["timers", "awaited"]), names),
)
leaves: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Exists, _paths()),
    st.builds(Missing, _paths()),
    st.builds(Equals, st.sampled_from([("lease_token",), ("eager", "1", "w")]), texts | st.none()),
    st.builds(Equals, numbers, wholes | moments | st.none()),
    st.builds(Below, numbers, wholes | moments),
    st.builds(AtMost, numbers, wholes | moments),
    st.builds(Contains, st.sampled_from([("queued",), ("owed",)]), st.integers(0, 5)),
)


def _groups(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.builds(AnyOf, several) | st.builds(AllOf, several)


conditions = st.recursive(leaves, _groups, max_leaves=4)
guards = st.lists(conditions, max_size=2).map(tuple)


def _value(path: Path, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Action]:
    put = st.builds(Put, st.just(path), values | st.none())
    keep = st.builds(PutIfMissing, st.just(path), values)
    return st.one_of(put, keep, st.just(Drop(path)))


def _set(field: str) -> st.SearchStrategy[Action]:
    path = st.just((field,))
    return st.one_of(*(st.builds(action, path, members) for action in (Include, Exclude, Put)))


def _inside(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Action]:
    """Something about one map: the whole of it, or one of its entries."""
    whole = st.dictionaries(names, values, max_size=2).map(lambda new: Put((field,), new))
    return st.one_of(whole, names.flatmap(lambda name: _value((field, name), values)))


# One action a field: two on the same path are an error in DynamoDB.
head_actions: dict[str, st.SearchStrategy[Action]] = {
    "length": st.builds(Plus, st.just(("length",)), wholes),
    "version": st.just(Plus(("version",), 1)),
    "tail": st.one_of(
        st.builds(Extend, st.just(("tail",)), events),
        st.builds(DropFirst, st.just(("tail",)), st.integers(0, 12)),
        st.builds(Put, st.just(("tail",)), events),
    ),
    "lease_length": st.builds(
        Copy, st.just(("lease_length",)), st.sampled_from(["length", "base"]), st.booleans()
    ),
    "lease_token": _value(("lease_token",), texts),
    "due": _value(("due",), moments),
    "slot": st.builds(Put, st.just(("slot",)), st.sampled_from(SLOTS)),
    "running_at": _value(("running_at",), moments),
    "queued": _set("queued"),
    "owed": _set("owed"),
    "timers": _inside("timers", moments),
    "awaited": _inside("awaited", wholes),
    "eager": _inside("eager", lines),
    "parent": _value(("parent",), st.dictionaries(names, texts, max_size=2)),
}


@st.composite
def head_changes(draw: st.DrawFn) -> Change:
    fields = draw(st.sets(st.sampled_from(sorted(head_actions)), max_size=6))
    when = draw(guards)
    actions = [draw(head_actions[field]) for field in sorted(fields)]
    if "eager" not in fields and draw(st.booleans()):
        # A path through an entry that is not there is an error: the condition must see to it.
        name = draw(names)
        when = (*when, Exists(("eager", name)))
        actions.append(draw(_value(("eager", name, "w"), texts)))
    if draw(st.booleans()):
        when = (*when, Exists(("refusals",)))
        actions.append(Plus(("refusals",), draw(wholes)))
    return Change(when=when, do=tuple(actions))


@st.composite
def activity_changes(draw: st.DrawFn) -> Change:
    free: tuple[Condition, ...] = (Missing(("worker",)),)
    when = draw(st.sampled_from([(), free, (Exists(("due",)),)]))
    actions = [draw(_value(("worker",), texts)), draw(_value(("due",), moments))]
    return Change(when=when, do=(*actions, Plus(("attempt",), 1)))


updates = st.one_of(
    st.tuples(st.just(Head), st.sampled_from(HEADS), head_changes()),
    st.tuples(st.just(Head), st.sampled_from(HEADS), head_changes()),
    st.tuples(st.just(Activity), st.sampled_from(ACTIVITIES), activity_changes()),
)
