"""What reading and changing rows of truth is in every engine: which columns may be asked for, and why a change is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mnemic.errors import Conflict
from mnemic.models.event import Change
from mnemic.store.schema import Table


def known(table: Table, columns: Iterable[str]) -> None:
    """Raise KeyError for a column the table has not."""
    if unknown := set(columns) - set(table.columns):
        raise KeyError(f"{table.name} has no column {min(unknown)!r}")


def conditions(table: Table, where: Mapping[str, Any], mark: str) -> tuple[str, list[Any]]:
    """That columns equal what is given, after `ns`, and the values for the marks. Raises KeyError as `known`."""
    known(table, where)
    # Null is written out: a partial index serves only a condition that names it.
    tests = [f"{column} IS NULL" if value is None else f"{column}={mark}" for column, value in where.items()]
    return " AND ".join([f"ns={mark}", *tests]), [value for value in where.values() if value is not None]


def changed(change: Change) -> Conflict:
    """The row is not what the change was based on."""
    return Conflict(f"{_shown(change)} has changed since: read it again and repeat")


def no_room(change: Change) -> Conflict:
    """The row would break a unique index."""
    return Conflict(f"{_shown(change)} has no room: another row stands in its place by now")


def _shown(change: Change) -> str:
    return f"{change.table} {'/'.join(map(str, change.key))!r}"
