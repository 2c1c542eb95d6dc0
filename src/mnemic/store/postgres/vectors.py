"""Vectors, their compact codes, and the queue of documents that still want them.

Vectors are `halfvec`: the very halves that are the truth, in a type that pgvector can index up to 4,000 dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemic.store.base import CodeBlock, EmbedderRow, QueueRow, VectorRow
from mnemic.store.postgres.connection import HOME, Database, Params, Rows, Write
from mnemic.store.postgres.pools import Halves
from mnemic.store.postgres.shelves import Shelves, capped, checked_shelf
from mnemic.store.trees import blanked

_LAST = (1 << 63) - 1
EMBEDDER = "INSERT INTO embedders(id, identity, dim) OVERRIDING SYSTEM VALUE VALUES(%s,%s,0) ON CONFLICT DO NOTHING"
"""Lets a server that is not the first know of an embedder."""
_HEAD = 4
"""Bytes before the halves: their number, and nothing."""


def halves(vector: bytes) -> Halves:
    """A vector of float16 bytes as the server takes it."""
    values = np.frombuffer(vector, dtype="<f2")
    return Halves(len(values).to_bytes(2, "big") + b"\0\0" + values.astype(">f2").tobytes())


def unpacked(found: Sequence[bytes]) -> list[bytes]:
    """Vectors as the server gives them, as float16 bytes."""
    if not found:
        return []
    size = len(found[0])
    if any(len(one) != size for one in found):  # of several embedders
        return [np.frombuffer(one, dtype=">f2", offset=_HEAD).astype("<f2").tobytes() for one in found]
    together = np.frombuffer(b"".join(found), dtype=">u2").reshape(len(found), -1)[:, _HEAD // 2 :].astype("<u2").tobytes()
    step = size - _HEAD
    return [together[at : at + step] for at in range(0, len(together), step)]


def _waiting(base: Database, query: str, params: Params) -> Rows:
    """Rows of the queue of all namespaces that a server has."""
    with base.snapshot():
        base.rows(0, "SELECT set_config('mnemic.task', 'queue', true)")
        rows = base.rows(0, query, params)
        base.rows(0, "SELECT set_config('mnemic.task', '', true)")
    return rows


def put(write: Write, embedder: int, rows: Sequence[VectorRow], stamp: int, shelf: str) -> None:
    """Store vectors of nodes that still exist: an erasure may have come in between."""
    query = (
        "INSERT INTO vectors(ns, embedder, node, shelf, stamp, digest, vector) SELECT ns, %s, id, shelf, %s, %s, %s"
        " FROM nodes WHERE ns=%s AND id=%s AND shelf=%s ON CONFLICT (ns, embedder, node) DO UPDATE SET"
        " shelf=excluded.shelf, stamp=excluded.stamp, digest=excluded.digest, vector=excluded.vector"
    )
    if write.base.shard != HOME:  # which embedders there are says the first server; others need their numbers to find vectors
        write.later(EMBEDDER, (embedder, str(embedder)))
    write.many(query, [(embedder, stamp + place, row.digest, halves(row.vector), write.space, row.node, shelf)
                       for place, row in enumerate(rows)])  # fmt: skip


def drop(write: Write, embedder: int, limit: int) -> int:
    """Remove vectors of an embedder; returns how many."""
    some = "SELECT node FROM vectors WHERE ns=%s AND embedder=%s LIMIT %s"
    query = f"DELETE FROM vectors WHERE ns=%s AND embedder=%s AND node=ANY(ARRAY({some}))"
    return write.run(query, (write.space, embedder, write.space, embedder, limit)).rowcount


def remove(write: Write, nodes: Sequence[int]) -> None:
    """Take the vectors of nodes away, those of every embedder."""
    query = "DELETE FROM vectors WHERE ns=%s AND node=ANY(%s) AND embedder=ANY(SELECT id FROM embedders)"
    write.later(query, (write.space, list(nodes)))


def move(write: Write, nodes: Sequence[int], target: str, stamp: int) -> None:
    """Let the vectors of nodes stand on another shelf, as the last that came there. Needs as many stamps as there are nodes."""
    write.later(
        "UPDATE vectors v SET shelf=%s, stamp=%s+o.place FROM (SELECT embedder, node,"
        " row_number() OVER (PARTITION BY embedder ORDER BY node)-1 AS place FROM vectors WHERE ns=%s AND node=ANY(%s)"
        " AND embedder=ANY(SELECT id FROM embedders)) AS o WHERE v.ns=%s AND v.embedder=o.embedder AND v.node=o.node",
        (target, stamp, write.space, list(nodes), write.space),
    )


def blank(write: Write, nodes: Sequence[int], shelf: str) -> None:
    """Take nodes out of the code blocks: a code tells something of the text it was made from."""
    ns = write.space
    query = (
        "SELECT DISTINCT c.embedder, c.first, c.nodes, c.codes FROM codes c JOIN vectors v ON v.ns=c.ns"
        " AND v.embedder=c.embedder AND v.shelf=c.shelf AND v.stamp BETWEEN c.first AND c.last"
        " WHERE c.ns=%s AND c.shelf=%s AND v.node=ANY(%s)"
    )
    for embedder, first, ids, codes in write.rows(query, (ns, shelf, list(nodes))):
        write.later(
            "UPDATE codes SET nodes=%s, codes=%s WHERE ns=%s AND embedder=%s AND shelf=%s AND first=%s",
            (*blanked(ids, codes, nodes), ns, embedder, shelf, first),
        )


def put_codes(write: Write, embedder: int, blocks: Sequence[CodeBlock], shelf: str) -> None:
    """Store codes of runs, in place of those of the same beginning."""
    query = (
        "INSERT INTO codes VALUES(%s,%s,%s,%s,%s,%s,%s) ON CONFLICT (ns, embedder, shelf, first)"
        " DO UPDATE SET last=excluded.last, nodes=excluded.nodes, codes=excluded.codes"
    )
    write.many(query, [(write.space, embedder, shelf, one.first, one.last, one.nodes, one.codes) for one in blocks])


class Vectors(Shelves):
    """Reads of what the embedders gave."""

    def embedder(self, identity: str, dim: int, canary: bytes | None = None) -> EmbedderRow:
        """The row of an embedder, made when it is first seen."""
        query = "SELECT id, identity, dim, canary FROM embedders WHERE identity=%s"
        found = self._row(0, query, (identity,))
        if found is None:
            with self.base.aside() as db:
                make = "INSERT INTO embedders(identity, dim, canary) VALUES(%s,%s,%s) ON CONFLICT DO NOTHING"
                db.execute(make, (identity, dim, canary))
                found = db.execute(query, (identity,)).fetchone()
        assert found is not None
        return EmbedderRow(*found)

    def embedders(self) -> list[EmbedderRow]:
        return [EmbedderRow(*row) for row in self._rows(0, "SELECT id, identity, dim, canary FROM embedders ORDER BY id")]

    def vectors(self, ns: str, embedder: int, ids: Sequence[int], shelf: str = "hot") -> dict[int, bytes]:
        """The vectors of some nodes, as float16 bytes."""
        if not len(ids):
            return {}
        space = self.space(ns)
        query = "SELECT node, vector FROM vectors WHERE ns=%s AND embedder=%s AND node=ANY(%s) AND shelf=%s"
        rows = self._rows(space, query, (space, embedder, list(map(int, ids)), checked_shelf(shelf)))
        return dict(zip([row[0] for row in rows], unpacked([row[1] for row in rows]), strict=True))

    def digests(self, ns: str, embedder: int, ids: Sequence[int], shelf: str = "hot") -> dict[int, bytes]:
        """From which passage each node's vector was made."""
        space = self.space(ns)
        query = "SELECT node, digest FROM vectors WHERE ns=%s AND embedder=%s AND node=ANY(%s) AND shelf=%s"
        return dict(self._rows(space, query, (space, embedder, list(map(int, ids)), checked_shelf(shelf))))

    def vectors_since(
        self, ns: str, embedder: int, stamp: int, limit: int, shelf: str = "hot", *, until: int | None = None
    ) -> list[tuple[int, int, bytes]]:
        """Vectors in the order they came, after a stamp and up to another: (stamp, node, vector)."""
        space = self.space(ns)
        query = (
            "SELECT stamp, node, vector FROM vectors WHERE ns=%s AND shelf=%s AND stamp>%s AND stamp<=%s AND embedder=%s"
            " ORDER BY stamp LIMIT %s"
        )
        last = _LAST if until is None else until
        rows = self._rows(space, query, (space, checked_shelf(shelf), stamp, last, embedder, limit))
        return [(row[0], row[1], vector) for row, vector in zip(rows, unpacked([row[2] for row in rows]), strict=True)]

    def vectors_after(
        self, ns: str, embedder: int, stamp: int, limit: int, *, until: int | None = None, shelf: str = "hot"
    ) -> int:
        """How many vectors came after a stamp and up to another, counted no further than the limit."""
        space = self.space(ns)
        inner = "SELECT 1 FROM vectors WHERE ns=%s AND shelf=%s AND stamp>%s AND stamp<=%s AND embedder=%s LIMIT %s"
        last = _LAST if until is None else until
        values = (space, checked_shelf(shelf), stamp, last, embedder, limit)
        return int(self._kept(space, f"SELECT count(*) FROM ({inner}) AS part", values)[0][0])

    def vectors_last(self, ns: str, embedder: int, shelf: str = "hot") -> int:
        """The stamp of the vector that came last; 0 without one."""
        space = self.space(ns)
        query = "SELECT stamp FROM vectors WHERE ns=%s AND shelf=%s AND embedder=%s ORDER BY stamp DESC LIMIT 1"
        found = self._kept(space, query, (space, checked_shelf(shelf), embedder))
        return int(found[0][0]) if found else 0

    def vectors_before(self, ns: str, embedder: int, node: int, limit: int, shelf: str = "hot") -> list[tuple[int, bytes]]:
        """Of the vectors that came last, at most `limit`, those of nodes before a node, newest first."""
        space = self.space(ns)
        last = "SELECT stamp, node, vector FROM vectors WHERE ns=%s AND shelf=%s AND embedder=%s ORDER BY stamp DESC LIMIT %s"
        query = f"SELECT node, vector FROM ({last}) AS part WHERE node<%s ORDER BY stamp DESC"
        rows = self._rows(space, query, (space, checked_shelf(shelf), embedder, limit, node))
        return list(zip([row[0] for row in rows], unpacked([row[1] for row in rows]), strict=True))

    def vector_count(self, ns: str, embedder: int) -> int:
        """How many vectors of an embedder the namespace has, on all shelves."""
        space = self.space(ns)
        return int(self._kept(space, "SELECT count(*) FROM vectors WHERE ns=%s AND embedder=%s", (space, embedder))[0][0])

    def codes(self, ns: str, embedder: int, after: int = 0, limit: int = -1, shelf: str = "hot") -> list[CodeBlock]:
        """The code blocks that begin after a stamp, in the order their vectors came."""
        space = self.space(ns)
        query = (
            "SELECT first, last, nodes, codes FROM codes WHERE ns=%s AND embedder=%s AND shelf=%s AND first>%s"
            " ORDER BY first LIMIT %s"
        )
        values = (space, embedder, checked_shelf(shelf), after, capped(limit))
        return [CodeBlock(*row) for row in self._rows(space, query, values)]

    def codes_last(self, ns: str, embedder: int, shelf: str = "hot") -> int:
        """The stamp up to which vectors have codes; 0 without any."""
        space = self.space(ns)
        query = "SELECT last FROM codes WHERE ns=%s AND embedder=%s AND shelf=%s ORDER BY first DESC LIMIT 1"
        found = self._kept(space, query, (space, embedder, checked_shelf(shelf)))
        return int(found[0][0]) if found else 0

    def coder(self, ns: str, embedder: int, shelf: str = "hot") -> tuple[int, bytes] | None:
        """How many vectors the coder was made from, and the coder itself."""
        space = self.space(ns)
        query = "SELECT count, coder FROM coders WHERE ns=%s AND embedder=%s AND shelf=%s"
        found = self._kept(space, query, (space, embedder, checked_shelf(shelf)))
        return (int(found[0][0]), bytes(found[0][1])) if found else None

    def queue(self, ns: str | None, *, due: int | None = None, limit: int = 100) -> list[tuple[str, QueueRow]]:
        """Documents that wait for vectors, with their namespace, oldest first; `due`: only those that are due then."""
        space = 0 if ns is None else self.space(ns)
        query = (
            "SELECT n.name, q.document, q.state, q.attempts, q.due_at, q.error FROM queue q JOIN namespaces n ON n.id=q.ns"
            " WHERE n.moved IS NULL"
        )
        values: list[object] = []
        if ns is not None:
            query += " AND q.ns=%s"
            values.append(space)
        if due is not None:
            query += " AND q.due_at<=%s"
            values.append(due)
        query += " ORDER BY q.document LIMIT %s"
        if ns is not None:
            rows = self._rows(space, query, (*values, limit))
        else:
            found = self.servers.each(lambda base: _waiting(base, query, (*values, limit)))
            rows = sorted((row for rows in found for row in rows), key=lambda row: row[1])[:limit]
        return [(row[0], QueueRow(*row[1:])) for row in rows]

    def waiting(self, ns: str) -> int:
        """How many documents wait for vectors."""
        space = self.space(ns)
        return int(self._kept(space, "SELECT count(*) FROM queue WHERE ns=%s", (space,))[0][0])
