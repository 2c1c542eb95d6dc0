"""Vectors, their compact codes, and the queue of documents that still want them."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from mnemic.store.base import CodeBlock, EmbedderRow, QueueRow, VectorRow
from mnemic.store.sqlite.shelves import NODE_BITS, Shelves, in_list


def put(db: apsw.Connection, ns: int, embedder: int, rows: Sequence[VectorRow], stamp: int) -> None:
    """Store vectors of nodes that still exist: an erasure may have come in between."""
    for place, row in enumerate(rows):
        db.execute(
            "INSERT OR REPLACE INTO vectors SELECT ?,?,?,?,? WHERE EXISTS(SELECT 1 FROM nodes WHERE id=?)",
            (embedder << NODE_BITS | row.node, ns, stamp + place, row.digest, row.vector, row.node),
        )


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
        sql = f"SELECT key, vector FROM vectors WHERE +ns=? AND key IN ({in_list(base | int(i) for i in ids)})"
        return {key - base: vector for key, vector in self.shelf(shelf).rows(sql, (self.space(ns),))}

    def digests(self, ns: str, embedder: int, ids: Sequence[int], shelf: str = "hot") -> dict[int, bytes]:
        """From which passage each node's vector was made."""
        base = embedder << NODE_BITS
        sql = f"SELECT key, digest FROM vectors WHERE +ns=? AND key IN ({in_list(base | int(i) for i in ids)})"
        return {key - base: digest for key, digest in self.shelf(shelf).rows(sql, (self.space(ns),))}

    def vectors_since(
        self, ns: str, embedder: int, stamp: int, limit: int, shelf: str = "hot"
    ) -> list[tuple[int, int, bytes]]:
        """Vectors in the order they came, after a stamp: (stamp, node, vector)."""
        base = embedder << NODE_BITS
        sql = "SELECT stamp, key, vector FROM vectors WHERE ns=? AND stamp>? AND key>? AND key<? ORDER BY stamp LIMIT ?"
        rows = self.shelf(shelf).rows(sql, (self.space(ns), stamp, base, base + (1 << NODE_BITS), limit))
        return [(came, key - base, vector) for came, key, vector in rows]

    def vectors_before(
        self, ns: str, embedder: int, node: int, limit: int, shelf: str = "hot"
    ) -> list[tuple[int, bytes]]:
        """The vectors of the most recent nodes before a node, newest first."""
        base = embedder << NODE_BITS
        sql = "SELECT key, vector FROM vectors WHERE ns=? AND key<? AND key>? ORDER BY stamp DESC LIMIT ?"
        rows = self.shelf(shelf).rows(sql, (self.space(ns), base | node, base, limit))
        return [(key - base, vector) for key, vector in rows]

    def vector_count(self, ns: str, embedder: int) -> int:
        """How many vectors of an embedder the namespace has, on all shelves."""
        base = embedder << NODE_BITS
        sql = "SELECT count(*) FROM vectors WHERE ns=? AND key>? AND key<?"
        bindings = (self.space(ns), base, base + (1 << NODE_BITS))
        return sum(int((shelf.row(sql, bindings) or (0,))[0]) for shelf in self._shelves.values())

    def codes(self, ns: str, embedder: int) -> list[CodeBlock]:
        """All code blocks in the order their vectors came."""
        sql = "SELECT first, last, nodes, codes FROM codes WHERE ns=? AND embedder=? ORDER BY first"
        return [CodeBlock(*row) for row in self.hot.rows(sql, (self.space(ns), embedder))]

    def coder(self, ns: str, embedder: int) -> tuple[int, bytes] | None:
        """How many vectors the coder was made from, and the coder itself."""
        found = self.hot.row("SELECT count, coder FROM coders WHERE ns=? AND embedder=?", (self.space(ns), embedder))
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
