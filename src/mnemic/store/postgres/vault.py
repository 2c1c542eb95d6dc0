"""What is known of the vault's files and the links between them. Derived: a sync makes it anew from the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

from mnemic.store.base import VaultFile
from mnemic.store.postgres.connection import Write
from mnemic.store.postgres.shelves import Shelves

_COLUMNS = tuple(item.name for item in fields(VaultFile))
_FILE = ", ".join(_COLUMNS)
_values = attrgetter(*_COLUMNS)
_MARKS = ",".join(["%s"] * (len(_COLUMNS) + 1))
_SETS = ", ".join(f"{name}=excluded.{name}" for name in _COLUMNS if name != "path")


def put(write: Write, row: VaultFile) -> None:
    """Store what is known of a file."""
    query = f"INSERT INTO vault_files(ns, {_FILE}) VALUES({_MARKS}) ON CONFLICT (ns, path) DO UPDATE SET {_SETS}"
    write.later(query, (write.space, *_values(row)))


def drop(write: Write, path: str) -> None:
    """Forget a file and its links."""
    write.later("DELETE FROM vault_files WHERE ns=%s AND path=%s", (write.space, path))
    write.later("DELETE FROM vault_links WHERE ns=%s AND path=%s", (write.space, path))


def put_links(write: Write, path: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Put a note's links in place of those before."""
    write.later("DELETE FROM vault_links WHERE ns=%s AND path=%s", (write.space, path))
    links = [(write.space, path, place, *row) for place, row in enumerate(rows)]
    write.many("INSERT INTO vault_links VALUES(%s,%s,%s,%s,%s,%s,%s)", links)


def put_rename(write: Write, path: str, target: str | None) -> None:
    """Note a rename that begins; without a target: that it is done."""
    write.later("DELETE FROM vault_renames WHERE ns=%s AND path=%s", (write.space, path))
    if target is not None:
        write.later("INSERT INTO vault_renames VALUES(%s,%s,%s)", (write.space, path, target))


class VaultFiles(Shelves):
    """Reads of what is known of the vault."""

    def vault_files(self, ns: str) -> list[VaultFile]:
        """All files that are known, by path."""
        space = self.space(ns)
        rows = self._rows(space, f"SELECT {_FILE} FROM vault_files WHERE ns=%s ORDER BY path", (space,))
        return [VaultFile(*row) for row in rows]

    def vault_listed(self, ns: str, below: str) -> list[tuple[str, str, str, str]]:
        """What a map shows of the notes below a folder, by path: (path, key, description, status)."""
        space = self.space(ns)
        query = (
            "SELECT path, key, description, status FROM vault_files"
            " WHERE ns=%s AND path>=%s AND path<%s AND state='kept' ORDER BY path"
        )
        rows = self._rows(space, query, (space, below + "/", below + "0"))
        return [(path, key, said, status) for path, key, said, status in rows]

    def vault_file(self, ns: str, path: str) -> VaultFile | None:
        space = self.space(ns)
        found = self._row(space, f"SELECT {_FILE} FROM vault_files WHERE ns=%s AND path=%s", (space, path))
        return None if found is None else VaultFile(*found)

    def vault_named(self, ns: str, key: str) -> list[str]:
        """The files that a link with this key may mean, by path."""
        space = self.space(ns)
        query = "SELECT path FROM vault_files WHERE ns=%s AND key=%s AND state NOT IN ('gone', 'writing') ORDER BY path"
        return [path for (path,) in self._rows(space, query, (space, key))]

    def vault_links(self, ns: str, *, key: str | None = None, path: str | None = None) -> list[tuple[str, str, str, str]]:
        """Links as (note, target, heading, alias), in their order: all, or those with a key, or those of one note."""
        space = self.space(ns)
        query, values = "SELECT path, target, heading, alias FROM vault_links WHERE ns=%s", list[object]([space])
        for column, value in (("key", key), ("path", path)):
            if value is not None:
                query += f" AND {column}=%s"
                values.append(value)
        rows = self._rows(space, query + " ORDER BY path, place", values)
        return [(note, target, heading, alias) for note, target, heading, alias in rows]

    def vault_uncommitted(self, ns: str) -> list[tuple[str, str]]:
        """Files that are not in git as they are, by path: (path, state)."""
        space = self.space(ns)
        query = "SELECT path, state FROM vault_files WHERE ns=%s AND committed=0 ORDER BY path"
        return [(path, state) for path, state in self._rows(space, query, (space,))]

    def vault_renames(self, ns: str) -> list[tuple[str, str]]:
        """Renames that are going on, by path: (path, target)."""
        space = self.space(ns)
        query = "SELECT path, target FROM vault_renames WHERE ns=%s ORDER BY path"
        return [(path, target) for path, target in self._rows(space, query, (space,))]
