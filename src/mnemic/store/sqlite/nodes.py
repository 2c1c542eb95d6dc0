"""Trees, and the full-text rows that find their nodes.

A full-text row's terms lead with the namespace (`3x` before each), so one namespace's common word costs another
nothing and shows it nothing. The table is contentless: to take a row out, FTS5 must be told the very terms that
went in, so they are made again from the node's passage by the same tokenizer (its version is kept in `meta`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import apsw
import numpy as np

from mnemic.models.document import Node
from mnemic.store import trees
from mnemic.store.base import Found, Ids, NewNode, Scored
from mnemic.store.sqlite import vectors
from mnemic.store.sqlite.documents import Documents
from mnemic.store.sqlite.shelves import NODE_BITS, bound, in_list
from mnemic.store.trees import INDEXED, NODE, hashes, passage_of, talk_number
from mnemic.text.tokens import is_prefix, terms

_SCORED = (
    "id, iif(talk IS NULL, document, talk), iif(talk IS NULL, -1, coalesce(message, -1)), created_at,"
    " role='user', kind='message', speaker, terms"
)
_INSERT = f"INSERT INTO nodes(ns, {NODE}, {INDEXED}) VALUES({','.join('?' * 18)})"
_CATALOGUE = (
    "id, path, kind, title, context, origin, importance, session, created_at, recorded_at, shelf,"
    " (SELECT forgotten_at FROM visibility v WHERE v.ns=documents.ns AND v.path=documents.path),"
    " max(coalesce(last_accessed, 0), iif(kind='daily', created_at, recorded_at)), coalesce(access_count, 0), tier"
)

_PAST_DAY = "(path>='/daily/' AND path<'/daily0' AND kind='daily' AND created_at<{})"
"""A daily note is as old as its day, whenever it was read."""


def spaced(ns: int, words: Sequence[str]) -> str:
    """Terms as the full-text table holds them."""
    lead = f"{ns}x"
    return " ".join([lead + word for word in words])


def replace(
    db: apsw.Connection, ns: int, document: int, nodes: Sequence[NewNode], allocate: Callable[[str, int], int]
) -> list[int]:
    """Put a tree in place of the one before. What is just as it was keeps its id, and so vector and edges."""
    sql = f"SELECT {NODE}, {INDEXED} FROM nodes WHERE +ns=? AND document=?"
    fresh = allocate("nodes", len(nodes)) if nodes else 0
    found = trees.difference(document, db.execute(sql, (ns, document)).fetchall(), nodes, fresh)
    _remove(db, ns, found.gone)
    for row, words in found.made:
        _insert(db, ns, row, words)
    _count(db, ns, *found.counts)
    return found.ids


def _insert(db: apsw.Connection, ns: int, row: trees.Stored, words: Sequence[str]) -> None:
    db.execute(_INSERT, (ns, *row))
    if words:
        db.execute("INSERT INTO fulltext(rowid, terms) VALUES(?,?)", (row[0], spaced(ns, words)))


def stored(db: apsw.Connection, ns: int, document: int) -> list[tuple[Any, ...]]:
    """All columns of a document's nodes, in the order of their ids."""
    sql = f"SELECT {NODE}, {INDEXED} FROM nodes WHERE +ns=? AND document=? ORDER BY id"
    rows: list[tuple[Any, ...]] = db.execute(sql, (ns, document)).fetchall()
    return rows


def restore(db: apsw.Connection, ns: int, rows: Sequence[tuple[Any, ...]], bodies: Mapping[int, str]) -> None:
    """Put nodes as `stored` gave them into a shelf, with their full-text rows."""
    for row in rows:
        _insert(db, ns, row, _words(row, bodies) if row[13] else [])
    sizes = [row[13] for row in rows if row[13]]
    _count(db, ns, len(sizes), sum(sizes), 0)


def remove(db: apsw.Connection, ns: int, document: int) -> None:
    """Take a document's tree off a shelf; its texts must still be there."""
    rows = stored(db, ns, document)
    _remove(db, ns, rows, moving=True)
    sizes = [row[13] for row in rows if row[13]]
    _count(db, ns, -len(sizes), -sum(sizes), len(rows))


def _words(row: tuple[Any, ...], bodies: Mapping[int, str]) -> list[str]:
    return terms(passage_of(bodies[row[6]], row[2], row[5], row[7], row[9], row[11]))


def _remove(db: apsw.Connection, ns: int, rows: Sequence[tuple[Any, ...]], *, moving: bool = False) -> None:
    """Take nodes out with their full-text rows, vectors and edges; on a move, those that lead to them stay."""
    if not rows:
        return
    wanted = in_list({row[6] for row in rows if row[6]})
    texts: dict[Any, Any] = dict(db.execute(f"SELECT id, body FROM texts WHERE id IN ({wanted})"))
    for row in rows:
        if row[13]:
            old = spaced(ns, _words(row, texts))
            db.execute("INSERT INTO fulltext(fulltext, rowid, terms) VALUES('delete',?,?)", (row[0], old))
    numbers = in_list(row[0] for row in rows)
    db.execute(f"DELETE FROM edges WHERE source IN ({numbers})" + ("" if moving else f" OR target IN ({numbers})"))
    vectors.blank(db, ns, [row[0] for row in rows])
    embedders: list[Any] = db.execute("SELECT id FROM embedders").fetchall()
    for (embedder,) in embedders:
        keys = in_list(embedder << NODE_BITS | row[0] for row in rows)
        db.execute(f"DELETE FROM vectors WHERE key IN ({keys})")
    db.execute(f"DELETE FROM nodes WHERE id IN ({numbers})")


def place_turns(db: apsw.Connection, documents: Iterable[tuple[int, str]], roles: Iterable[tuple[int, int, str]]) -> None:
    """Note in the nodes of some documents, given with their sessions, where they stand, and who spoke which message."""
    talks = [(talk_number(session), document) for document, session in documents]
    db.executemany("UPDATE nodes SET talk=? WHERE document=? AND message IS NOT NULL", talks)
    said = [(role, document, seq) for document, seq, role in roles]
    db.executemany("UPDATE nodes SET role=? WHERE document=? AND message=?", said)


def rebuild_fulltext(db: apsw.Connection) -> int:
    """Empty the full-text table and fill it again from the texts, with term lists and counts; returns the rows made."""
    db.execute("INSERT INTO fulltext(fulltext) VALUES('delete-all')")
    # What somebody has read of the nodes may not be true any longer, as if they had been removed.
    db.execute("UPDATE lexicon SET nodes=0, terms=0, removed=removed+1")
    made = 0
    db.execute("UPDATE nodes SET size=0, terms=x'' WHERE size>0")
    sql = (
        "SELECT id, ns, parent, title, start, reach, speaker, text_id FROM nodes"
        " WHERE reach>start AND text_id IS NOT NULL ORDER BY text_id, id"
    )
    read, body = None, ""
    rows: list[Any] = db.execute(sql).fetchall()
    for number, ns, parent, title, start, reach, speaker, text_id in rows:
        if text_id != read:  # once a text: it may be large and have thousands of nodes
            found: Any = db.execute("SELECT body FROM texts WHERE id=?", (text_id,)).fetchone()
            read, body = text_id, found[0] if found else ""
        words = terms(passage_of(body, parent, title, start, reach, speaker))
        db.execute("UPDATE nodes SET size=?, terms=? WHERE id=?", (len(words), hashes(words), number))
        if words:
            db.execute("INSERT INTO fulltext(rowid, terms) VALUES(?,?)", (number, spaced(ns, words)))
            _count(db, ns, 1, len(words), 0)
            made += 1
    return made


def _count(db: apsw.Connection, ns: int, indexed: int, total: int, removed: int) -> None:
    db.execute(
        "INSERT INTO lexicon VALUES(?,?,?,?) ON CONFLICT(ns) DO UPDATE SET nodes=nodes+excluded.nodes,"
        " terms=terms+excluded.terms, removed=removed+excluded.removed",
        (ns, indexed, total, removed),
    )


class Nodes(Documents):
    """Reads of trees, and lexical candidates.

    `+ns` keeps the planner from walking a whole namespace where ids already say which rows are meant.
    """

    def node(self, ns: str, path: str) -> Node | None:
        """The node of exactly this path, on whichever shelf it is."""
        space = self.space(ns)
        for shelf in self._shelves.values():
            found = shelf.row(f"SELECT {NODE} FROM nodes WHERE ns=? AND path=?", (space, path))
            if found is not None:
                return Node(*found)
        return None

    def nodes(self, ns: str, document: int, shelf: str = "hot") -> list[Node]:
        """A document's tree in document order."""
        order = 'message, start, "end" DESC, id'
        sql = f"SELECT {NODE} FROM nodes WHERE document=? AND +ns=? ORDER BY {order}"
        return [Node(*row) for row in self.shelf(shelf).rows(sql, (document, self.space(ns)))]

    def found(self, ns: str, ids: Sequence[int], shelf: str = "hot") -> list[Found]:
        """Nodes with all that recall needs, in no order; ids that are not there are left out."""
        if not len(ids):
            return []
        space = self.space(ns)
        sql = f"SELECT {NODE}, size, terms, created_at, role FROM carray(?) AS place CROSS JOIN nodes ON id=value WHERE +ns=?"
        rows = self.shelf(shelf).rows(sql, (bound(ids), space))
        documents = self._catalogue(space, {row[1] for row in rows}) if rows else {}
        return [
            _found(row, documents[row[1]]) for row in rows if row[1] in documents and documents[row[1]][10] == shelf
        ]

    def beside(self, ns: str, runs: Sequence[int], reach: int, shelf: str = "hot") -> list[Scored]:
        """The nodes that have words or are of a message whose ids lie in some runs of `reach`, the first run from 0."""
        sql = (
            f"SELECT {_SCORED} FROM carray(?) AS place CROSS JOIN nodes ON id BETWEEN value*? AND value*?+?"
            " WHERE +ns=? AND (size>0 OR message IS NOT NULL)"
        )
        bindings = (bound(runs), reach, reach, reach - 1, self.space(ns))
        return self.shelf(shelf).rows(sql, bindings) if len(runs) else []

    def turns(self, ns: str, runs: Sequence[tuple[int, int, int]], shelf: str = "hot") -> Ids:
        """The nodes of the messages in runs of a conversation (talk, first and last seq), ascending."""
        # On the hot shelf what is there stands there, so the index alone is read.
        home = "0" if shelf == "hot" else "document"
        # CROSS JOIN: the runs first, then each by the index; the planner would rather walk the namespace.
        sql = (
            f"SELECT n.id, {home} FROM json_each(?) AS run CROSS JOIN nodes n ON ns=? AND talk=run.value->>0"
            " AND message BETWEEN run.value->>1 AND run.value->>2"
        )
        space = self.space(ns)
        rows = self.shelf(shelf).rows(sql, (json.dumps([*runs]), space)) if len(runs) else []
        here = {0} if shelf == "hot" else self.standing(space, {document for _, document in rows}, shelf)
        return np.unique(np.array([node for node, document in rows if document in here], dtype=np.int64))

    def _catalogue(self, space: int, ids: set[int]) -> dict[int, tuple[Any, ...]]:
        sql = (
            f"SELECT {_CATALOGUE} FROM carray(?) AS place CROSS JOIN documents ON id=value LEFT JOIN usage u"
            " ON u.ns=documents.ns AND u.document=id WHERE +documents.ns=?"
        )
        return {row[0]: row for row in self.hot.rows(sql, (bound([*ids]), space))}

    def document_frequencies(self, ns: str, terms: Sequence[str], shelf: str = "hot") -> dict[str, int]:
        """In how many nodes each term occurs. For a prefix term: how many nodes hold a term that begins so."""
        lead = f"{self.space(ns)}x"
        base = self.shelf(shelf)
        marks = ",".join("?" * len(terms))
        whole = dict(base.rows(f"SELECT term, doc FROM temp.vocabulary WHERE term IN ({marks})", [lead + t for t in terms]))
        found: dict[str, int] = {term: whole.get(lead + term, 0) for term in terms}
        for term in filter(is_prefix, terms):
            sql = "SELECT sum(doc) FROM temp.vocabulary WHERE term>=? AND term<?"
            row = base.row(sql, (lead + term, lead + term + "\U0010ffff"))
            found[term] = int(row[0] or 0) if row else 0
        return found

    def postings(self, ns: str, terms: Sequence[str], shelf: str = "hot") -> dict[str, Ids]:
        """By term, every node that holds it, in no order; for a prefix term, one that begins so."""
        # One string from the engine is a tenth of the cost of one row for each node.
        sql, space = "SELECT group_concat(rowid) FROM fulltext WHERE fulltext MATCH ?", self.space(ns)
        rows = {term: self.shelf(shelf).row(sql, (_quoted(space, term),)) for term in terms}
        return {term: np.fromstring(row[0] or "" if row else "", dtype=np.int64, sep=",") for term, row in rows.items()}

    def nodes_within(
        self, ns: str, *, below: str = "", documents: Collection[str] | None = None, context: str | None = None,
        kinds: Sequence[str] = (), since: int | None = None, until: int | None = None, known: int | None = None,
        limit: int, shelf: str = "hot",
    ) -> list[int]:  # fmt: skip
        """Nodes with words of their own that lie below a path, in one of these documents, in a context, of a kind, within a
        time in ms, known then.

        At most `limit`; and more than these where a condition holds for `limit` documents.
        """
        conditions: list[str] = ["ns=?", "size>0"]
        bindings: list[object] = [self.space(ns)]
        if below:
            conditions.append("(path=? OR (path>=? AND path<?))")
            bindings += [below, below + "/", below + "0"]
        if documents is not None and len(documents) < limit:
            named = "SELECT id FROM documents WHERE ns=? AND path IN (SELECT value FROM json_each(?))"
            ids = [number for (number,) in self.hot.rows(named, (self.space(ns), json.dumps([*documents])))]
            conditions.append(f"document IN ({in_list(ids)})")
        if since is not None:
            conditions.append("created_at>=?")
            bindings.append(since)
        if until is not None:
            conditions.append("created_at<?")
            bindings.append(until)
        marks = ",".join("?" * len(kinds))
        for wanted, sql, also, values in (
            (context is not None, "context=?", "", [context]),
            (known is not None, "recorded_at<=?", "created_at<=? OR ", [known]),
            (bool(kinds), f"kind IN ({marks})", f"kind IN ({marks}) OR ", [*kinds]),
        ):
            homes = self._homes(ns, sql, values, limit) if wanted else None
            if homes is not None:
                conditions.append(f"({also}document IN ({homes}))")
                bindings += values if also else []
        sql = f"SELECT id FROM nodes WHERE {' AND '.join(conditions)} LIMIT ?"
        return [number for (number,) in self.shelf(shelf).rows(sql, (*bindings, limit))]

    def nodes_below(self, ns: str, paths: Sequence[str], limit: int, shelf: str = "hot") -> Ids:
        """Nodes with words of their own that stand at or below any of some paths, ascending; at most `limit`."""
        # CROSS JOIN: the paths first, then each by the index; and apart, because OR would take the index from both.
        part = "SELECT n.id FROM json_each(?1) AS place CROSS JOIN nodes n ON n.ns=?2 AND %s WHERE n.size>0"
        below = "n.path>=place.value||'/' AND n.path<place.value||'0'"
        sql = f"{part % 'n.path=place.value'} UNION ALL {part % below} LIMIT ?3"
        rows = self.shelf(shelf).rows(sql, (json.dumps([*paths]), self.space(ns), limit))
        return np.unique(np.array([number for (number,) in rows], dtype=np.int64))

    def has_unused(self, ns: str, since: int) -> bool:
        """Whether any document was recorded before a moment in ms; of a daily note its day counts."""
        sql = f"SELECT 1 FROM documents WHERE ns=? AND (recorded_at<? OR {_PAST_DAY.format('?')}) LIMIT 1"
        return self.hot.row(sql, (self.space(ns), since, since)) is not None

    def nodes_used(self, ns: str, since: int, *, core: bool, limit: int, shelf: str = "hot") -> list[int]:
        """Nodes of the documents that were recorded or used since a moment in ms, or that a person keeps in core."""
        # Three ways that each know where to look, and none finds what another does; asked with OR, every document is.
        sql = "SELECT id FROM documents INDEXED BY documents_recorded WHERE ns=?1 AND recorded_at>=?3 AND shelf=?2"
        known = (
            " UNION ALL SELECT id FROM usage u INDEXED BY %s CROSS JOIN documents ON id=document"
            " WHERE u.ns=?1 AND %s AND recorded_at<?3 AND shelf=?2"
        )
        sql += known % ("usage_last", "last_accessed>=?3")
        sql += known % ("usage_core", "tier='core' AND last_accessed<?3") if core else ""
        homes = [number for (number,) in self.hot.rows(sql + " LIMIT ?4", (self.space(ns), shelf, since, limit))]
        sql = f"SELECT id FROM nodes INDEXED BY nodes_document WHERE document IN ({in_list(homes)}) LIMIT ?"
        return [number for (number,) in self.shelf(shelf).rows(sql, (limit,))] if homes else []

    def nodes_faded(self, ns: str, since: int) -> list[tuple[int, str]]:
        """Nodes with words of the documents that were neither recorded nor used since a moment in ms, with their shelf."""
        sql = (
            f"SELECT id FROM documents WHERE ns=?1 AND (recorded_at<?2 OR {_PAST_DAY.format('?2')}) AND id NOT IN"
            " (SELECT document FROM usage WHERE ns=?1 AND (last_accessed>=?2 OR tier='core'))"
        )
        homes = in_list(number for (number,) in self.hot.rows(sql, (self.space(ns), since)))
        sql = f"SELECT id FROM nodes WHERE size>0 AND document IN ({homes})"
        return [(number, name) for name, shelf in self._shelves.items() for (number,) in shelf.rows(sql)]

    def same_tree(self, ns: str, document: int, nodes: Sequence[NewNode], shelf: str) -> bool:
        """Whether a document's tree on a shelf is the given one."""
        with self.shelf(shelf).snapshot() as db:
            return trees.same(stored(db, self.space(ns), document), nodes)

    def _homes(self, ns: str, condition: str, values: Sequence[object], limit: int) -> str | None:
        """The documents of which a condition holds, for an IN clause; `None` where there are too many to name."""
        sql = f"SELECT id FROM documents WHERE ns=? AND {condition} LIMIT ?"
        rows = self.hot.rows(sql, (self.space(ns), *values, limit))
        return in_list(number for (number,) in rows) if len(rows) < limit else None

    def phrase(self, ns: str, terms: Sequence[str], limit: int, shelf: str = "hot") -> list[int]:
        """Nodes that hold the terms one after the other."""
        if not terms:
            return []
        space = self.space(ns)
        # FTS5 takes a prefix at the end of a phrase only; inside, a lone character is a term of its own anyway.
        match = " + ".join([*(_exact(space, term) for term in terms[:-1]), _quoted(space, terms[-1])])
        sql = "SELECT rowid FROM fulltext WHERE fulltext MATCH ? LIMIT ?"
        return [number for (number,) in self.shelf(shelf).rows(sql, (match, limit))]

    def lexicon(self, ns: str, shelf: str | None = None) -> tuple[int, int, int]:
        """How many nodes are indexed, how many terms they have in all, and how many nodes were ever removed.

        On one shelf, or on all.
        """
        space, sums = self.space(ns), [0, 0, 0]
        for base in self._shelves.values() if shelf is None else (self.shelf(shelf),):
            for row in base.rows("SELECT nodes, terms, removed FROM lexicon WHERE ns=?", (space,)):
                sums = [have + more for have, more in zip(sums, row, strict=True)]
        return sums[0], sums[1], sums[2]

    def edges(self, ns: str, ids: Sequence[int], kind: str) -> list[tuple[int, int, float]]:
        """Edges of a kind that leave the given nodes: (source, target, weight)."""
        sql = f"SELECT source, target, weight FROM edges WHERE +ns=? AND kind=? AND source IN ({in_list(ids)})"
        space = self.space(ns)
        return sorted({row for shelf in self._shelves.values() for row in shelf.rows(sql, (space, kind))})


def _quoted(ns: int, term: str) -> str:
    return _exact(ns, term) + ("*" if is_prefix(term) else "")


def _exact(ns: int, term: str) -> str:
    text = f"{ns}x{term}".replace('"', '""')
    return f'"{text}"'


def _found(row: tuple[Any, ...], document: tuple[Any, ...]) -> Found:
    number, home, parent, path, kind, title, text_id, start, end, reach, message, speaker, size, words, said, role = row
    _, d_path, d_kind, d_title, context, origin, importance, session, _, recorded, shelf, forgotten, *use = document
    return Found(
        number, parent, path, kind, title, text_id, start, end, reach, message, speaker, size, words, home, d_path,
        d_kind, d_title, context, origin, importance, session, said, min(said, recorded), forgotten, shelf, role, *use,
    )  # fmt: skip
