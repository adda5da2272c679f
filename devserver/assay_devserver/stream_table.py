"""What dynoxide's stream lacks: an index, and an end.

dynoxide 1.2.1 keeps stream records in an SQLite table that it scans for each write and each
read: with 20,000 records a PutItem takes 10 ms instead of 1. So the index is made here, and
records that were delivered are removed. Only speed depends on it: without the table, nothing.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_POSITION = "CAST(sequence_number AS INTEGER)"
_ROWS_AT_ONCE = 500
# dynoxide waits for a lock too; neither holds it for more than some milliseconds.
_LOCK_SECS = 5.0


def add_index(database: Path) -> None:
    with _connected(database) as connection:
        connection.execute(
            "CREATE INDEX IF NOT EXISTS assay_stream_position"
            f" ON _stream_records (table_name, {_POSITION})"
        )


def trim(database: Path, table: str, before: int) -> None:
    """Remove the records below `before`. The last one has to stay: dynoxide counts from it."""
    select = (
        f"SELECT id FROM _stream_records WHERE table_name = ? AND {_POSITION} < ?"
        f" AND {_POSITION} < (SELECT MAX({_POSITION}) FROM _stream_records WHERE table_name = ?)"
        f" ORDER BY {_POSITION} LIMIT {_ROWS_AT_ONCE}"
    )
    removed = _ROWS_AT_ONCE
    with _connected(database) as connection:
        while removed == _ROWS_AT_ONCE:
            with connection:
                removed = connection.execute(
                    f"DELETE FROM _stream_records WHERE id IN ({select})", (table, before, table)
                ).rowcount


@contextmanager
def _connected(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database, timeout=_LOCK_SECS)) as connection:
        try:
            yield connection
            connection.commit()
        except sqlite3.OperationalError:
            # Another version's table, or busy for too long: slower, not wrong.
            return
