"""How a shelf's file is opened, and the rules every connection follows.

The settings are those of decisions.md, each there because something was lost or torn without it: WAL with
`synchronous=FULL`, `BEGIN IMMEDIATE` for all that writes, secure delete, no memory map, and a checksum on every
page (cksumvfs), without which one flipped bit in five is served as memory. One connection per thread and shelf, one
writer per process, none across a fork. Nothing in this process may open the file by other means: closing any
descriptor of it drops SQLite's locks, and with them other processes' acknowledged writes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import apsw.sqlite_extra

from mnemic.errors import Conflict, Damaged, DiskFull, StoreError

OLDEST_SAFE = 3_051_003
"""SQLite up to 3.51.2 can lose committed pages when two processes checkpoint (https://sqlite.org/wal.html)."""

VFS = "cksmvfs"
"""The layer below the engine: page checksums. Fault tests put one of their own on top of it."""

RESTORE = "restore a backup with `mnemic restore FILE`"
FULL = "the disk is full, this was not stored: free some space and repeat"
BUSY_MS = 30_000
LIMIT_BYTES = 64_000_000
"""The largest value a row may hold; a message's own limit is far lower."""

_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "secure_delete = ON",
    "mmap_size = 0",
    "temp_store = MEMORY",
    "cache_size = -32000",
    "wal_autocheckpoint = 2000",
)
_extension = threading.Lock()


def engine() -> str:
    """The version of the SQLite that apsw carries."""
    return apsw.sqlite_lib_version()


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn the engine's errors into ours, most specific first."""
    try:
        yield
    except apsw.BusyError as error:
        raise Conflict(f"{what} is locked by another process for over {BUSY_MS // 1000} s: try again") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise Damaged(f"{what} is damaged ({error}): keep the file, and {RESTORE}") from error
    except apsw.FullError as error:
        raise DiskFull(f"{what}: {FULL}") from error
    except apsw.ReadOnlyError as error:
        raise StoreError(f"{what} cannot be written: it is read-only; check its permissions") from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            raise DiskFull(f"{what}: {FULL}") from error
        if "checksum" in str(error).lower() or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
            raise Damaged(f"{what} has a damaged page: keep the file, and {RESTORE}") from error
        raise StoreError(
            f"{what}: the disk failed ({error}), the last write may be kept or not: look after the disk, open the home"
            " again and repeat; what was kept is recognised"
        ) from error
    except apsw.CantOpenError as error:
        raise StoreError(f"{what} cannot be opened: check that its folder exists and is yours") from error
    except apsw.Error as error:
        raise StoreError(f"{what}: {error}") from error


def connect(path: Path, *, create: bool = True) -> apsw.Connection:
    """Open one file with all the settings; a new one gets room for its page checksums first."""
    if apsw.SQLITE_VERSION_NUMBER < OLDEST_SAFE:
        raise StoreError(f"SQLite {engine()} can lose writes of several processes: install apsw 3.51.3 or newer")
    _load_checksums()
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    with translated(path.name):
        db = apsw.Connection(str(path), flags=flags, vfs=VFS)
        db.set_busy_timeout(BUSY_MS)
        db.limit(apsw.SQLITE_LIMIT_LENGTH, LIMIT_BYTES)
        if create and not db.pragma("schema_version"):
            db.reserve_bytes("main", 8)
        for setting in _SETTINGS:
            db.execute(f"PRAGMA {setting}")
    return db


def _load_checksums() -> None:
    with _extension:
        if "cksmvfs" not in apsw.vfs_names():
            memory = apsw.Connection(":memory:")
            apsw.sqlite_extra.load(memory, "cksumvfs")
            memory.close()


class Database:
    """One shelf: its file, a connection for every thread that asks, and the write lock of this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._all: list[tuple[int, threading.Thread, apsw.Connection]] = []
        self._guard = threading.Lock()
        self.writing = threading.RLock()

    def connection(self) -> apsw.Connection:
        """This thread's connection, opened when first needed and never carried over a fork."""
        pid = os.getpid()
        if getattr(self._local, "pid", None) != pid:
            # A file that is gone while others have it open is not begun anew beside what they write.
            db = connect(self.path, create=not self._all)
            with translated(self.path.name):
                db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, fulltext, row)")
            self._local.db, self._local.pid = db, pid
            with self._guard:
                self._all.append((pid, threading.current_thread(), db))
                self._drop_orphans(pid)
        return self._local.db  # type: ignore[no-any-return]

    def _drop_orphans(self, pid: int) -> None:
        """Close the connections of threads that have ended: a server makes a thread for every request."""
        orphans = [entry for entry in self._all if entry[0] == pid and not entry[1].is_alive()]
        self._all = [entry for entry in self._all if entry not in orphans]
        for _, _, db in orphans:
            db.close()

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """All that happens inside is committed together, or not at all. Does not nest."""
        with self.writing, translated(self.path.name):
            db = self.connection()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            finally:
                # After some errors SQLite has rolled back by itself, after others it has not.
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """Several reads that see one state of this shelf."""
        with translated(self.path.name):
            db = self.connection()
            if db.in_transaction:
                yield db
                return
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("COMMIT")

    def rows(self, sql: str, bindings: Any = ()) -> list[tuple[Any, ...]]:
        """All rows of one query."""
        with translated(self.path.name):
            return self.connection().execute(sql, bindings).fetchall()

    def row(self, sql: str, bindings: Any = ()) -> tuple[Any, ...] | None:
        """The first row of one query."""
        with translated(self.path.name):
            found: tuple[Any, ...] | None = self.connection().execute(sql, bindings).fetchone()
            return found

    def close(self) -> None:
        """Close every connection that this process opened; a parent's are left to the parent."""
        with self._guard:
            mine = [entry[2] for entry in self._all if entry[0] == os.getpid()]
            self._all = [entry for entry in self._all if entry[0] != os.getpid()]
        for db in mine:
            db.close()
        self._local = threading.local()
