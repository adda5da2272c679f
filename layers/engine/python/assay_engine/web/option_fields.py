"""How the specification describes fields that the use case reads itself, so that a wrong one
is a 400 which names it. At run time they are any JSON; null is the same as absent."""

from typing import Any

from msgspec import Meta

NUMBER, TEXT, BOOLEAN = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
_DURATION = {"anyOf": [NUMBER, TEXT]}


def field(about: str, *kinds: dict[str, Any]) -> Meta:
    return Meta(description=about, extra_json_schema={"anyOf": [*kinds, {"type": "null"}]})


def duration(about: str) -> Meta:
    return field(f"{about}. Seconds, or text like 250ms, 90s, 1h30m, 2d", NUMBER, TEXT)


def one_of(about: str, *names: str) -> Meta:
    return field(about, {"type": "string", "enum": list(names)})


ID_CONFLICT = one_of("What if an open run has the id", "fail", "use_existing", "terminate_existing")
ID_REUSE = one_of(
    "What if a run that has ended has the id",
    *("allow_duplicate", "allow_duplicate_failed_only", "reject_duplicate"),
)
EXECUTION_ERROR = field(
    "Where there is no id_conflict_policy: true is `fail`, false `use_existing`", BOOLEAN
)
MESSAGES = field(
    "Signals that are there when the run begins",
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": TEXT, "payload": {}},
            "required": ["name"],
        },
    },
)
MEMO = field("Kept in the record, not indexed", {"type": "object"})
CONTEXT = field("Handed out with tasks; inherited by what the run starts", {"type": "object"})
RETRY_POLICY = field(
    "Whether and when a run that failed is started again",
    {
        "type": "object",
        "properties": {
            "initial_interval": _DURATION,
            "backoff_coefficient": NUMBER,
            "maximum_interval": _DURATION,
            "maximum_attempts": {"type": "integer"},
            "non_retryable_kinds": {"type": "array", "items": TEXT},
        },
    },
)
PARENT_CLOSE = one_of(
    "Of a child; on a start it is only checked", "terminate", "abandon", "request_cancel"
)
WAIT_FOR_CANCELLATION = field("Of a child; on a start it is only checked", BOOLEAN)
EAGER_START = field("Whether `worker_id` takes the first task with the answer", BOOLEAN)
WORKER = field("The worker that starts the run and takes its first task", TEXT)
LEASE = field("The token of that task's lease, if not one of the engine's", TEXT)
CRON = field("Not supported yet", TEXT)
