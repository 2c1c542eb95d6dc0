"""Vectors, their compact codes, and the queue of documents that still want them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from mnemic.store.base import CodeBlock, EmbedderRow, QueueRow, VectorRow
from mnemic.store.sqlite.shelves import NODE_BITS, Shelves, bound, in_list
from mnemic.store.trees import blanked

_LAST = (1 << 63) - 1


def put(db: apsw.Connection, ns: int, embedder: int, rows: Sequence[VectorRow], stamp: int) -> None:
    """Store vectors of nodes that still exist: an erasure may have come in between."""
    for place, row in enumerate(rows):
        db.execute(
            "INSERT OR REPLACE INTO vectors SELECT ?,?,?,?,? WHERE EXISTS(SELECT 1 FROM nodes WHERE id=?)",
            (embedder << NODE_BITS | row.node, ns, stamp + place, row.digest, row.vector, row.node),
        )


def drop(db: apsw.Connection, ns: int, embedder: int, limit: int) -> int:
    """Remove vectors of an embedder; returns how many."""
    base = embedder << NODE_BITS
    some = "SELECT key FROM vectors WHERE key>? AND key<? AND ns=? LIMIT ?"
    db.execute(f"DELETE FROM vectors WHERE key IN ({some})", (base, base + (1 << NODE_BITS), ns, limit))
    return db.changes()


def next_stamp(db: apsw.Connection, ns: int) -> int:
    """The stamp after the last on a shelf: on those that are only moved to, stamps need no sequence."""
    found: Any = db.execute("SELECT stamp FROM vectors WHERE ns=? ORDER BY stamp DESC LIMIT 1", (ns,)).fetchone()
    return int(found[0]) + 1 if found else 1


def blank(db: apsw.Connection, ns: int, nodes: Sequence[int]) -> None:
    """Take nodes out of the code blocks: a code tells something of the text it was made from."""
    embedders: list[Any] = db.execute("SELECT DISTINCT embedder FROM codes WHERE ns=?", (ns,)).fetchall()
    for (embedder,) in embedders:
        keys = in_list(embedder << NODE_BITS | node for node in nodes)
        stamps = in_list(stamp for (stamp,) in db.execute(f"SELECT stamp FROM vectors WHERE key IN ({keys})"))
        sql = (
            "SELECT DISTINCT c.first, c.nodes, c.codes FROM codes c JOIN vectors v ON v.stamp BETWEEN c.first AND c.last"
            f" WHERE c.ns=? AND c.embedder=? AND v.ns=? AND v.stamp IN ({stamps})"
        )
        blocks: list[Any] = db.execute(sql, (ns, embedder, ns)).fetchall()
        for first, ids, codes in blocks:
            db.execute(
                "UPDATE codes SET nodes=?, codes=? WHERE ns=? AND embedder=? AND first=?",
                (*blanked(ids, codes, nodes), ns, embedder, first),
            )


def put_codes(db: apsw.Connection, ns: int, embedder: int, blocks: Sequence[CodeBlock]) -> None:
    """Store codes of runs, in place of those of the same beginning."""
    rows = [(ns, embedder, block.first, block.last, block.nodes, block.codes) for block in blocks]
    db.executemany("INSERT OR REPLACE INTO codes VALUES(?,?,?,?,?,?)", rows)


class Vectors(Shelves):
    """Reads of what the embedders gave."""

    def embedder(self, identity: str, dim: int, canary: bytes | None = None) -> EmbedderRow:
        """The row of an embedder, made when it is first seen."""
        sql = "SELECT id, identity, dim, canary FROM embedders WHERE identity=?"
        found = self.hot.row(sql, (identity,))
        if found is None:
            with self.hot.transaction() as db:
                db.execute(
                    "INSERT OR IGNORE INTO embedders(identity, dim, canary) VALUES(?,?,?)", (identity, dim, canary)
                )
            found = self.hot.row(sql, (identity,))
        assert found is not None
        return EmbedderRow(*found)

    def embedders(self) -> list[EmbedderRow]:
        return [EmbedderRow(*row) for row in self.hot.rows("SELECT id, identity, dim, canary FROM embedders")]

    def vectors(self, ns: str, embedder: int, ids: Sequence[int], shelf: str = "hot") -> dict[int, bytes]:
        """The vectors of some nodes, as float16 bytes."""
        if not len(ids):
            return {}
        base = embedder << NODE_BITS
        sql = "SELECT key, vector FROM carray(?) AS place CROSS JOIN vectors ON key=value WHERE +ns=?"
        keys = bound(np.array(ids, dtype=np.int64) | base)
        return {key - base: vector for key, vector in self.shelf(shelf).rows(sql, (keys, self.space(ns)))}

    def digests(self, ns: str, embedder: int, ids: Sequence[int], shelf: str = "hot") -> dict[int, bytes]:
        """From which passage each node's vector was made."""
        base = embedder << NODE_BITS
        sql = f"SELECT key, digest FROM vectors WHERE +ns=? AND key IN ({in_list(base | int(i) for i in ids)})"
        return {key - base: digest for key, digest in self.shelf(shelf).rows(sql, (self.space(ns),))}

    def vectors_since(
        self, ns: str, embedder: int, stamp: int, limit: int, shelf: str = "hot", *, until: int | None = None
    ) -> list[tuple[int, int, bytes]]:
        """Vectors in the order they came, after a stamp and up to another: (stamp, node, vector)."""
        base = embedder << NODE_BITS
        sql = (
            "SELECT stamp, key, vector FROM vectors WHERE ns=? AND stamp>? AND stamp<=? AND +key>? AND +key<?"
            " ORDER BY stamp LIMIT ?"
        )
        last = _LAST if until is None else until
        rows = self.shelf(shelf).rows(sql, (self.space(ns), stamp, last, base, base + (1 << NODE_BITS), limit))
        return [(came, key - base, vector) for came, key, vector in rows]

    def vectors_after(
        self, ns: str, embedder: int, stamp: int, limit: int, *, until: int | None = None, shelf: str = "hot"
    ) -> int:
        """How many vectors came after a stamp and up to another, counted no further than the limit."""
        base = embedder << NODE_BITS
        inner = "SELECT 1 FROM vectors WHERE ns=? AND stamp>? AND stamp<=? AND +key>? AND +key<? LIMIT ?"
        last = _LAST if until is None else until
        bindings = (self.space(ns), stamp, last, base, base + (1 << NODE_BITS), limit)
        found = self.shelf(shelf).row(f"SELECT count(*) FROM ({inner})", bindings)
        return int(found[0]) if found else 0

    def vectors_last(self, ns: str, embedder: int, shelf: str = "hot") -> int:
        """The stamp of the vector that came last; 0 without one."""
        base = embedder << NODE_BITS
        sql = "SELECT stamp FROM vectors WHERE ns=? AND +key>? AND +key<? ORDER BY stamp DESC LIMIT 1"
        found = self.shelf(shelf).row(sql, (self.space(ns), base, base + (1 << NODE_BITS)))
        return int(found[0]) if found else 0

    def vectors_before(
        self, ns: str, embedder: int, node: int, limit: int, shelf: str = "hot"
    ) -> list[tuple[int, bytes]]:
        """Of the vectors that came last, at most `limit`, those of nodes before a node, newest first."""
        base = embedder << NODE_BITS
        last = "SELECT key, vector FROM vectors WHERE ns=? AND +key>? AND +key<? ORDER BY stamp DESC LIMIT ?"
        sql = f"SELECT key, vector FROM ({last}) WHERE key<?"
        rows = self.shelf(shelf).rows(sql, (self.space(ns), base, base + (1 << NODE_BITS), limit, base | node))
        return [(key - base, vector) for key, vector in rows]

    def vector_count(self, ns: str, embedder: int) -> int:
        """How many vectors of an embedder the namespace has, on all shelves."""
        base = embedder << NODE_BITS
        sql = "SELECT count(*) FROM vectors WHERE ns=? AND key>? AND key<?"
        bindings = (self.space(ns), base, base + (1 << NODE_BITS))
        return sum(int((shelf.row(sql, bindings) or (0,))[0]) for shelf in self._shelves.values())

    def codes(self, ns: str, embedder: int, after: int = 0, limit: int = -1, shelf: str = "hot") -> list[CodeBlock]:
        """The code blocks that begin after a stamp, in the order their vectors came."""
        sql = "SELECT first, last, nodes, codes FROM codes WHERE ns=? AND embedder=? AND first>? ORDER BY first LIMIT ?"
        return [CodeBlock(*row) for row in self.shelf(shelf).rows(sql, (self.space(ns), embedder, after, limit))]

    def codes_last(self, ns: str, embedder: int, shelf: str = "hot") -> int:
        """The stamp up to which vectors have codes; 0 without any."""
        sql = "SELECT last FROM codes WHERE ns=? AND embedder=? ORDER BY first DESC LIMIT 1"
        found = self.shelf(shelf).row(sql, (self.space(ns), embedder))
        return int(found[0]) if found else 0

    def coder(self, ns: str, embedder: int, shelf: str = "hot") -> tuple[int, bytes] | None:
        """How many vectors the coder was made from, and the coder itself."""
        sql = "SELECT count, coder FROM coders WHERE ns=? AND embedder=?"
        found = self.shelf(shelf).row(sql, (self.space(ns), embedder))
        return None if found is None else (int(found[0]), bytes(found[1]))

    def queue(self, ns: str | None, *, due: int | None = None, limit: int = 100) -> list[tuple[str, QueueRow]]:
        """Documents that wait for vectors, with their namespace, oldest first; `due`: only those that are due then."""
        sql = (
            "SELECT n.name, q.document, q.state, q.attempts, q.due_at, q.error FROM queue q"
            " JOIN namespaces n ON n.id=q.ns WHERE 1"
        )
        bindings: list[object] = []
        if ns is not None:
            sql += " AND n.name=?"
            bindings.append(ns)
        if due is not None:
            sql += " AND q.due_at<=?"
            bindings.append(due)
        rows = self.hot.rows(sql + " ORDER BY q.document LIMIT ?", (*bindings, limit))
        return [(row[0], QueueRow(*row[1:])) for row in rows]

    def waiting(self, ns: str) -> int:
        """How many documents wait for vectors."""
        found = self.hot.row("SELECT count(*) FROM queue WHERE ns=?", (self.space(ns),))
        return int(found[0]) if found else 0
