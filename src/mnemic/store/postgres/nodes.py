"""Trees, and the full-text rows that find their nodes.

A node's distinct terms stand in a `tsvector`, each led by its namespace and shelf (`3h` before each), so one namespace's
common word costs another nothing and shows it nothing. The terms are those of our own tokenizer, put in as they are: the
server's parsers and dictionaries see none of them, and so the same words are found as in SQLite. In how many nodes a term
occurs is kept beside (`vocabulary`), because the index could only tell by reading them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from mnemic.models.document import Node
from mnemic.store import trees
from mnemic.store.base import Found, Ids, NewNode, Scored
from mnemic.store.postgres import vectors
from mnemic.store.postgres.connection import Write
from mnemic.store.postgres.documents import Documents
from mnemic.store.postgres.migrations import PATH
from mnemic.store.postgres.shelves import capped, checked_shelf
from mnemic.store.trees import INDEXED, NODE, hashes, passage_of, term_hash
from mnemic.text.tokens import is_prefix, terms

_INSERT = f"INSERT INTO nodes(ns, shelf, {NODE}, {INDEXED}) VALUES({','.join(['%s'] * 19)})"
_SCORED = (
    "n.id, CASE WHEN n.talk IS NULL THEN n.document ELSE n.talk END,"
    " CASE WHEN n.talk IS NULL THEN -1 ELSE coalesce(n.message, -1) END, n.created_at, n.role='user', n.kind='message',"
    " n.speaker, n.terms"
)
_FOUND = (
    'n.id, n.parent, n.path, n.kind, n.title, n.text_id, n.start, n."end", n.reach, n.message, n.speaker, n.size, n.terms,'
    " n.document, d.path, d.kind, d.title, d.context, d.origin, d.importance, d.session, n.created_at,"
    " least(n.created_at, d.recorded_at), v.forgotten_at, d.shelf, n.role,"
    " greatest(coalesce(u.last_accessed, 0), CASE WHEN d.kind='daily' THEN d.created_at ELSE d.recorded_at END),"
    " coalesce(u.access_count, 0), u.tier"
)
_JOINED = (
    "nodes n JOIN documents d ON d.ns=n.ns AND d.id=n.document AND d.shelf=n.shelf"
    " LEFT JOIN visibility v ON v.ns=d.ns AND v.path=d.path"
    " LEFT JOIN usage u ON u.ns=d.ns AND u.document=d.id"
)
_DAY = "path>='/daily/' AND path<'/daily0' AND kind='daily'"
_PAST_DAY = f"({_DAY} AND created_at<%s)"
"""A daily note is as old as its day, whenever it was read."""
_ABOVE = "\U0010ffff"
ALLOCATE = "SELECT allocate(%s, %s)"
TERMS = 100
"""Terms whose nodes are asked for in one statement."""
_EACH = "JOIN LATERAL (SELECT * FROM nodes n WHERE n.ns=%s AND {} OFFSET 0) AS n ON true"
"""Joins a list with the nodes of each of its rows, by an index. What the server would take a range for without OFFSET is a share
of the whole table, and it would read all of a namespace instead."""
_BELOW = (
    "(n.path=place.path OR (n.path>=place.path||'/' AND n.path<place.path||'0'))"
    f" AND left(n.path, {PATH})>=left(place.path, {PATH}) AND left(n.path, {PATH})<=left(place.path||'0', {PATH})"
)
READ = 2_000
"""Candidates of a phrase, or nodes of a rebuild, that are read at a time."""


def lead(ns: int, shelf: str) -> str:
    """What stands before each term of a shelf of a namespace."""
    return f"{ns}{shelf[0]}"


def replace(write: Write, document: int, nodes: Sequence[NewNode]) -> list[int]:
    """Put a tree in place of the one before. What is just as it was keeps its id, and so vector and edges."""
    query = f"SELECT {NODE}, {INDEXED} FROM nodes WHERE ns=%s AND document=%s AND shelf='hot'"
    there, *more = write.together([(query, (write.space, document)), *([(ALLOCATE, ("nodes", len(nodes)))] if nodes else ())])
    fresh: Any = more[0].fetchone() if more else (0,)
    found = trees.difference(document, there.fetchall(), nodes, int(fresh[0]))
    remove(write, [row[0] for row in found.gone], "hot")
    write.many(_INSERT, [(write.space, "hot", *row) for row, _ in found.made])
    put_words(write, "hot", [(row[0], words) for row, words in found.made if words])
    count(write, "hot", *found.counts)
    return found.ids


def allocate(write: Write, name: str, number: int) -> int:
    """The first of so many identifiers of the home."""
    found = write.row(ALLOCATE, (name, number))
    assert found is not None
    return int(found[0])


def put_words(write: Write, shelf: str, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Make the full-text rows of nodes, and count their terms."""
    ns, before = write.space, lead(write.space, shelf)
    counted: Counter[str] = Counter()
    made = []
    for number, words in rows:
        distinct = sorted(set(words))
        counted.update(distinct)
        made.append((ns, number, [before + word for word in distinct]))
    write.many("INSERT INTO fulltext(ns, node, words) VALUES(%s,%s,array_to_tsvector(%s::text[]))", made)
    if counted:
        write.later(
            "INSERT INTO vocabulary AS v(ns, shelf, term, nodes)"
            " SELECT %s, %s, t, n FROM unnest(%s::text[], %s::bigint[]) AS f(t, n)"
            " ON CONFLICT (ns, shelf, term) DO UPDATE SET nodes=v.nodes+excluded.nodes",
            (ns, shelf, sorted(counted), [counted[term] for term in sorted(counted)]),
        )


def drop_words(write: Write, shelf: str, numbers: Sequence[int]) -> None:
    """Take the full-text rows of nodes out, and their terms off the count."""
    ns, skip = write.space, len(lead(write.space, shelf)) + 1
    lost = write.rows(
        "WITH gone AS (DELETE FROM fulltext WHERE ns=%s AND node=ANY(%s) RETURNING words),"
        " lost AS (SELECT substr(w, %s::int) AS term, count(*) AS n FROM gone, unnest(tsvector_to_array(words)) AS w GROUP BY 1)"
        " UPDATE vocabulary v SET nodes=v.nodes-lost.n FROM lost WHERE v.ns=%s AND v.shelf=%s AND v.term=lost.term"
        " RETURNING v.term, v.nodes",
        (ns, list(numbers), skip, ns, shelf),
    )
    if none := [term for term, left in lost if left <= 0]:
        write.later("DELETE FROM vocabulary WHERE ns=%s AND shelf=%s AND term=ANY(%s)", (ns, shelf, none))


def remove(write: Write, numbers: Sequence[int], shelf: str) -> None:
    """Take nodes out with their full-text rows, vectors, codes and edges."""
    if not numbers:
        return
    ns, ids = write.space, list(numbers)
    drop_words(write, shelf, ids)
    write.later("DELETE FROM edges WHERE ns=%s AND (source=ANY(%s) OR target=ANY(%s))", (ns, ids, ids))
    vectors.blank(write, ids, shelf)
    vectors.remove(write, ids)
    write.later("DELETE FROM nodes WHERE ns=%s AND id=ANY(%s)", (ns, ids))


def count(write: Write, shelf: str, indexed: int, total: int, removed: int) -> None:
    """Change the sums of a shelf."""
    write.later(
        "INSERT INTO lexicon AS l VALUES(%s,%s,%s,%s,%s) ON CONFLICT (ns, shelf) DO UPDATE SET nodes=l.nodes+excluded.nodes,"
        " terms=l.terms+excluded.terms, removed=l.removed+excluded.removed",
        (write.space, shelf, indexed, total, removed),
    )


def move(write: Write, document: int, source: str, target: str) -> list[int]:
    """Let a document's nodes with their words stand on another shelf; returns their numbers, in order."""
    ns = write.space
    rows = write.rows(
        "UPDATE nodes SET shelf=%s WHERE ns=%s AND document=%s AND shelf=%s RETURNING id, size", (target, ns, document, source)
    )
    numbers, sizes = sorted(row[0] for row in rows), [row[1] for row in rows if row[1]]
    spoken = write.rows("SELECT node, tsvector_to_array(words) FROM fulltext WHERE ns=%s AND node=ANY(%s)", (ns, numbers))
    drop_words(write, source, numbers)
    skip = len(lead(ns, source))
    put_words(write, target, [(node, [word[skip:] for word in words]) for node, words in spoken])
    count(write, source, -len(sizes), -sum(sizes), len(rows))
    count(write, target, len(sizes), sum(sizes), 0)
    return numbers


def rebuild(write: Write) -> int:
    """Make the full-text rows of a namespace anew from its texts, with term lists and counts; returns the rows made."""
    ns, made, after = write.space, 0, 0
    for table in ("fulltext", "vocabulary"):
        write.later(f"DELETE FROM {table} WHERE ns=%s", (ns,))
    # What somebody has read of the nodes may not be true any longer, as if they had been removed.
    write.later("UPDATE lexicon SET nodes=0, terms=0, removed=removed+1 WHERE ns=%s", (ns,))
    write.later("UPDATE nodes SET size=0, terms='' WHERE ns=%s AND size>0", (ns,))
    query = (
        "SELECT id, shelf, parent, title, start, reach, speaker, text_id FROM nodes"
        " WHERE ns=%s AND id>%s AND reach>start AND text_id IS NOT NULL ORDER BY id LIMIT %s"
    )
    texts = "SELECT id, body FROM texts WHERE ns=%s AND id=ANY(%s)"
    while rows := write.rows(query, (ns, after, READ)):
        after = rows[-1][0]
        # Once a text: it may be large and have thousands of nodes.
        bodies: dict[int, str] = dict(write.rows(texts, (ns, sorted({row[-1] for row in rows}))))
        said = [(number, shelf, terms(passage_of(bodies.get(text_id, ""), *columns)))
                for number, shelf, *columns, text_id in rows]  # fmt: skip
        write.many("UPDATE nodes SET size=%s, terms=%s WHERE ns=%s AND id=%s",
                   [(len(words), hashes(words), ns, number) for number, _, words in said])  # fmt: skip
        for shelf in sorted({shelf for _, shelf, _ in said}):
            here = [(number, words) for number, where, words in said if where == shelf and words]
            put_words(write, shelf, here)
            count(write, shelf, len(here), sum(len(words) for _, words in here), 0)
            made += len(here)
    return made


class Nodes(Documents):
    """Reads of trees, and lexical candidates."""

    def node(self, ns: str, path: str) -> Node | None:
        """The node of exactly this path, on whichever shelf it is."""
        space = self.space(ns)
        query = f"SELECT {NODE} FROM nodes WHERE ns=%s AND left(path, {PATH})=left(%s, {PATH}) AND path=%s"
        found = self._row(space, query, (space, path, path))
        return None if found is None else Node(*found)

    def nodes(self, ns: str, document: int, shelf: str = "hot") -> list[Node]:
        """A document's tree in document order."""
        space = self.space(ns)
        order = 'message NULLS FIRST, start, "end" DESC, id'
        query = f"SELECT {NODE} FROM nodes WHERE ns=%s AND document=%s AND shelf=%s ORDER BY {order}"
        return [Node(*row) for row in self._rows(space, query, (space, document, checked_shelf(shelf)))]

    def found(self, ns: str, ids: Sequence[int], shelf: str = "hot") -> list[Found]:
        """Nodes with all that recall needs, in no order; ids that are not there are left out."""
        if not len(ids):
            return []
        space = self.space(ns)
        query = f"SELECT {_FOUND} FROM {_JOINED} WHERE n.ns=%s AND n.id=ANY(%s) AND n.shelf=%s"
        return [Found(*row) for row in self._rows(space, query, (space, list(map(int, ids)), checked_shelf(shelf)))]

    def beside(self, ns: str, runs: Sequence[int], reach: int, shelf: str = "hot") -> list[Scored]:
        """The nodes that have words or are of a message whose ids lie in some runs of `reach`, the first run from 0."""
        if not len(runs):
            return []
        space = self.space(ns)
        query = (
            f"SELECT {_SCORED} FROM unnest(%s::bigint[]) AS run(place)"
            f" {_EACH.format('n.id BETWEEN run.place*%s AND run.place*%s+%s')}"
            " WHERE n.shelf=%s AND (n.size>0 OR n.message IS NOT NULL)"
        )
        return self._rows(space, query, (list(map(int, runs)), space, reach, reach, reach - 1, checked_shelf(shelf)))

    def turns(self, ns: str, runs: Sequence[tuple[int, int, int]], shelf: str = "hot") -> Ids:
        """The nodes of the messages in runs of a conversation (talk, first and last seq), ascending."""
        if not len(runs):
            return np.zeros(0, dtype=np.int64)
        space = self.space(ns)
        query = (
            "SELECT string_agg(int8send(n.id), ''::bytea)"
            " FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS run(t, low, high)"
            f" {_EACH.format('n.talk=run.t AND n.message BETWEEN run.low AND run.high')} WHERE n.shelf=%s"
        )
        talks, low, high = (list(map(int, column)) for column in zip(*runs, strict=True))
        return np.unique(_numbers(self._row(space, query, (talks, low, high, space, checked_shelf(shelf)))))

    def document_frequencies(self, ns: str, terms: Sequence[str], shelf: str = "hot") -> dict[str, int]:
        """In how many nodes each term occurs. For a prefix term: how many nodes hold a term that begins so."""
        space, found = self.space(ns), dict.fromkeys(terms, 0)
        query = "SELECT term, nodes FROM vocabulary WHERE ns=%s AND shelf=%s AND term=ANY(%s)"
        if terms:
            found |= dict(self._rows(space, query, (space, checked_shelf(shelf), list(terms))))
        for term in filter(is_prefix, terms):
            query = "SELECT coalesce(sum(nodes), 0)::bigint FROM vocabulary WHERE ns=%s AND shelf=%s AND term>=%s AND term<%s"
            row = self._row(space, query, (space, shelf, term, term + _ABOVE))
            found[term] = int(row[0]) if row else 0
        return found

    def postings(self, ns: str, terms: Sequence[str], shelf: str = "hot") -> dict[str, Ids]:
        """By term, every node that holds it, in no order; for a prefix term, one that begins so."""
        space, found = self.space(ns), dict[str, Ids]()
        # One string from the server is a tenth of the cost of one row for each node. All terms in one pass: where rows are
        # guarded the server uses no index for an operator that might tell of rows before the guard has seen them, and `@@`
        # counts as such (PostgreSQL manual, CREATE FUNCTION: LEAKPROOF), so each pass reads the namespace's words.
        one = "string_agg(int8send(node), ''::bytea) FILTER (WHERE words @@ %s::tsquery)"
        for at in range(0, len(terms), TERMS):
            some = terms[at : at + TERMS]
            values = [_query(space, checked_shelf(shelf), [term]) for term in some]
            row = self._row(space, f"SELECT {', '.join([one] * len(some))} FROM fulltext WHERE ns=%s", (*values, space))
            found |= {term: _numbers(row[place : place + 1] if row else None) for place, term in enumerate(some)}
        return found

    def nodes_within(
        self, ns: str, *, below: str = "", documents: Collection[str] | None = None, context: str | None = None,
        kinds: Sequence[str] = (), since: int | None = None, until: int | None = None, known: int | None = None,
        limit: int, shelf: str = "hot",
    ) -> list[int]:  # fmt: skip
        """Nodes with words of their own that lie below a path, in one of these documents, in a context, of a kind, within a
        time in ms, known then.

        At most `limit`; and more than these where a condition holds for `limit` documents.
        """
        space = self.space(ns)
        conditions, values = ["ns=%s", "size>0", "shelf=%s"], list[object]([space, checked_shelf(shelf)])
        if below:
            conditions.append(f"(path=%s OR (path>=%s AND path<%s)) AND left(path, {PATH})>=left(%s, {PATH})"
                              f" AND left(path, {PATH})<=left(%s, {PATH})")  # fmt: skip
            values += [below, below + "/", below + "0", below, below + "0"]
        if documents is not None and len(documents) < limit:
            named = "SELECT id FROM documents WHERE ns=%s AND path=ANY(%s)"
            conditions.append("document=ANY(%s)")
            values.append([number for (number,) in self._rows(space, named, (space, list(documents)))])
        if since is not None:
            conditions.append("created_at>=%s")
            values.append(since)
        if until is not None:
            conditions.append("created_at<%s")
            values.append(until)
        for wanted, condition, also, given in (
            (context is not None, "context=%s", "", context),
            (known is not None, "recorded_at<=%s", "created_at<=%s OR ", known),
            (bool(kinds), "kind=ANY(%s)", "kind=ANY(%s) OR ", list(kinds)),
        ):
            homes = self._homes(space, condition, given, limit) if wanted else None
            if homes is not None:
                conditions.append(f"({also}document=ANY(%s))")
                values += [given, homes] if also else [homes]
        query = f"SELECT id FROM nodes WHERE {' AND '.join(conditions)} LIMIT %s"
        return [number for (number,) in self._rows(space, query, (*values, capped(limit)))]

    def nodes_below(self, ns: str, paths: Sequence[str], limit: int, shelf: str = "hot") -> Ids:
        """Nodes with words of their own that stand at or below any of some paths, ascending; at most `limit`."""
        space = self.space(ns)
        query = (
            f"SELECT n.id FROM unnest(%s::text[]) AS place(path) {_EACH.format(_BELOW)}"
            " WHERE n.shelf=%s AND n.size>0 LIMIT %s"
        )
        rows = self._rows(space, query, (list(paths), space, checked_shelf(shelf), capped(limit)))
        return np.unique(np.array([number for (number,) in rows], dtype=np.int64))

    def _homes(self, space: int, condition: str, given: object, limit: int) -> list[int] | None:
        """The documents of which a condition holds; `None` where there are too many to name."""
        query = f"SELECT id FROM documents WHERE ns=%s AND {condition} LIMIT %s"
        rows = self._rows(space, query, (space, given, limit))
        return [number for (number,) in rows] if len(rows) < limit else None

    def has_unused(self, ns: str, since: int) -> bool:
        """Whether any document was recorded before a moment in ms; of a daily note its day counts."""
        space = self.space(ns)
        # Which is the oldest stays true until something is written, whatever moment is asked for.
        query = (
            "SELECT least((SELECT min(recorded_at) FROM documents WHERE ns=%s),"
            f" (SELECT min(created_at) FROM documents WHERE ns=%s AND {_DAY}))"
        )
        oldest = self._kept(space, query, (space, space))[0][0]
        return oldest is not None and oldest < since

    def nodes_used(self, ns: str, since: int, *, core: bool, limit: int, shelf: str = "hot") -> list[int]:
        """Nodes of the documents that were recorded or used since a moment in ms, or that a person keeps in core."""
        space = self.space(ns)
        kept = " OR u.tier='core'" if core else ""
        query = (
            "SELECT n.id FROM (SELECT id FROM documents WHERE ns=%s AND recorded_at>=%s AND shelf=%s"
            " UNION SELECT d.id FROM usage u JOIN documents d ON d.ns=u.ns AND d.id=u.document"
            f" WHERE u.ns=%s AND (u.last_accessed>=%s{kept}) AND d.shelf=%s LIMIT %s) AS h"
            " JOIN nodes n ON n.ns=%s AND n.document=h.id AND n.shelf=%s LIMIT %s"
        )
        values = (space, since, checked_shelf(shelf), space, since, shelf, limit, space, shelf, limit)
        return [number for (number,) in self._rows(space, query, values)]

    def nodes_faded(self, ns: str, since: int) -> list[tuple[int, str]]:
        """Nodes with words of the documents that were neither recorded nor used since a moment in ms, with their shelf."""
        space = self.space(ns)
        query = (
            "SELECT n.id, n.shelf FROM nodes n WHERE n.ns=%s AND n.size>0 AND n.document IN"
            f" (SELECT id FROM documents WHERE ns=%s AND (recorded_at<%s OR {_PAST_DAY}) AND id NOT IN"
            " (SELECT document FROM usage WHERE ns=%s AND (last_accessed>=%s OR tier='core')))"
        )
        return [(number, shelf) for number, shelf in self._rows(space, query, (space, space, since, since, space, since))]

    def same_tree(self, ns: str, document: int, nodes: Sequence[NewNode], shelf: str) -> bool:
        """Whether a document's tree on a shelf is the given one."""
        space = self.space(ns)
        query = f"SELECT {NODE}, {INDEXED} FROM nodes WHERE ns=%s AND document=%s AND shelf=%s"
        return trees.same(self._rows(space, query, (space, document, checked_shelf(shelf))), nodes)

    def phrase(self, ns: str, terms: Sequence[str], limit: int, shelf: str = "hot") -> list[int]:
        """Nodes that hold the terms one after the other, in the order of their ids."""
        if not terms:
            return []
        space, found, after = self.space(ns), list[int](), 0
        wanted = [np.array([term_hash(term)], dtype=np.uint32) for term in terms]
        if is_prefix(terms[-1]):
            query = "SELECT term FROM vocabulary WHERE ns=%s AND shelf=%s AND term>=%s AND term<%s"
            begun = self._rows(space, query, (space, checked_shelf(shelf), terms[-1], terms[-1] + _ABOVE))
            wanted[-1] = np.array([term_hash(term) for (term,) in begun], dtype=np.uint32)
        query = (
            "SELECT n.id, n.terms FROM fulltext f JOIN nodes n ON n.ns=f.ns AND n.id=f.node"
            " WHERE f.ns=%s AND f.node>%s AND f.words @@ %s::tsquery ORDER BY n.id LIMIT %s"
        )
        match = _query(space, checked_shelf(shelf), terms)
        while len(found) < limit and (rows := self._rows(space, query, (space, after, match, READ))):
            after = rows[-1][0]
            found += [number for number, blob in rows if _follow(np.frombuffer(blob, dtype=np.uint32), wanted)]
        return found[:limit]

    def lexicon(self, ns: str, shelf: str | None = None) -> tuple[int, int, int]:
        """How many nodes are indexed, how many terms they have in all, and how many nodes were ever removed.

        On one shelf, or on all.
        """
        space = self.space(ns)
        rows = self._kept(space, "SELECT shelf, nodes, terms, removed FROM lexicon WHERE ns=%s", (space,))
        here = [row[1:] for row in rows if shelf is None or row[0] == checked_shelf(shelf)]
        nodes, size, removed = map(sum, zip((0, 0, 0), *here, strict=True))
        return nodes, size, removed

    def edges(self, ns: str, ids: Sequence[int], kind: str) -> list[tuple[int, int, float]]:
        """Edges of a kind that leave the given nodes: (source, target, weight)."""
        if not len(ids):
            return []
        space = self.space(ns)
        query = "SELECT source, target, weight FROM edges WHERE ns=%s AND source=ANY(%s) AND kind=%s ORDER BY source, target"
        rows = self._rows(space, query, (space, list(map(int, ids)), kind))
        return [(source, target, weight) for source, target, weight in rows]


def _follow(have: Ids, wanted: Sequence[Any]) -> bool:
    """Whether a list of terms holds some, each one of a few, one after the other."""
    room = len(have) - len(wanted) + 1
    if room < 1:
        return False
    here = np.ones(room, dtype=bool)
    for place, some in enumerate(wanted):
        here &= np.isin(have[place : place + room], some)
    return bool(here.any())


def _query(ns: int, shelf: str, terms: Sequence[str]) -> str:
    """What finds the nodes of a shelf that hold all terms; the last of them may be the beginning of one."""
    before = lead(ns, shelf)
    quoted = ["'" + (before + term).replace("\\", "\\\\").replace("'", "''") + "'" for term in terms]
    if is_prefix(terms[-1]):
        quoted[-1] += ":*"
    return " & ".join(quoted)


def _numbers(row: tuple[Any, ...] | None) -> Ids:
    """The ids of a row that holds them as one string."""
    return np.frombuffer(row[0] or b"" if row else b"", dtype=">i8").astype(np.int64)
