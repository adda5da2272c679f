"""Every number that bounds the engine, with the reason where it is not obvious."""

MAX_NAME_BYTES = 512
MAX_REQUEST_ID = 64
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_VALUE_BYTES = 2 * 1024 * 1024
# A Lambda answer is limited to 6 MB after being escaped into JSON once more.
MAX_ANSWER_BYTES = 5_500_000
MAX_EXCHANGE_BYTES = 4 * 1024 * 1024
# Values above this stand in an item of their own, so that the head stays small.
INLINE_VALUE_BYTES = 1024
# Values above this live in S3: an item holds 400 KB.
ITEM_VALUE_BYTES = 256 * 1024
LIST_VALUE_BYTES = 16 * 1024

# Write units follow the item's size: a commit cuts the tail above the first, an inbound
# append above the second, and nothing is appended to a tail above the third.
TAIL_AFTER_COMMIT = 600
TAIL_AFTER_INBOUND = 2_400
TAIL_FULL = 64 * 1024
# An update expression is at most 4 KB and 300 operators.
MAX_CUT = 200
MAX_BATCH_BYTES = 200 * 1024

MAX_TIMER_SECS = 100 * 366 * 86_400.0
MAX_WAIT_SECS = 20.0
MAX_EAGER = 50
OWED_SECS = 10.0
CHILD_CHECK_SECS = 3600.0
CANCEL_GRACE_SECS = 60.0
MAX_REFUSALS = 3
MAX_CLOCK_SKEW_SECS = 5.0
# Legacy workers prove a lease by their name alone; clocks of two functions differ.
LEGACY_ARRIVAL_SLACK_SECS = 10.0
# A leased entry is left in the index this long before its finder pushes it on.
PUSH_AFTER_SECS = 2.0

DEFAULT_NAMESPACE = "main"
DEFAULT_REST_QUEUE = "main"
DEFAULT_COMMAND_QUEUE = "default"
