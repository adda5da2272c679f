import os

import pytest

from assay_devserver import data_dir
from assay_devserver.options import ServeError


def test_a_directory_is_made_and_has_one_holder_at_a_time(tmp_path):
    path = tmp_path / "deep" / "data"
    held = data_dir.durable(path, exclusive=True)
    assert (held.database, held.blobs.is_dir()) == (path / "assay.db", True)
    with pytest.raises(ServeError, match=f"in use by another assay serve .process {os.getpid()}"):
        data_dir.durable(path, exclusive=True)
    held.release()
    data_dir.durable(path, exclusive=True).release()
    assert path.is_dir()


def test_who_only_keeps_blobs_there_shares_it(tmp_path):
    for _ in range(2):
        data_dir.durable(tmp_path, exclusive=False)


def test_a_private_directory_goes_with_its_holder():
    held = data_dir.in_memory()
    assert held.blobs.is_dir()
    held.release()
    assert not held.path.exists()


def test_what_a_killed_process_left_is_swept_up_and_what_is_held_is_not():
    left, held = data_dir.in_memory(), data_dir.in_memory()
    left._lock.close()
    for directory in (left, held):
        os.utime(directory.path, (0, 0))
    data_dir.in_memory().release()
    assert (left.path.exists(), held.path.exists()) == (False, True)
    held.release()
