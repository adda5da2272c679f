"""How far the stream was delivered, kept in the table itself, one item a shard.

It only ever goes forward, whoever writes it: several `assay serve` may share the table.
"""

from typing import Any

from .aws_json import AwsJson, CallRefusedError

PARTITION = "serve"
# Sequence numbers are text of different lengths (AWS: up to 40 digits, too many for a number);
# padded, they compare as the integers they are. A service takes back only its own spelling.
_DIGITS = 40


class Checkpoint:
    def __init__(self, service: AwsJson, table: str) -> None:
        self._service = service
        self._table = table

    def load(self, shard: str) -> str | None:
        asked = {"TableName": self._table, "Key": _key(shard), "ConsistentRead": True}
        item = self._service.table("GetItem", asked).get("Item")
        return str(item["at"]["S"]) if item else None

    def save(self, shard: str, position: str) -> bool:
        """Whether it was moved; not if somebody else is further already."""
        try:
            self._service.table(
                "UpdateItem",
                {
                    "TableName": self._table,
                    "Key": _key(shard),
                    "UpdateExpression": "SET seq = :new, #at = :at",
                    "ConditionExpression": "attribute_not_exists(seq) OR seq < :new",
                    "ExpressionAttributeNames": {"#at": "at"},
                    "ExpressionAttributeValues": {
                        ":new": {"S": position.zfill(_DIGITS)},
                        ":at": {"S": position},
                    },
                },
            )
        except CallRefusedError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return False
        return True


def _key(shard: str) -> dict[str, Any]:
    return {"pk": {"S": PARTITION}, "sk": {"S": f"stream#{shard}"}}


def is_own(record: dict[str, Any]) -> bool:
    """Whether a stream record is about a checkpoint, which nobody wants to hear of."""
    return bool(record["dynamodb"]["Keys"].get("pk") == {"S": PARTITION})
