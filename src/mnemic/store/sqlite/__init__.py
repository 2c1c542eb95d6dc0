"""The SQLite engine: three complete files in one folder, through apsw."""

from mnemic.store.sqlite.store import SqliteStore, open_sqlite

__all__ = ["SqliteStore", "open_sqlite"]
