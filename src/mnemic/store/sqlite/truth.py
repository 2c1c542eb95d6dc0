"""Rows of truth: read as they stand, changed only by applying images of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from mnemic.errors import Conflict
from mnemic.models.event import Change, Row
from mnemic.store.schema import TRUTH, Table


def _where(table: Table) -> str:
    return " AND ".join(("ns=?", *(f"{column}=?" for column in table.key)))


def get(db: apsw.Connection, ns: int, name: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
    """One row by its key."""
    table = TRUTH[name]
    sql = f"SELECT {', '.join(table.columns)} FROM {name} WHERE {_where(table)}"
    found = db.execute(sql, (ns, *key)).fetchone()
    return None if found is None else dict(zip(table.columns, found, strict=True))


def every(db: apsw.Connection, ns: int, name: str) -> Iterator[Row]:
    """All rows of a namespace, in key order."""
    table = TRUTH[name]
    sql = f"SELECT {', '.join(table.columns)} FROM {name} WHERE ns=? ORDER BY {', '.join(table.key)}"
    for found in db.execute(sql, (ns,)):
        yield dict(zip(table.columns, found, strict=True))


def apply(db: apsw.Connection, ns: int, changes: Iterable[Change]) -> None:
    """Write after-images, each only if the row still is what its before-image says."""
    for change in changes:
        table = TRUTH[change.table]
        current = get(db, ns, change.table, change.key)
        if current != (None if change.before is None else dict(change.before)):
            raise Conflict(
                f"{change.table} {'/'.join(map(str, change.key))!r} has changed since: read it again and repeat"
            )
        if change.after is None:
            db.execute(f"DELETE FROM {change.table} WHERE {_where(table)}", (ns, *change.key))
            continue
        values = tuple(change.after[column] for column in table.columns)
        if current is None:
            marks = ",".join("?" * (len(table.columns) + 1))
            db.execute(f"INSERT INTO {change.table}(ns, {', '.join(table.columns)}) VALUES({marks})", (ns, *values))
        else:
            sets = ", ".join(f"{column}=?" for column in table.columns)
            db.execute(f"UPDATE {change.table} SET {sets} WHERE {_where(table)}", (*values, ns, *change.key))
