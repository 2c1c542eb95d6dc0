"""The ledger's rows."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import apsw

from mnemic.models.event import Event, Head
from mnemic.store.sqlite.shelves import Shelves, in_list

_EVENT = (
    "SELECT l.seq, l.at, l.actor, l.origin, l.op, l.object, l.payload_hash, l.previous, l.hash, p.body, p.salt"
    " FROM ledger l LEFT JOIN payloads p ON p.ns=l.ns AND p.seq=l.seq WHERE l.ns=?"
)


def head(db: apsw.Connection, ns: int) -> Head | None:
    """The last entry's number and hash."""
    found = db.execute("SELECT seq, hash FROM ledger WHERE ns=? ORDER BY seq DESC LIMIT 1", (ns,)).fetchone()
    return None if found is None else Head(*found)


def append(db: apsw.Connection, ns: int, event: Event) -> None:
    """Add an entry; the primary key refuses a number that is taken. One whose content was erased has its leaf alone."""
    leaf = (event.seq, event.at, event.actor, event.origin, event.op, event.object, event.payload_hash,
            event.previous, event.hash)  # fmt: skip
    db.execute("INSERT INTO ledger VALUES(?,?,?,?,?,?,?,?,?,?)", (ns, *leaf))
    if event.payload is not None:
        db.execute("INSERT INTO payloads VALUES(?,?,?,?)", (ns, event.seq, event.salt, event.payload))


def erase_payloads(db: apsw.Connection, ns: int, objects: list[str]) -> list[int]:
    """Remove what the events of some objects carried; their leaves stay."""
    erased: list[Any] = []
    for name in objects:
        sql = "SELECT l.seq FROM ledger l JOIN payloads p ON p.ns=l.ns AND p.seq=l.seq WHERE l.ns=? AND l.object=?"
        erased += [seq for (seq,) in db.execute(sql, (ns, name)).fetchall()]
    empty(db, ns, erased)
    return sorted(erased)


def empty(db: apsw.Connection, ns: int, seqs: list[Any]) -> None:
    """Remove what some entries carried; their leaves stay."""
    if seqs:
        db.execute(f"DELETE FROM payloads WHERE ns=? AND seq IN ({in_list(seqs)})", (ns,))


class Events(Shelves):
    """Reads of the ledger."""

    def head(self, ns: str) -> Head | None:
        """The end of a namespace's chain; `None` if nothing happened in it."""
        with self.hot.snapshot() as db:
            return head(db, self.space(ns))

    def event(self, ns: str, seq: int) -> Event | None:
        found = self.hot.row(f"{_EVENT} AND l.seq=?", (self.space(ns), seq))
        return None if found is None else Event(*found)

    def last_events(self, ns: str, objects: Collection[str]) -> dict[str, Event]:
        """The last entry about each of some objects, by object."""
        # One seek an object: the largest number under it stands at the end of its stretch of the index.
        last = "SELECT (SELECT max(seq) FROM ledger WHERE ns=? AND object=value) FROM json_each(?)"
        space = self.space(ns)
        rows = self.hot.rows(f"{_EVENT} AND l.seq IN ({last})", (space, space, json.dumps(list(objects))))
        return {event.object: event for event in (Event(*row) for row in rows)}

    def events(
        self, ns: str, *, after: int = 0, limit: int = 1000, newest: bool = False, object: str | None = None
    ) -> list[Event]:
        """Entries after a number, in order; with `newest`, the last ones, newest first."""
        sql = f"{_EVENT} AND l.seq>?"
        bindings: list[int | str] = [self.space(ns), after]
        if object is not None:
            # Named, because SQLite would rather walk the whole ledger than look each entry up.
            sql = sql.replace("ledger l ", "ledger l INDEXED BY ledger_object ") + " AND l.object=?"
            bindings.append(object)
        sql += f" ORDER BY l.seq {'DESC' if newest else 'ASC'} LIMIT ?"
        return [Event(*row) for row in self.hot.rows(sql, (*bindings, limit))]
