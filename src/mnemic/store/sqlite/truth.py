"""Rows of truth: read as they stand, changed only by applying images of them.

A digest is written as its 32 bytes and read as 64 hexadecimal digits, which is what images hold; rows of before schema 8
hold the digits until they change. Every document has one in a row that never leaves the hot shelf, every message too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw

from mnemic.models.event import Change, Row
from mnemic.store.rows import changed, conditions, known, no_room
from mnemic.store.schema import TRUTH, Table

_HEX = re.compile("[0-9a-f]{64}")


DIGEST = "iif(typeof(digest)='blob', lower(hex(digest)), digest)"
"""Digits again, in SQL."""


def packed(digest: Any) -> Any:
    """The bytes of a digest; anything else as it is."""
    return bytes.fromhex(digest) if isinstance(digest, str) and _HEX.fullmatch(digest) else digest


def _row(table: Table, found: tuple[Any, ...]) -> dict[str, Any]:
    row = dict(zip(table.columns, found, strict=True))
    if table.digests and isinstance(row["digest"], bytes):
        row["digest"] = row["digest"].hex()
    return row


def _where(table: Table) -> str:
    return " AND ".join(("ns=?", *(f"{column}=?" for column in table.key)))


def get(db: apsw.Connection, ns: int, name: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
    """One row by its key."""
    table = TRUTH[name]
    sql = f"SELECT {', '.join(table.columns)} FROM {name} WHERE {_where(table)}"
    found = db.execute(sql, (ns, *key)).fetchone()
    return None if found is None else _row(table, found)


def every(db: apsw.Connection, ns: int, name: str) -> Iterator[Row]:
    """All rows of a namespace, in key order."""
    table = TRUTH[name]
    sql = f"SELECT {', '.join(table.columns)} FROM {name} WHERE ns=? ORDER BY {', '.join(table.key)}"
    for found in db.execute(sql, (ns,)):
        yield _row(table, found)


def select(
    db: apsw.Connection, ns: int, name: str, where: Mapping[str, Any], limit: int, newest: bool, by: Sequence[str] = ()
) -> list[Row]:
    """Rows whose columns equal what is given; `None` asks for null. Raises KeyError for a column the table has not."""
    table = TRUTH[name]
    tests, values = conditions(table, where, "?")
    known(table, by)
    order = ", ".join(f"{column} DESC" if newest else column for column in (*by, *table.key))
    sql = f"SELECT {', '.join(table.columns)} FROM {name} WHERE {tests} ORDER BY {order} LIMIT ?"
    return [_row(table, row) for row in db.execute(sql, (ns, *values, limit))]


def count(db: apsw.Connection, ns: int, name: str, where: Mapping[str, Any]) -> int:
    """How many rows `select` would give. Raises KeyError for a column the table has not."""
    tests, values = conditions(TRUTH[name], where, "?")
    found: Any = db.execute(f"SELECT count(*) FROM {name} WHERE {tests}", (ns, *values)).fetchone()
    return int(found[0])


def apply(db: apsw.Connection, ns: int, changes: Iterable[Change]) -> None:
    """Write after-images, each only if the row still is what its before-image says, and none breaks a unique index."""
    for change in changes:
        try:
            _apply(db, ns, change)
        except apsw.ConstraintError:
            raise no_room(change) from None


def _apply(db: apsw.Connection, ns: int, change: Change) -> None:
    table = TRUTH[change.table]
    current = get(db, ns, change.table, change.key)
    if current != (None if change.before is None else dict(change.before)):
        raise changed(change)
    if change.after is None:
        db.execute(f"DELETE FROM {change.table} WHERE {_where(table)}", (ns, *change.key))
        return
    values = tuple(packed(change.after[column]) if column == "digest" else change.after[column] for column in table.columns)
    if current is None:
        marks = ",".join("?" * (len(table.columns) + 1))
        db.execute(f"INSERT INTO {change.table}(ns, {', '.join(table.columns)}) VALUES({marks})", (ns, *values))
    else:
        sets = ", ".join(f"{column}=?" for column in table.columns)
        db.execute(f"UPDATE {change.table} SET {sets} WHERE {_where(table)}", (*values, ns, *change.key))
