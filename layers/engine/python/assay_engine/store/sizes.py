"""How many bytes an item has for DynamoDB, which limits and charges by it."""

from typing import Any

MAX_ITEM_BYTES = 400 * 1024


def item_bytes(item: dict[str, Any]) -> int:
    return sum(len(name.encode()) + value_bytes(raw) for name, raw in item.items())


def value_bytes(raw: dict[str, Any]) -> int:
    ((tag, value),) = raw.items()
    match tag:
        case "S":
            return len(value.encode())
        case "N":
            return _number_bytes(value)
        case "NS":
            return sum(_number_bytes(member) for member in value)
        case "M":
            return 3 + sum(len(k.encode()) + 1 + value_bytes(v) for k, v in value.items())
        case "L":
            return 3 + sum(1 + value_bytes(element) for element in value)
        case _:
            return 1


def _number_bytes(text: str) -> int:
    """About one byte for two digits, and one more."""
    digits = sum(character.isdigit() for character in text)
    return (digits + 1) // 2 + 1 + text.startswith("-")
