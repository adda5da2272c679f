"""Where the local engine keeps what must survive it, or a place of its own for what need not.

One process at a time: the lock is the kernel's, so it goes with the process, however that ends.
"""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO

from .options import ServeError

DATABASE, BLOBS, LOCK = "assay.db", "blobs", "lock"
_MEMORY_PREFIX = "assay-memory-"
# A directory without a holder is a leftover only once its maker had time to lock it.
_LEFTOVER_AFTER_SECS = 60.0


class DataDirectory:
    def __init__(self, path: Path, lock: IO[str] | None, *, temporary: bool = False) -> None:
        self.path = path
        self._lock = lock
        self._temporary = temporary

    @property
    def database(self) -> Path:
        return self.path / DATABASE

    @property
    def blobs(self) -> Path:
        return self.path / BLOBS

    def release(self) -> None:
        if self._temporary:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()


def durable(path: Path, *, exclusive: bool) -> DataDirectory:
    """`path`, made if need be. Exclusive where its database is ours to write."""
    path = path.absolute()
    try:
        (path / BLOBS).mkdir(parents=True, exist_ok=True)
        for used in (path, path / BLOBS):
            _check_access(used, os.R_OK | os.W_OK | os.X_OK)
        if (path / DATABASE).exists():
            _check_access(path / DATABASE, os.R_OK | os.W_OK)
        lock = _locked(path) if exclusive else None
    except BlockingIOError:
        raise ServeError(
            f"the data directory {path} is in use by another assay serve{_holder(path)}"
        ) from None
    except OSError as error:
        raise ServeError(
            f"the data directory {path} cannot be used: {error.strerror or error}"
        ) from None
    return DataDirectory(path, lock)


def in_memory() -> DataDirectory:
    """A private directory that ends with this process, in memory where the system offers that."""
    shared_memory = Path("/dev/shm")
    usable = shared_memory.is_dir() and os.access(shared_memory, os.W_OK | os.X_OK)
    root = shared_memory if usable else Path(tempfile.gettempdir())
    _sweep(root)
    path = Path(tempfile.mkdtemp(prefix=_MEMORY_PREFIX, dir=root))
    (path / BLOBS).mkdir()
    return DataDirectory(path, _locked(path), temporary=True)


def _sweep(root: Path) -> None:
    """Remove what processes left that had no chance to clean up."""
    for path in root.glob(f"{_MEMORY_PREFIX}*"):
        try:
            if time.time() - path.stat().st_mtime < _LEFTOVER_AFTER_SECS:
                continue
            lock = _locked(path)
        except OSError:
            continue  # held, or somebody else's
        shutil.rmtree(path, ignore_errors=True)
        lock.close()


def _check_access(path: Path, mode: int) -> None:
    if not os.access(path, mode):
        raise PermissionError(13, f"no permission to read and write {path}")


def _locked(path: Path) -> IO[str]:
    lock = (path / LOCK).open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def _holder(path: Path) -> str:
    try:
        holder = (path / LOCK).read_text().strip()
    except OSError:
        return ""
    return f" (process {holder})" if holder.isdigit() else ""
