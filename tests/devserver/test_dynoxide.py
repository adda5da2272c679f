"""The embedded store as a process: it starts, dies with its parent, comes back, stays quick."""

import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from assay_devserver.aws_json import UnreachableError
from assay_devserver.dynoxide import Dynoxide, find_binary
from assay_devserver.options import ServeError

TABLE = "assay"
PATIENCE = 30


# The store's own two queries, one for each write and one for each read of the stream.
NEXT_NUMBER = """
    SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1
    FROM _stream_records WHERE table_name = 'assay'"""
NEXT_RECORDS = """
    SELECT keys_json FROM _stream_records
    WHERE table_name = 'assay' AND shard_id = 's' AND CAST(sequence_number AS INTEGER) > 7
    ORDER BY CAST(sequence_number AS INTEGER) ASC LIMIT 100"""


def stream_positions(database):
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT CAST(sequence_number AS INTEGER) FROM _stream_records")
        return sorted(position for (position,) in rows)


def test_the_binary_is_found_from_any_folder_below(tmp_path, monkeypatch, binary):
    monkeypatch.setenv("ASSAY_DYNOXIDE", str(binary))
    assert find_binary(tmp_path) == binary
    monkeypatch.setenv("ASSAY_DYNOXIDE", str(tmp_path / "missing"))
    assert find_binary() is None


def test_a_store_that_dies_alone_comes_back_on_its_port(binary, tmp_path, put, new_table):
    died = threading.Event()
    store = Dynoxide(binary, tmp_path / "assay.db", died=died.set)
    store.start()
    try:
        service = new_table(store.endpoint)
        put(service, "kept")
        endpoint = store.endpoint
        os.kill(store.pid, signal.SIGKILL)
        assert died.wait(PATIENCE)
        with pytest.raises(UnreachableError):
            put(service, "refused")
        store.revive()
        assert store.endpoint == endpoint
        assert service.table("Scan", {"TableName": TABLE})["Count"] == 1
    finally:
        store.stop()


def test_stopping_is_not_dying(binary, tmp_path):
    died = threading.Event()
    store = Dynoxide(binary, tmp_path / "assay.db", died=died.set)
    store.start()
    store.stop()
    assert not died.is_set()


def test_the_port_is_given_to_nobody_else_while_the_store_is_down(binary, tmp_path):
    store = Dynoxide(binary, tmp_path / "assay.db")
    with socket.socket() as thief, pytest.raises(OSError, match="in use"):
        thief.bind(("127.0.0.1", store.port))
    store.stop()


@pytest.mark.parametrize("content", [b"not a database, " * 512])
def test_a_store_that_cannot_start_says_why_in_one_line(binary, tmp_path, content):
    database = tmp_path / "assay.db"
    database.write_bytes(content)
    with pytest.raises(ServeError, match=r"the store did not start: error: .*not a valid SQLite"):
        Dynoxide(binary, database).start()


PARENT = """
import sys, time
from pathlib import Path
from assay_devserver.dynoxide import Dynoxide
store = Dynoxide(Path(sys.argv[1]), Path(sys.argv[2]))
store.start()
print(store.pid, flush=True)
time.sleep(600)
"""


def test_the_store_dies_with_a_parent_killed_by_sigkill(binary, tmp_path):
    arguments = [sys.executable, "-c", PARENT, str(binary), str(tmp_path / "assay.db")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as parent:
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
        try:
            # A process descriptor becomes readable when the process has ended.
            assert select.select([child], [], [], PATIENCE)[0]
        finally:
            os.close(child)


def test_the_stream_has_an_index_that_its_queries_use(dynoxide, service, tmp_path):
    with closing(sqlite3.connect(tmp_path / "assay.db")) as connection:
        plans = [
            connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()[0][-1]
            for query in (NEXT_NUMBER, NEXT_RECORDS)
        ]
    assert all("USING INDEX assay_stream_position" in plan for plan in plans), plans


def test_delivered_records_are_removed_but_never_the_last(dynoxide, service, put, tmp_path):
    for number in range(5):
        put(service, str(number))
    dynoxide.trim(TABLE, 3)
    assert stream_positions(tmp_path / "assay.db") == [3, 4, 5]
    dynoxide.trim("another table", 99)
    assert stream_positions(tmp_path / "assay.db") == [3, 4, 5]
    dynoxide.trim(TABLE, 99)
    assert stream_positions(tmp_path / "assay.db") == [5]
    put(service, "next")
    assert stream_positions(tmp_path / "assay.db") == [5, 6]


def test_trimming_disturbs_no_write(dynoxide, service, put, tmp_path):
    """Two processes write one SQLite file: each waits for the other."""
    writing = threading.Event()

    def trim_all_the_time():
        while not writing.is_set():
            dynoxide.trim(TABLE, 10**9)

    trimmer = threading.Thread(target=trim_all_the_time)
    trimmer.start()
    try:
        for number in range(400):
            put(service, str(number))
    finally:
        writing.set()
        trimmer.join()
    assert service.table("Scan", {"TableName": TABLE, "Select": "COUNT"})["Count"] == 400
    assert stream_positions(tmp_path / "assay.db")[-1] == 400
