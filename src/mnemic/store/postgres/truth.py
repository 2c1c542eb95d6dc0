"""Rows of truth: read as they stand, changed only by applying images of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import psycopg

from mnemic.models.event import Change, Row
from mnemic.store.postgres.connection import Params, Rows, Statement, Write
from mnemic.store.rows import changed, conditions, known, no_room
from mnemic.store.schema import TRUTH, Table

Ask = Callable[[str, Params], Rows]
"""Runs a query as its namespace sees it: within a write, or as a read."""
NULLABLE = frozenset({
    "session", "text_id", "source", "forgotten_at", "tier", "extracted_at", "extraction", "valid_to", "retired_at",
    "check_by", "supersedes", "superseded_by", "rival", "approved", "approved_by", "parent", "dedupe_key", "verified_at",
})  # fmt: skip
"""Columns that may be null: they come first, as in SQLite. Saying so of others would keep an index from being used."""


def _where(table: Table) -> str:
    return " AND ".join(("ns=%s", *(f"{column}=%s" for column in table.key)))


def _one(table: Table) -> str:
    return f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {_where(table)}"


def get(ask: Ask, ns: int, name: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
    """One row by its key."""
    table = TRUTH[name]
    found = ask(_one(table), (ns, *key))
    return dict(zip(table.columns, found[0], strict=True)) if found else None


def page(ask: Ask, ns: int, name: str, after: tuple[Any, ...] | None, limit: int) -> list[dict[str, Any]]:
    """The rows of a namespace that follow a key, in key order."""
    table = TRUTH[name]
    key = ", ".join(table.key)
    beyond = "" if after is None else f" AND ({key}) > ({', '.join(['%s'] * len(table.key))})"
    query = f"SELECT {', '.join(table.columns)} FROM {name} WHERE ns=%s{beyond} ORDER BY {key} LIMIT %s"
    return [dict(zip(table.columns, row, strict=True)) for row in ask(query, (ns, *(after or ()), limit))]


def select(ask: Ask, ns: int, name: str, where: Mapping[str, Any], limit: int, newest: bool, by: Sequence[str] = ()) -> list[Row]:
    """Rows whose columns equal what is given; `None` asks for null. Raises KeyError for a column the table has not."""
    table = TRUTH[name]
    tests, values = conditions(table, where, "%s")
    known(table, by)
    order = ", ".join(_ordered(column, newest) for column in (*by, *table.key))
    query = f"SELECT {', '.join(table.columns)} FROM {name} WHERE {tests} ORDER BY {order} LIMIT %s"
    rows = ask(query, (ns, *values, None if limit < 0 else limit))
    return [dict(zip(table.columns, row, strict=True)) for row in rows]


def _ordered(column: str, newest: bool) -> str:
    nulls = ("", "") if column not in NULLABLE else (" NULLS FIRST", " NULLS LAST")
    return f"{column} DESC{nulls[1]}" if newest else f"{column}{nulls[0]}"


def count(ask: Ask, ns: int, name: str, where: Mapping[str, Any]) -> int:
    """How many rows `select` would give. Raises KeyError for a column the table has not."""
    tests, values = conditions(TRUTH[name], where, "%s")
    return int(ask(f"SELECT count(*) FROM {name} WHERE {tests}", (ns, *values))[0][0])


def apply(write: Write, changes: Iterable[Change]) -> None:
    """Write after-images, each only if the row still is what its before-image says, and none breaks a unique index."""
    todo = list(changes)
    statements = [_statements(write.space, change) for change in todo]
    try:
        answers = iter(write.together([one for some in statements for one in some]))
    except psycopg.errors.UniqueViolation as error:
        # An insertion gives way, so it was an update; of several the server says the table of one, or of a part of it.
        names = [change for change in todo if str(error.diag.table_name).startswith(change.table) and change.before is not None]
        if not names:
            raise
        raise no_room(names[0]) from None
    for change, some in zip(todo, statements, strict=True):
        _check(write, change, [next(answers) for _ in some])


def _statements(ns: int, change: Change) -> list[Statement]:
    """What makes a change; where there should be a row already, after what reads it."""
    table = TRUTH[change.table]
    values = () if change.after is None else tuple(change.after[column] for column in table.columns)
    if change.before is None and change.after is not None:
        marks = ",".join(["%s"] * (len(table.columns) + 1))
        insert = f"INSERT INTO {table.name}(ns, {', '.join(table.columns)}) VALUES({marks}) ON CONFLICT DO NOTHING"
        return [(insert, (ns, *values))]
    read = (_one(table), (ns, *change.key))
    if change.after is None:
        return [read, (f"DELETE FROM {table.name} WHERE {_where(table)}", (ns, *change.key))]
    sets = ", ".join(f"{column}=%s" for column in table.columns)
    return [read, (f"UPDATE {table.name} SET {sets} WHERE {_where(table)}", (*values, ns, *change.key))]


def _check(write: Write, change: Change, answers: Sequence[psycopg.Cursor[Any]]) -> None:
    """Raise Conflict where the row was not what the change is based on."""
    table = TRUTH[change.table]
    if len(answers) == 1:
        if not answers[0].rowcount:
            raise changed(change) if get(write.rows, write.space, table.name, change.key) is not None else no_room(change)
        return
    found = answers[0].fetchone()
    current = dict(zip(table.columns, found, strict=True)) if found else None
    if current != (None if change.before is None else dict(change.before)):
        raise changed(change)
