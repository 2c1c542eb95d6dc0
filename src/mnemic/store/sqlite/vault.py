"""What is known of the vault's files and the links between them. Derived: a sync makes it anew from the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

import apsw

from mnemic.store.base import VaultFile
from mnemic.store.sqlite.shelves import Shelves

_FILE = (
    "path, key, state, mtime_ns, ctime_ns, size, inode, digest, intent, origin, kind, type, description, status,"
    " committed, why"
)
_values = attrgetter(*(item.name for item in fields(VaultFile)))
_MARKS = ",".join("?" * 17)


def put(db: apsw.Connection, ns: int, row: VaultFile) -> None:
    """Store what is known of a file."""
    db.execute(f"INSERT OR REPLACE INTO vault_files(ns, {_FILE}) VALUES({_MARKS})", (ns, *_values(row)))


def drop(db: apsw.Connection, ns: int, path: str) -> None:
    """Forget a file and its links."""
    db.execute("DELETE FROM vault_files WHERE ns=? AND path=?", (ns, path))
    db.execute("DELETE FROM vault_links WHERE ns=? AND path=?", (ns, path))


def put_links(db: apsw.Connection, ns: int, path: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Put a note's links in place of those before."""
    db.execute("DELETE FROM vault_links WHERE ns=? AND path=?", (ns, path))
    db.executemany(
        "INSERT INTO vault_links VALUES(?,?,?,?,?,?,?)", [(ns, path, place, *row) for place, row in enumerate(rows)]
    )


class VaultFiles(Shelves):
    """Reads of what is known of the vault."""

    def vault_files(self, ns: str) -> list[VaultFile]:
        """All files that are known, by path."""
        sql = f"SELECT {_FILE} FROM vault_files WHERE ns=? ORDER BY path"
        return [VaultFile(*row) for row in self.hot.rows(sql, (self.space(ns),))]

    def vault_listed(self, ns: str, below: str) -> list[tuple[str, str, str, str]]:
        """What a map shows of the notes below a folder, by path: (path, key, description, status)."""
        sql = (
            "SELECT path, key, description, status FROM vault_files"
            " WHERE ns=? AND path>=? AND path<? AND state='kept' ORDER BY path"
        )
        return self.hot.rows(sql, (self.space(ns), below + "/", below + "0"))

    def vault_file(self, ns: str, path: str) -> VaultFile | None:
        found = self.hot.row(f"SELECT {_FILE} FROM vault_files WHERE ns=? AND path=?", (self.space(ns), path))
        return None if found is None else VaultFile(*found)

    def vault_named(self, ns: str, key: str) -> list[str]:
        """The files that a link with this key may mean."""
        sql = "SELECT path FROM vault_files WHERE ns=? AND key=? AND state NOT IN ('gone', 'writing')"
        return [path for (path,) in self.hot.rows(sql, (self.space(ns), key))]

    def vault_links(
        self, ns: str, *, key: str | None = None, path: str | None = None
    ) -> list[tuple[str, str, str, str]]:
        """Links as (note, target, heading, alias): all, or those with a key, or those of one note."""
        sql, bindings = "SELECT path, target, heading, alias FROM vault_links WHERE ns=?", list[object]([self.space(ns)])
        for column, value in (("key", key), ("path", path)):
            if value is not None:
                sql += f" AND {column}=?"
                bindings.append(value)
        return self.hot.rows(sql, bindings)

    def vault_uncommitted(self, ns: str) -> list[tuple[str, str]]:
        """Files that are not in git as they are: (path, state)."""
        sql = "SELECT path, state FROM vault_files INDEXED BY vault_files_uncommitted WHERE ns=? AND committed=0"
        return self.hot.rows(sql, (self.space(ns),))

    def vault_renames(self, ns: str) -> list[tuple[str, str]]:
        """Renames that are going on: (path, target)."""
        return self.hot.rows("SELECT path, target FROM vault_renames WHERE ns=?", (self.space(ns),))
