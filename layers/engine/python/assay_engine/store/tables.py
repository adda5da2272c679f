"""The one table: what each record kind is called in it, its keys, its index.

Attribute names are short because write units follow bytes. These classes only declare;
the connection (table name, endpoint, region) arrives with `TableConfig`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pynamodb.attributes import (
    Attribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    UnicodeAttribute,
)
from pynamodb.connection.base import Connection, MetaTable
from pynamodb.constants import PAY_PER_REQUEST_BILLING_MODE
from pynamodb.exceptions import TableDoesNotExist, TableError
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection
from pynamodb.models import Model

from ..app.ports import Stored
from ..core.activity import Activity
from ..core.errors import BusyError
from ..core.run import Chunk, Head, Marker, Payload, Pointer, Record, Watcher
from ..core.worker import Namespace, QueueEntry, Worker

PK, SK = "pk", "sk"
DUE_INDEX, SLOT, DUE, TYPE = "due", "q", "due", "t"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    name: str
    region: str = "us-east-1"
    endpoint: str | None = None
    credentials: tuple[str, str] | None = None
    """Key id and secret of a local endpoint (any will do); None: botocore's usual chain."""
    connections: int = 64
    """Calls in flight at once; a further thread waits for its turn."""
    connect_timeout: float = 2.0
    read_timeout: float = 5.0
    lean: bool = False
    """Over http.client, see `transport`, instead of botocore."""


def _map(name: str) -> MapAttribute[str, Any]:
    return MapAttribute(attr_name=name)  # type: ignore[no-untyped-call]


def _list(name: str) -> ListAttribute[Any]:
    return ListAttribute(attr_name=name)


class DueIndex(GlobalSecondaryIndex[Any]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = DUE_INDEX
        projection = IncludeProjection([TYPE])

    slot = UnicodeAttribute(hash_key=True, attr_name=SLOT)
    due = NumberAttribute(range_key=True, attr_name=DUE)


class Row(Model):
    class Meta:
        table_name = "declared by TableConfig"

    pk = UnicodeAttribute(hash_key=True, attr_name=PK)
    sk = UnicodeAttribute(range_key=True, attr_name=SK)
    by_due = DueIndex()


class HeadRow(Row):
    nonce = UnicodeAttribute(attr_name="o")
    type = UnicodeAttribute(attr_name=TYPE)
    slot = UnicodeAttribute(attr_name=SLOT)
    created_at = NumberAttribute(attr_name="at")
    version = NumberAttribute(attr_name="v")
    open = NumberAttribute(attr_name="open")
    status_letter = UnicodeAttribute(attr_name="st")
    running_at = NumberAttribute(attr_name="ra")
    waiting_at = NumberAttribute(attr_name="wa")
    completed_at = NumberAttribute(attr_name="fa")
    length = NumberAttribute(attr_name="n")
    base = NumberAttribute(attr_name="b")
    tail = _list("tail")
    tail_bytes = NumberAttribute(attr_name="tb")
    seen = NumberAttribute(attr_name="seen")
    lease_token = UnicodeAttribute(attr_name="lt")
    lease_worker = UnicodeAttribute(attr_name="lw")
    lease_until = NumberAttribute(attr_name="lx")
    lease_taken = NumberAttribute(attr_name="la")
    lease_length = NumberAttribute(attr_name="ls")
    due = NumberAttribute(attr_name=DUE)
    eager = _map("p")
    queued = NumberSetAttribute(attr_name="pq")
    owed = NumberSetAttribute(attr_name="todo")
    timers = _map("tm")
    children = _map("ch")
    awaited = _map("aw")
    used_activities = UnicodeAttribute(attr_name="ua")
    used_timers = UnicodeAttribute(attr_name="ut")
    used_side_effects = UnicodeAttribute(attr_name="us")
    used_upserts = UnicodeAttribute(attr_name="uu")
    used_calls = UnicodeAttribute(attr_name="uc")
    used_replies = UnicodeAttribute(attr_name="ur")
    watching = NumberSetAttribute(attr_name="wt")
    watched = NumberAttribute(attr_name="wd")
    report = UnicodeAttribute(attr_name="rid")
    cancel_after = NumberAttribute(attr_name="cn")
    cancel_due = NumberAttribute(attr_name="cd")
    refusals = NumberAttribute(attr_name="rf")
    upsert = UnicodeAttribute(attr_name="up")
    snapshot = UnicodeAttribute(attr_name="sn")
    check_children_at = NumberAttribute(attr_name="cc")
    parent = _map("pa")
    continued_to = UnicodeAttribute(attr_name="to")
    problem = UnicodeAttribute(attr_name="pb")
    cleanup = NumberAttribute(attr_name="cl")
    first = UnicodeAttribute(attr_name="o1")
    attempt = NumberAttribute(attr_name="ta")
    retried_as = UnicodeAttribute(attr_name="on")
    retries = NumberAttribute(attr_name="tr")
    has_context = NumberAttribute(attr_name="cx")
    start_at = NumberAttribute(attr_name="sd")
    run_until = NumberAttribute(attr_name="xr")
    chain_until = NumberAttribute(attr_name="xc")
    cancel_until = NumberAttribute(attr_name="xd")
    task_secs = NumberAttribute(attr_name="ts")
    close_policies = NumberAttribute(attr_name="cp")
    earlier = _map("ea")


class RecordRow(Row):
    input = UnicodeAttribute(attr_name="i")
    search_attributes = UnicodeAttribute(attr_name="sa")
    attributes_seq = NumberAttribute(attr_name="as")
    memo = UnicodeAttribute(attr_name="me")
    options = UnicodeAttribute(attr_name="op")


class ChunkRow(Row):
    events = _list("e")


class PayloadRow(Row):
    text = UnicodeAttribute(attr_name="x")
    created_at = NumberAttribute(attr_name="at")
    length = NumberAttribute(attr_name="n")


class MarkerRow(Row):
    created_at = NumberAttribute(attr_name="at")
    verdict = UnicodeAttribute(attr_name="x")


class WatcherRow(Row):
    run_id = UnicodeAttribute(attr_name="i")
    nonce = UnicodeAttribute(attr_name="o")
    origin = UnicodeAttribute(attr_name="f")
    seq = NumberAttribute(attr_name="s")
    call_seq = NumberAttribute(attr_name="c")
    name = UnicodeAttribute(attr_name="n")
    link = NumberAttribute(attr_name="l")


class PointerRow(Row):
    pass


class ActivityRow(Row):
    run_pk = UnicodeAttribute(attr_name="r")
    seq = NumberAttribute(attr_name="s")
    type = UnicodeAttribute(attr_name=TYPE)
    slot = UnicodeAttribute(attr_name=SLOT)
    status_letter = UnicodeAttribute(attr_name="st")
    attempt = NumberAttribute(attr_name="a")
    input = UnicodeAttribute(attr_name="i")
    policy = _map("po")
    due = NumberAttribute(attr_name=DUE)
    worker = UnicodeAttribute(attr_name="w")
    lease_until = NumberAttribute(attr_name="x")
    by_exchange = NumberAttribute(attr_name="ex")
    scheduled_at = NumberAttribute(attr_name="at")
    started_at = NumberAttribute(attr_name="sa")
    completed_at = NumberAttribute(attr_name="fa")
    last_heartbeat = NumberAttribute(attr_name="hb")
    details = UnicodeAttribute(attr_name="d")
    result = UnicodeAttribute(attr_name="res")
    error = UnicodeAttribute(attr_name="er")
    retried = NumberAttribute(attr_name="rt")
    has_context = NumberAttribute(attr_name="cx")
    version = NumberAttribute(attr_name="v")


class WorkerRow(Row):
    identity = UnicodeAttribute(attr_name="id")
    # Not `q`: that is the index's.
    queue = UnicodeAttribute(attr_name="qn")
    workflows = _list("wf")
    activities = _list("af")
    max_concurrent_workflows = NumberAttribute(attr_name="mw")
    max_concurrent_activities = NumberAttribute(attr_name="ma")
    registered_at = NumberAttribute(attr_name="at")
    last_heartbeat = NumberAttribute(attr_name="hb")


class QueueRow(Row):
    queue = UnicodeAttribute(attr_name="qn")
    shards = NumberAttribute(attr_name="sh")


class NamespaceRow(Row):
    created_at = NumberAttribute(attr_name="at")


ROWS: dict[type[Stored], type[Row]] = {
    Head: HeadRow,
    Record: RecordRow,
    Chunk: ChunkRow,
    Payload: PayloadRow,
    Marker: MarkerRow,
    Watcher: WatcherRow,
    Pointer: PointerRow,
    Activity: ActivityRow,
    Worker: WorkerRow,
    QueueEntry: QueueRow,
    Namespace: NamespaceRow,
}


def attributes(kind: type[Stored]) -> dict[str, Attribute[Any]]:
    """Field of the record -> its attribute; the key's two parts are not among them."""
    declared = ROWS[kind].get_attributes()
    return {name: attr for name, attr in declared.items() if name not in (PK, SK)}


def meta_table(name: str) -> MetaTable:
    """What PynamoDB has to know of the table, without asking DescribeTable."""
    schema = Row._get_schema()
    return MetaTable(
        {
            "TableName": name,
            "KeySchema": schema["key_schema"],
            "AttributeDefinitions": schema["attribute_definitions"],
            "GlobalSecondaryIndexes": [
                {"IndexName": index["index_name"], "KeySchema": index["key_schema"]}
                for index in schema["global_secondary_indexes"]
            ],
        }
    )


def create_table(
    connection: Connection, name: str, *, sleep: Callable[[float], None], tries: int = 300
) -> None:
    """Create the table unless it is there, and return when it is active. Safe to repeat."""
    schema = Row._get_schema()
    try:
        connection.create_table(
            name,
            attribute_definitions=schema["attribute_definitions"],
            key_schema=schema["key_schema"],
            global_secondary_indexes=schema["global_secondary_indexes"],
            stream_specification={
                "stream_enabled": True,
                "stream_view_type": "NEW_AND_OLD_IMAGES",
            },
            billing_mode=PAY_PER_REQUEST_BILLING_MODE,
        )
    except TableError as error:
        # Somebody else was first, perhaps just now.
        if error.cause_response_code != "ResourceInUseException":
            raise
    for _ in range(tries):
        if _is_active(connection, name):
            return
        sleep(0.2)
    raise BusyError(f"the table {name} is still being created")


def _is_active(connection: Connection, name: str) -> bool:
    try:
        description = connection.describe_table(name)
    except TableDoesNotExist:
        # DescribeTable may lag behind CreateTable.
        return False
    indexes = description.get("GlobalSecondaryIndexes", ())
    states = [description["TableStatus"], *(i.get("IndexStatus", "ACTIVE") for i in indexes)]
    return all(state == "ACTIVE" for state in states)
