"""What is wrong with the files of a home: all that can be found, not only the first.

A damaged page ends SQLite's own check of a file (page checksums make reading it an error), so a file that does not
pass as a whole is checked again table by table. What is found is told, never raised.
"""

from __future__ import annotations

from pathlib import Path

from mnemic.errors import StoreError
from mnemic.store.sqlite import migrations
from mnemic.store.sqlite.connection import RESTORE, Database, translated
from mnemic.store.sqlite.shelves import FILES

SHOWN = 5
"""Problems told of one table: a torn page can make thousands."""


def examine_home(folder: Path) -> list[str]:
    """The problems of all three files of a home that need not open as one."""
    found: list[str] = []
    for name in FILES.values():
        base = Database(folder / name)
        if not base.path.exists():
            found.append(f"{name} is missing: put it back, or {RESTORE}")
            continue
        found += examine(base)
        base.close()
    return found


def examine(base: Database) -> list[str]:
    """The problems of one file, each with what to do next; empty if there are none."""
    name = base.path.name
    try:
        with translated(name):
            begun = migrations.check(base.connection(), name)
            torn = base.path.stat().st_size % int(base.connection().pragma("page_size"))
        if not begun:
            return [f"{name} is empty: put it back, or {RESTORE}"]
    except StoreError as error:
        return [str(error)]
    if torn:
        # SQLite takes the rest of a page that is cut off for zeros, and the checksum is not looked at then.
        return [f"{name} was cut off within a page: {RESTORE}"]
    try:
        found = _quick(base)
    except StoreError as error:
        found = _tables(base)
        if not found:
            return [str(error)]
    return [f"{name}: {problem}: {RESTORE}" for problem in found] + _words(base)


def _quick(base: Database, what: str = str(SHOWN)) -> list[str]:
    """SQLite's own check of a file, or of one table of it with its indexes. Raises StoreError at a damaged page."""
    return [str(row[0]) for row in base.rows(f"PRAGMA quick_check({what})") if row[0] != "ok"][:SHOWN]


def _tables(base: Database) -> list[str]:
    """Each table that does not pass by itself."""
    try:
        names = [str(row[0]) for row in base.rows("SELECT name FROM sqlite_schema WHERE type='table' AND rootpage>0")]
    except StoreError:
        return []
    found: list[str] = []
    for table in names:
        try:
            found += [f"table {table}: {problem}" for problem in _quick(base, f"'{table}'")]
        except StoreError:
            found.append(f"table {table} has a damaged page")
    return found


def _words(base: Database) -> list[str]:
    """Whether the full-text index is whole in itself."""
    try:
        with base.transaction() as db:
            db.execute("INSERT INTO fulltext(fulltext) VALUES('integrity-check')")
    except StoreError:
        return [f"{base.path.name}: the full-text index is not whole: run `mnemic reindex`, and if that fails, {RESTORE}"]
    return []
