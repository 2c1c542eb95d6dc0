"""Namespaces that are copies of others, made row by row below the store: a thousand real ones would take hours to capture.

A copy has all that its original has: rows of truth, ledger, texts, trees, full text, vectors, codes, edges. What names the
namespace is made anew: in PostgreSQL the number in every key and before every full-text term, the counters, and the chain,
whose leaves cover the name. In SQLite identifiers belong to the home, so those of a copy are moved by a whole stretch, and
with them the payloads of its ledger, which name them. The full-text index of PostgreSQL is built once over all of them, not
grown word by word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.ledger import canonical
from mnemic.ledger.chain import GENESIS, leaf_hash, payload_hash
from mnemic.models.event import Event
from mnemic.store import open_sqlite
from mnemic.store.postgres import migrations
from mnemic.store.postgres.connection import SCHEMA
from mnemic.store.postgres.nodes import lead
from mnemic.store.sqlite.connection import connect
from mnemic.store.sqlite.nodes import spaced
from mnemic.store.trees import passage_of
from mnemic.text.tokens import terms

CHUNK = 50
"""Copies in one transaction of the server."""
BARE = ("fulltext_words",)
"""Indexes that are built when all rows are there."""
Leaf = tuple[Any, ...]


# PostgreSQL


def in_database(url: str, copies: Mapping[str, str]) -> None:
    """Make namespaces in a database that are copies of others: {new: original}. Needs a user above row-level security."""
    import psycopg

    with psycopg.connect(url, autocommit=True, options=f"-c search_path={SCHEMA},public -c maintenance_work_mem=512MB") as db:
        bare = {name: sql for sql in migrations.INDEXES for name in BARE if f" {name} " in sql}
        for name in bare:
            db.execute(f"DROP INDEX {name}".encode())
        db.execute("ANALYZE")
        wanted = list(copies.items())
        for at in range(0, len(wanted), CHUNK):
            with db.transaction():
                _copy(db, dict(wanted[at : at + CHUNK]))
        for sql in bare.values():
            db.execute(sql.encode())
        db.execute("ANALYZE")


def _copy(db: Any, copies: Mapping[str, str]) -> None:
    number = dict(db.execute("SELECT name, id FROM namespaces").fetchall())
    targets = []
    for name, original in copies.items():
        sql = "INSERT INTO namespaces(name, version) SELECT %s, version FROM namespaces WHERE name=%s RETURNING id"
        targets.append((db.execute(sql, (name, original)).fetchone()[0], number[original], name, original))
    new, old, names, originals = map(list, zip(*targets, strict=True))
    pairs = "unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) AS m(new, old, name, original)"
    for table in migrations.TABLES:
        if table == "ledger" or db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is None:
            continue
        columns = _columns(db, table)
        taken = {column: f't."{column}"' for column in columns}
        if table == "counters":  # ["messages", namespace, session]
            taken["name"] = "replace(t.name, ',' || to_json(m.original)::text || ',', ',' || to_json(m.name)::text || ',')"
            taken["name"] = (
                f"replace({taken['name']}, ',' || to_json(m.original)::text || ']', ',' || to_json(m.name)::text || ']')"
            )
        if table == "fulltext":
            mark = lead(0, "hot")[1:]  # all are on the hot shelf
            taken["words"] = (
                f"array_to_tsvector(ARRAY(SELECT m.new || '{mark}' || substr(w, length(m.old || '{mark}') + 1)"
                " FROM unnest(tsvector_to_array(t.words)) AS w))"
            )
        listed = ", ".join(f'"{column}"' for column in columns)
        rows = f"SELECT m.new, {', '.join(taken.values())} FROM {pairs} JOIN {table} t ON t.ns=m.old"
        sql = f"INSERT INTO {table}(ns, {listed}) {rows}"
        db.execute(sql.encode(), (new, old, names, originals))
    sql = f"SELECT {', '.join(LEAF)} FROM ledger WHERE ns=%s ORDER BY seq"
    leaves = {source: db.execute(sql.encode(), (source,)).fetchall() for source in set(old)}
    with db.cursor().copy(f"COPY ledger(ns, {', '.join(LEAF)}) FROM STDIN".encode()) as out:
        for target, source, name, _ in targets:
            for leaf in chained(name, leaves[source]):
                out.write_row((target, *leaf))


LEAF = ("seq", "at", "actor", "origin", "op", "object", "payload_hash", "previous", "hash")


def chained(namespace: str, leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """The entries of a ledger as those of another namespace: each names the hash of the one before it."""
    previous = GENESIS
    for row in leaves:
        event = replace(Event(**dict(zip(LEAF, row, strict=True)), payload=None, salt=None), previous=previous)
        previous = leaf_hash(namespace, event)
        yield (*row[:-2], event.previous, previous)


def _columns(db: Any, table: str) -> list[str]:
    own = "attrelid=%s::regclass AND attnum>0 AND NOT attisdropped AND attname<>'ns'"
    sql = f"SELECT attname FROM pg_attribute WHERE {own} ORDER BY attnum"
    return [column for (column,) in db.execute(sql.encode(), (table,)).fetchall()]


# SQLite

MOVED: dict[str, Sequence[str]] = {
    "texts": ("id", "document"), "sessions": (), "documents": ("id", "text_id"), "messages": ("document", "text_id"),
    "nodes": ("id", "document", "parent", "text_id"), "lexicon": (), "queue": ("document",), "vectors": ("key",), "coders": (),
    "edges": ("source", "target"),
}  # fmt: skip
"""Tables that a captured conversation leaves rows in, and which of their columns hold identifiers of the home."""


def in_folder(folder: Path, copies: Mapping[str, str]) -> None:
    """Make namespaces in a folder that are copies of others: {new: original}. Nobody else may use it meanwhile."""
    with closing(open_sqlite(folder)):
        pass
    with closing(connect(folder / "memory.db", create=False)) as db:
        db.execute("PRAGMA cache_size = -256000")
        known = "('documents', 'texts', 'nodes')"
        found: Any = db.execute(f"SELECT max(value) FROM sequences WHERE name IN {known}").fetchone()
        stretch: int = found[0]
        originals: dict[str, _Original] = {}
        for place, (name, original) in enumerate(copies.items(), 1):
            if original not in originals:
                originals[original] = _Original(db, original)
            with _transaction(db):
                originals[original].copy(db, name, place * stretch)
        with _transaction(db):
            db.execute(f"UPDATE sequences SET value=value+? WHERE name IN {known}", (len(copies) * stretch,))
        db.execute("ANALYZE")


class _Original:
    """What of a namespace is read once for all its copies."""

    def __init__(self, db: Any, name: str) -> None:
        self.name = name
        self.ns: int = db.execute("SELECT id FROM namespaces WHERE name=?", (name,)).fetchone()[0]
        self.tables = {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in MOVED}
        self.leaves = db.execute(f"SELECT {', '.join(LEAF)} FROM ledger WHERE ns=? ORDER BY seq", (self.ns,)).fetchall()
        self.payloads = {seq: (salt, json.loads(body)) for seq, salt, body in
                         db.execute("SELECT seq, salt, body FROM payloads WHERE ns=?", (self.ns,))}  # fmt: skip
        self.codes = db.execute("SELECT embedder, first, last, nodes, codes FROM codes WHERE ns=?", (self.ns,)).fetchall()
        self.sequences = [
            (json.loads(key), value) for key, value in db.execute("SELECT name, value FROM sequences WHERE name LIKE '[%'")
        ]
        sql = (
            "SELECT n.id, t.body, n.parent, n.title, n.start, n.reach, n.speaker FROM nodes n JOIN texts t ON t.id=n.text_id"
            " WHERE n.ns=? AND n.size>0"
        )
        self.words = [(node, terms(passage_of(*columns))) for node, *columns in db.execute(sql, (self.ns,))]

    def copy(self, db: Any, name: str, by: int) -> None:
        """Add a copy under a name, with its identifiers so much higher."""
        ns = db.execute("INSERT INTO namespaces(name) VALUES(?) RETURNING id", (name,)).fetchone()[0]
        for table, moved in MOVED.items():
            taken = [str(ns) if column == "ns" else f'"{column}"+{by}' if column in moved else f'"{column}"'
                     for column in self.tables[table]]  # fmt: skip
            db.execute(f"INSERT INTO {table} SELECT {', '.join(taken)} FROM {table} WHERE ns=?", (self.ns,))
        db.executemany(
            "INSERT INTO fulltext(rowid, terms) VALUES(?,?)", ((node + by, spaced(ns, words)) for node, words in self.words)
        )
        for embedder, first, last, nodes, codes in self.codes:
            known = np.frombuffer(nodes, dtype="<i8")
            db.execute(
                "INSERT INTO codes VALUES(?,?,?,?,?,?)",
                (ns, embedder, first, last, np.where(known, known + by, 0).tobytes(), codes),
            )
        own = [
            (canonical([name if part == self.name else part for part in key]), value)
            for key, value in self.sequences
            if key[1] == self.name
        ]
        db.executemany("INSERT INTO sequences VALUES(?,?)", own)
        payloads = {seq: (salt, canonical(_shifted(content, by))) for seq, (salt, content) in self.payloads.items()}
        db.executemany(
            "INSERT INTO payloads(ns, seq, salt, body) VALUES(?,?,?,?)", ((ns, seq, *pair) for seq, pair in payloads.items())
        )
        leaves = [(*row[:5], _object(row[5], by), payload_hash(*payloads[row[0]]), *row[7:]) for row in self.leaves]
        db.executemany(f"INSERT INTO ledger VALUES({','.join('?' * 10)})", ((ns, *leaf) for leaf in chained(name, leaves)))


def _object(name: str, by: int) -> str:
    kind, number = name.split(":")
    return f"{kind}:{int(number) + by}"


def _shifted(content: dict[str, Any], by: int) -> dict[str, Any]:
    """What an entry carries, with other identifiers."""
    changes = [[table, key, _row(table, before, by), _row(table, after, by)] for table, key, before, after in content["changes"]]
    return {**content, "changes": changes}


def _row(table: str, row: dict[str, Any] | None, by: int) -> dict[str, Any] | None:
    if row is None:
        return None
    return row | {column: row[column] + by for column in MOVED[table] if row[column] is not None}


@contextmanager
def _transaction(db: Any) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
