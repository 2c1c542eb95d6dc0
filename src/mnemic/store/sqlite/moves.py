"""A document's rows on their way from one shelf to another.

A transaction over two files is atomic in each of them only. So where rows are about to be copied to is noted first
(`strays`); then, under the write lock of the hot shelf, they are copied and committed there, read back, and the catalogue
changes together with what the hot shelf holds. Whatever stands on a shelf that the catalogue does not name is no part
of memory: reads leave it out, and `SqliteStore.sweep` removes it, as often as it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import apsw

from mnemic.errors import StoreError
from mnemic.store.sqlite import nodes, vectors
from mnemic.store.sqlite.shelves import NODE_BITS, in_list

Rows = list[tuple[Any, ...]]
_MESSAGE = "session, seq, role, name, text_id, digest, created_at"


@dataclass(frozen=True, slots=True)
class Load:
    """All rows of one document that a shelf holds, as they are; vectors without their stamps."""

    texts: Rows
    messages: Rows
    nodes: Rows
    vectors: Rows
    embedders: Rows
    edges: Rows
    """Those that leave its nodes; they travel with them."""


def read(db: apsw.Connection, ns: int, document: int, *, with_vectors: bool) -> Load:
    """What a shelf holds of a document."""
    texts: Rows = db.execute("SELECT id, body FROM texts WHERE ns=? AND document=? ORDER BY id", (ns, document)).fetchall()
    said = messages(db, ns, document)
    trees = nodes.stored(db, ns, document)
    known: Rows = db.execute("SELECT id, identity, dim, canary FROM embedders ORDER BY id").fetchall()
    keys = in_list(row[0] << NODE_BITS | node[0] for row in known if with_vectors for node in trees)
    sql = f"SELECT key, digest, vector FROM vectors WHERE +ns=? AND key IN ({keys}) ORDER BY key"
    rows: Rows = db.execute(sql, (ns,)).fetchall()
    used = {row[0] >> NODE_BITS for row in rows}
    sources = in_list(node[0] for node in trees)
    sql = f"SELECT source, target, kind, weight FROM edges WHERE source IN ({sources}) ORDER BY source, kind, target"
    edges: Rows = db.execute(sql).fetchall()
    return Load(texts, said, trees, rows, [row for row in known if row[0] in used], edges)


def write(db: apsw.Connection, ns: int, document: int, load: Load, stamp: int | None) -> None:
    """Put a document's rows on a shelf in place of what it had of them; vectors stamped from `stamp` on, or as the last."""
    remove(db, ns, document)
    for number, body in load.texts:
        db.execute("INSERT INTO texts VALUES(?,?,?,?)", (number, ns, document, body))
    put_messages(db, ns, document, load.messages)
    nodes.restore(db, ns, load.nodes, dict(load.texts))
    for row in load.embedders:
        db.execute("INSERT OR IGNORE INTO embedders VALUES(?,?,?,?)", row)
    db.executemany("INSERT INTO edges VALUES(?,?,?,?,?)", [(*row, ns) for row in load.edges])
    stamp = vectors.next_stamp(db, ns) if stamp is None else stamp
    for place, (key, digest, vector) in enumerate(load.vectors):
        db.execute("INSERT INTO vectors VALUES(?,?,?,?,?)", (key, ns, stamp + place, digest, vector))


def check(db: apsw.Connection, ns: int, document: int, load: Load, what: str) -> None:
    """Read a copy back. Raises StoreError where it is not what was copied; nothing is deleted then."""
    found = read(db, ns, document, with_vectors=bool(load.vectors))
    if found != load:
        raise StoreError(f"a copy to {what} did not come out the same: nothing was moved; run `mnemic doctor`")


def remove(db: apsw.Connection, ns: int, document: int) -> None:
    """Take all rows of a document off a shelf; edges of others that lead to it stay."""
    nodes.remove(db, ns, document)
    db.execute("DELETE FROM texts WHERE ns=? AND document=?", (ns, document))
    drop_messages(db, ns, document)


def put_messages(db: apsw.Connection, ns: int, document: int, said: Rows) -> None:
    """Put a document's messages on a shelf that has none of them."""
    sql = f"INSERT INTO messages(ns, document, {_MESSAGE}) VALUES(?,?,?,?,?,?,?,?,?)"
    db.executemany(sql, [(ns, document, *row) for row in said])


def drop_messages(db: apsw.Connection, ns: int, document: int) -> None:
    db.execute("DELETE FROM messages WHERE ns=? AND document=?", (ns, document))


def left_messages(db: apsw.Connection, limit: int) -> list[tuple[int, int, str]]:
    """Documents with their namespace and shelf whose messages stayed in the hot shelf, as they did before schema 8."""
    sql = (
        "SELECT d.ns, d.id, d.shelf FROM documents d WHERE d.shelf<>'hot' AND EXISTS"
        " (SELECT 1 FROM messages m WHERE m.ns=d.ns AND m.document=d.id) LIMIT ?"
    )
    return [(int(str(ns)), int(str(number)), str(shelf)) for ns, number, shelf in db.execute(sql, (limit,)).fetchall()]


def messages(db: apsw.Connection, ns: int, document: int) -> Rows:
    """A document's messages as a shelf holds them."""
    sql = f"SELECT {_MESSAGE} FROM messages INDEXED BY messages_document WHERE ns=? AND document=? ORDER BY session, seq"
    return db.execute(sql, (ns, document)).fetchall()

