"""The ledger's rows.

They are written to the hot shelf. What is told there of documents that have left it follows them, to the cold shelf
whatever their own: entries never change, so where they stand is nobody's business but this module's. An entry is copied
and committed there before the hot shelf lets go of it; in between it stands twice, and the hot one counts. The last entry
of a namespace stays hot. Content that was erased there is noted first (`emptied`), counts as gone from then on, and is
removed by `sweep`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import apsw

from mnemic.errors import StoreError
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


def about(db: apsw.Connection, ns: int, objects: Sequence[str]) -> list[int]:
    """The entries about some objects that a shelf holds with their content."""
    sql = (
        "SELECT p.seq FROM json_each(?) CROSS JOIN ledger l INDEXED BY ledger_object ON l.ns=?2 AND l.object=value"
        " JOIN payloads p ON p.ns=?2 AND p.seq=l.seq"
    )
    return sorted(int(str(seq)) for (seq,) in db.execute(sql, (json.dumps(objects), ns)).fetchall())


def held(db: apsw.Connection, ns: int, seqs: Collection[int]) -> list[int]:
    """Those of some entries whose content a shelf holds."""
    sql = f"SELECT seq FROM payloads WHERE ns=? AND seq IN ({in_list(seqs)}) ORDER BY seq"
    return [int(str(seq)) for (seq,) in db.execute(sql, (ns,)).fetchall()]


def empty(db: apsw.Connection, ns: int, seqs: Collection[int]) -> None:
    """Remove what some entries carried; their leaves stay."""
    if seqs:
        db.execute(f"DELETE FROM payloads WHERE ns=? AND seq IN ({in_list(seqs)})", (ns,))


def due(db: apsw.Connection, ns: int, after: int, limit: int) -> list[int]:
    """Entries of the hot shelf, after a number, about documents that stand elsewhere; never the last of all."""
    sql = (
        "SELECT l.seq FROM ledger l CROSS JOIN documents d ON d.id=CAST(substr(l.object, 10) AS INTEGER) AND d.ns=l.ns"
        " WHERE l.ns=?1 AND l.seq>?2 AND l.seq<(SELECT max(seq) FROM ledger WHERE ns=?1)"
        " AND l.object=('document:' || d.id) AND d.shelf<>'hot' ORDER BY l.seq LIMIT ?3"
    )
    return [int(str(seq)) for (seq,) in db.execute(sql, (ns, after, limit)).fetchall()]


def rows(db: apsw.Connection, ns: int, seqs: Sequence[int]) -> list[list[tuple[Any, ...]]]:
    """Some entries as they stand on a shelf: leaves and contents."""
    return [
        db.execute(f"SELECT * FROM {table} WHERE ns=? AND seq IN ({in_list(seqs)}) ORDER BY seq", (ns,)).fetchall()
        for table in ("ledger", "payloads")
    ]


def copy(db: apsw.Connection, ns: int, seqs: Sequence[int], load: list[list[tuple[Any, ...]]]) -> None:
    """Put entries on a shelf in place of what a move that was not finished left of them there."""
    remove(db, ns, seqs)
    db.executemany("INSERT INTO ledger VALUES(?,?,?,?,?,?,?,?,?,?)", load[0])
    db.executemany("INSERT INTO payloads VALUES(?,?,?,?)", load[1])
    if rows(db, ns, seqs) != load:
        raise StoreError("a copy of ledger entries did not come out the same: nothing was moved; run `mnemic doctor`")


def remove(db: apsw.Connection, ns: int, seqs: Sequence[int]) -> None:
    """Take entries off a shelf."""
    for table in ("ledger", "payloads"):
        db.execute(f"DELETE FROM {table} WHERE ns=? AND seq IN ({in_list(seqs)})", (ns,))


class Events(Shelves):
    """Reads of the ledger."""

    def head(self, ns: str) -> Head | None:
        """The end of a namespace's chain; `None` if nothing happened in it."""
        with self.hot.snapshot() as db:
            return head(db, self.space(ns))

    def event(self, ns: str, seq: int) -> Event | None:
        sql, space = f"{_EVENT} AND l.seq=?", self.space(ns)
        found = self.hot.row(sql, (space, seq))
        if found is not None:
            return Event(*found)
        return next(iter(self._older(space, sql, (space, seq)).values()), None)

    def last_events(self, ns: str, objects: Collection[str]) -> dict[str, Event]:
        """The last entry about each of some objects, by object."""
        # One seek an object: the largest number under it stands at the end of its stretch of the index.
        last = "SELECT (SELECT max(seq) FROM ledger WHERE ns=? AND object=value) FROM json_each(?)"
        space = self.space(ns)
        sql, found = f"{_EVENT} AND l.seq IN ({last})", dict[int, Event]()
        moved = [name for name in objects if _moves(name)]
        if moved:
            found = self._older(space, sql, (space, space, json.dumps(moved)))
        found |= _by_seq(self.hot.rows(sql, (space, space, json.dumps(list(objects)))))
        return {event.object: event for _, event in sorted(found.items())}

    def events(
        self, ns: str, *, after: int = 0, before: int | None = None, limit: int = 1000, newest: bool = False,
        object: str | None = None, objects: Sequence[str] | None = None, object_begins: str | None = None,
        op: str | None = None, actor: str | None = None,
    ) -> list[Event]:  # fmt: skip
        """Entries between two numbers, in order; with `newest`, the last ones, newest first; only those that fit."""
        space = self.space(ns)
        sql = f"{_EVENT} AND l.seq>?"
        bindings: list[int | str] = [space, after]
        if object is not None:
            # Named, because SQLite would rather walk the whole ledger than look each entry up.
            sql = sql.replace("ledger l ", "ledger l INDEXED BY ledger_object ") + " AND l.object=?"
            bindings.append(object)
        if before is not None:
            sql, bindings = sql + " AND l.seq<?", [*bindings, before]
        narrowing = {
            "l.op=?": op, "l.actor=?": actor, "instr(l.object, ?)=1": object_begins,
            "l.object IN (SELECT value FROM json_each(?))": None if objects is None else json.dumps(objects),
        }  # fmt: skip
        for condition, value in narrowing.items():
            if value is not None:
                sql, bindings = f"{sql} AND {condition}", [*bindings, value]
        sql += f" ORDER BY l.seq {'DESC' if newest else 'ASC'} LIMIT ?"
        found = _by_seq(self.hot.rows(sql, (*bindings, limit)))
        narrowed = any(value is not None for value in narrowing.values())
        if not _moves(object) if object is not None else not narrowed and _whole(found, after, before, limit, newest):
            return list(found.values())
        found = self._older(space, sql, (*bindings, limit)) | found
        return [found[seq] for seq in sorted(found, reverse=newest)[:limit]]

    def _older(self, space: int, sql: str, bindings: tuple[Any, ...]) -> dict[int, Event]:
        """What the cold shelf holds of the ledger. Asked after the hot one: a move goes the other way."""
        found = _by_seq(self._shelves["cold"].rows(sql, bindings))
        gone = f"SELECT seq FROM emptied WHERE ns=? AND seq IN ({in_list(found)})"
        for (seq,) in self.hot.rows(gone, (space,)) if found else ():
            found[seq] = replace(found[seq], payload=None, salt=None)
        return found


def _by_seq(rows: list[tuple[Any, ...]]) -> dict[int, Event]:
    return {row[0]: Event(*row) for row in rows}


def _moves(object: str) -> bool:
    """Whether entries about an object may leave the hot shelf."""
    return object.startswith("document:")


def _whole(found: Collection[int], after: int, before: int | None, limit: int, newest: bool) -> bool:
    """Whether nothing is missing among entries of the hot shelf: numbers have no gaps, and the last of all stays there."""
    seqs = sorted(found)
    if not seqs or seqs[-1] - seqs[0] != len(seqs) - 1:
        return not seqs and before is None
    if before is not None and seqs[-1] != before - 1:
        return False
    return seqs[0] == after + 1 or (newest and len(seqs) == limit)
