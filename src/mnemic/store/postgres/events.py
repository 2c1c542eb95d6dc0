"""The ledger's rows. All of a namespace stand together, on whichever shelf the documents are that they tell of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from mnemic.models.event import Event, Head
from mnemic.store.base import made_by
from mnemic.store.postgres.connection import Write
from mnemic.store.postgres.shelves import Shelves, capped
from mnemic.store.postgres.truth import Ask

_EVENT = (
    "SELECT l.seq, l.at, l.actor, l.origin, l.op, l.object, l.payload_hash, l.previous, l.hash, p.body, p.salt"
    " FROM ledger l LEFT JOIN payloads p ON p.ns=l.ns AND p.seq=l.seq WHERE l.ns=%s"
)


def head(ask: Ask, ns: int) -> Head | None:
    """The last entry's number and hash."""
    found = ask("SELECT seq, hash FROM ledger WHERE ns=%s ORDER BY seq DESC LIMIT 1", (ns,))
    return Head(*found[0]) if found else None


def append(write: Write, event: Event) -> None:
    """Add an entry; the primary key refuses a number that is taken. One whose content was erased has its leaf alone."""
    leaf = (event.seq, event.at, event.actor, event.origin, event.op, event.object, event.payload_hash,
            event.previous, event.hash)  # fmt: skip
    write.later("INSERT INTO ledger VALUES(%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)", (write.space, *leaf))
    if event.payload is not None:
        write.later("INSERT INTO payloads VALUES(%s,%s,%s,%s)", (write.space, event.seq, event.salt, event.payload))
    write.entry = (event.seq, event.hash)


def about(write: Write, objects: Sequence[str]) -> list[int]:
    """The entries about some objects that still have their content, in order."""
    query = (
        "SELECT p.seq FROM ledger l JOIN payloads p ON p.ns=l.ns AND p.seq=l.seq"
        " WHERE l.ns=%s AND l.object=ANY(%s) ORDER BY p.seq"
    )
    return [int(seq) for (seq,) in write.rows(query, (write.space, list(objects)))]


def empty(write: Write, seqs: Collection[int]) -> None:
    """Remove what some entries carried; their leaves stay."""
    if seqs:
        write.later("DELETE FROM payloads WHERE ns=%s AND seq=ANY(%s)", (write.space, sorted(seqs)))


def forget_receipts(write: Write, seqs: Collection[int]) -> None:
    """Empty the receipts of the operations that made some entries."""
    query = "SELECT id, receipt FROM operations WHERE ns=%s AND document IS NULL"
    for op_id, receipt in write.rows(query, (write.space,)):
        if not made_by(receipt).isdisjoint(seqs):
            write.later("UPDATE operations SET request='', receipt='{}' WHERE ns=%s AND id=%s", (write.space, op_id))


class Events(Shelves):
    """Reads of the ledger."""

    def head(self, ns: str) -> Head | None:
        """The end of a namespace's chain; `None` if nothing happened in it."""
        space = self.space(ns)
        return head(lambda query, params: self._kept(space, query, params), space)

    def event(self, ns: str, seq: int) -> Event | None:
        space = self.space(ns)
        found = self._row(space, f"{_EVENT} AND l.seq=%s", (space, seq))
        return None if found is None else Event(*found)

    def last_events(self, ns: str, objects: Collection[str]) -> dict[str, Event]:
        """The last entry about each of some objects, by object."""
        space = self.space(ns)
        # One seek an object: the largest number under it stands at the end of its stretch of the index.
        last = (
            "SELECT (SELECT seq FROM ledger m WHERE m.ns=%s AND m.object=o ORDER BY seq DESC LIMIT 1)"
            " FROM unnest(%s::text[]) AS o"
        )
        query = f"{_EVENT} AND l.seq IN ({last}) ORDER BY l.seq"
        return {row[5]: Event(*row) for row in self._rows(space, query, (space, space, list(objects)))}

    def events(
        self, ns: str, *, after: int = 0, before: int | None = None, limit: int = 1000, newest: bool = False,
        object: str | None = None, objects: Sequence[str] | None = None, object_begins: str | None = None,
        op: str | None = None, actor: str | None = None,
    ) -> list[Event]:  # fmt: skip
        """Entries between two numbers, in order; with `newest`, the last ones, newest first; only those that fit."""
        space = self.space(ns)
        query, values = f"{_EVENT} AND l.seq>%s", list[Any]([space, after])
        narrowing = {
            "l.seq<%s": before, "l.object=%s": object, "l.op=%s": op, "l.actor=%s": actor,
            "starts_with(l.object, %s)": object_begins, "l.object=ANY(%s)": None if objects is None else list(objects),
        }  # fmt: skip
        for condition, value in narrowing.items():
            if value is not None:
                query, values = f"{query} AND {condition}", [*values, value]
        query += f" ORDER BY l.seq {'DESC' if newest else 'ASC'} LIMIT %s"
        return [Event(*row) for row in self._rows(space, query, (*values, capped(limit)))]
