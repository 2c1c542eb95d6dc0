"""The PostgreSQL store as one object, and its one way to write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import psycopg

from mnemic.errors import BadInput, StoreError
from mnemic.models.document import SHELVES
from mnemic.models.event import Change, Event, Head, Row
from mnemic.store.archive import More
from mnemic.store.base import CodeBlock, NewNode, VaultFile, VectorRow
from mnemic.store.facts import Facts
from mnemic.store.postgres import backups, checks, events, jobs, migrations, nodes, truth, vault, vectors
from mnemic.store.postgres.connection import LIMIT, SCHEMA, Database, Write, first_line
from mnemic.store.postgres.events import Events
from mnemic.store.postgres.nodes import Nodes
from mnemic.store.postgres.servers import COUNTED, SHARD, Servers
from mnemic.store.postgres.shelves import checked_shelf
from mnemic.store.postgres.vault import VaultFiles
from mnemic.store.postgres.vectors import Vectors
from mnemic.store.schema import SEQUENCES, TRUTH

KEPT = "the server's write-ahead log, its replicas and its own backups keep the erased bytes until they are recycled"
ERASED = ("texts", "nodes", "fulltext", "vocabulary", "vectors", "codes", "payloads", "operations", "messages", "diary", "facts",
          "concerns", "summaries")  # fmt: skip
"""Tables whose dead rows an erasure lets go of at once."""
DERIVED = ("nodes", "vectors")
"""Identifiers of what is derived."""


class PostgresTransaction:
    """One atomic write to the hot shelf, in one namespace, under its lock."""

    def __init__(self, write: Write) -> None:
        self._write, self._space = write, write.space

    def allocate(self, name: str, count: int = 1) -> int:
        """The first of `count` fresh identifiers."""
        return self.allocate_each({name: count})[0]

    def allocate_each(self, wanted: Mapping[str, int]) -> list[int]:
        """The first of fresh identifiers of several kinds."""
        own = (
            "INSERT INTO counters AS c VALUES(%s,%s,%s) ON CONFLICT (ns, name) DO UPDATE SET value=c.value+excluded.value"
            " RETURNING value-%s+1"
        )
        answers = self._write.together([
            (own, (self._space, name, count, count)) if _own(name) else (nodes.ALLOCATE, (name, count))
            for name, count in wanted.items()
        ])  # fmt: skip
        return [first for answer in answers for (first,) in answer.fetchall()]

    def reserve(self, name: str, value: int) -> None:
        """Identifiers up to a number are taken."""
        if not _own(name):
            self._write.later("SELECT reserve(%s, %s)", (name, value))
            return
        self._write.later(
            "INSERT INTO counters AS c VALUES(%s,%s,%s) ON CONFLICT (ns, name)"
            " DO UPDATE SET value=greatest(c.value, excluded.value)",
            (self._space, name, value),
        )

    def head(self) -> Head | None:
        return events.head(self._write.rows, self._space)

    def row(self, table: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
        return truth.get(self._write.rows, self._space, table, key)

    def select(self, table: str, where: Mapping[str, Any], *, limit: int = -1, newest: bool = False) -> list[Row]:
        return truth.select(self._write.rows, self._space, table, where, limit, newest)

    def apply(self, changes: Iterable[Change]) -> None:
        truth.apply(self._write, changes)

    def append(self, event: Event) -> None:
        events.append(self._write, event)

    def add_text(self, text_id: int, document: int, body: str) -> None:
        self._write.later("INSERT INTO texts VALUES(%s,%s,%s,'hot',%s)", (self._space, text_id, document, body))

    def remember_operation(self, op_id: str, request: str, receipt: str, document: int | None) -> None:
        self._write.later("INSERT INTO operations VALUES(%s,%s,%s,%s,%s)", (self._space, op_id, request, receipt, document))

    def replace_nodes(self, document: int, nodes_: Sequence[NewNode], shelf: str = "hot") -> list[int]:
        """Put a tree in place of the one before, full text included; an empty one only removes."""
        return nodes.replace(self._write, document, nodes_)

    def enqueue(self, document: int, due_at: int) -> None:
        self._write.later(
            "INSERT INTO queue VALUES(%s,%s,'pending',0,%s,'') ON CONFLICT (ns, document)"
            " DO UPDATE SET state='pending', attempts=0, due_at=excluded.due_at, error=''",
            (self._space, document, due_at),
        )

    def settle(self, document: int, error: str | None, due_at: int) -> None:
        """Take a document off the queue, or note why it stays and until when."""
        if error is None:
            self._write.later("DELETE FROM queue WHERE ns=%s AND document=%s", (self._space, document))
        else:
            self._write.later(
                "UPDATE queue SET state='failed', attempts=attempts+1, due_at=%s, error=%s WHERE ns=%s AND document=%s",
                (due_at, error, self._space, document),
            )

    def put_vectors(self, embedder: int, rows: Sequence[VectorRow], shelf: str = "hot") -> None:
        if rows:
            stamp = nodes.allocate(self._write, "vectors", len(rows))
            vectors.put(self._write, embedder, rows, stamp, checked_shelf(shelf))

    def drop_vectors(self, embedder: int, limit: int) -> int:
        for shelf in SHELVES:
            self.drop_codes(embedder, shelf)
        return vectors.drop(self._write, embedder, limit)

    def move(self, document: int, source: str, target: str, *, with_vectors: bool) -> None:
        """Let a document's rows stand on another shelf. The catalogue is the caller's to change, in this transaction."""
        write, space = self._write, self._space
        there = write.rows("SELECT id FROM nodes WHERE ns=%s AND document=%s AND shelf=%s", (space, document, source))
        if source == "hot":
            # Codes of what is left are made anew: blanks in their place would crowd it out.
            write.later("DELETE FROM codes WHERE ns=%s AND shelf='hot'", (space,))
            write.later("DELETE FROM coders WHERE ns=%s AND shelf='hot'", (space,))
        else:
            vectors.blank(write, [number for (number,) in there], source)
        moved = nodes.move(write, document, checked_shelf(source), checked_shelf(target))
        write.later("UPDATE texts SET shelf=%s WHERE ns=%s AND document=%s AND shelf=%s", (target, space, document, source))
        if with_vectors:
            vectors.move(write, moved, target, nodes.allocate(write, "vectors", max(1, len(moved))))
        else:
            vectors.remove(write, moved)

    def note_stray(self, document: int, shelf: str) -> None:
        """Nothing: a document's rows are never in two places here."""

    def shelve_entries(self, after: int, limit: int) -> int | None:
        """None: the entries of a namespace stand together here."""
        return None

    def put_codes(self, embedder: int, blocks: Sequence[CodeBlock], shelf: str = "hot") -> None:
        vectors.put_codes(self._write, embedder, blocks, checked_shelf(shelf))

    def drop_codes(self, embedder: int, shelf: str = "hot") -> None:
        for table in ("codes", "coders"):
            self._write.later(f"DELETE FROM {table} WHERE ns=%s AND embedder=%s AND shelf=%s", (self._space, embedder, shelf))

    def put_coder(self, embedder: int, count: int, coder: bytes, shelf: str = "hot") -> None:
        self._write.later(
            "INSERT INTO coders VALUES(%s,%s,%s,%s,%s) ON CONFLICT (ns, embedder, shelf)"
            " DO UPDATE SET count=excluded.count, coder=excluded.coder",
            (self._space, embedder, checked_shelf(shelf), count, coder),
        )

    def put_edges(self, rows: Sequence[tuple[int, int, str, float]]) -> None:
        """Store edges between nodes that still exist: an erasure may have come in between."""
        ends = "(SELECT count(*) FROM nodes WHERE ns=%s AND id IN (%s,%s) AND shelf='hot')=2"
        self._write.many(
            f"INSERT INTO edges SELECT %s,%s,%s,%s,%s WHERE {ends}"
            " ON CONFLICT (ns, source, kind, target) DO UPDATE SET weight=excluded.weight",
            [(self._space, *row, self._space, row[0], row[1]) for row in rows],
        )

    def drop_edges(self, rows: Sequence[tuple[int, int, str]]) -> None:
        query = "DELETE FROM edges WHERE ns=%s AND source=%s AND target=%s AND kind=%s"
        self._write.many(query, [(self._space, *row) for row in rows])

    def put_vault_file(self, row: VaultFile) -> None:
        vault.put(self._write, row)

    def drop_vault_file(self, path: str) -> None:
        vault.drop(self._write, path)

    def put_vault_links(self, path: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
        vault.put_links(self._write, path, rows)

    def put_vault_rename(self, path: str, target: str | None) -> None:
        vault.put_rename(self._write, path, target)

    def erase_texts(self, text_ids: Sequence[int], macs: Sequence[str], at: int) -> None:
        """Remove texts and leave their keyed digests, so that a replayed transcript cannot bring them back."""
        if text_ids:
            self._write.later("DELETE FROM texts WHERE ns=%s AND id=ANY(%s)", (self._space, list(text_ids)))
        self._write.many("INSERT INTO erased VALUES(%s,%s,%s) ON CONFLICT DO NOTHING", [(self._space, mac, at) for mac in macs])

    def erase_other_texts(self, document: int, in_use: Sequence[int], macs: Sequence[str], at: int) -> None:
        """Erase every text of a document, earlier revisions included, but those in use."""
        query = "SELECT id FROM texts WHERE ns=%s AND document=%s AND id<>ALL(%s)"
        self.erase_texts([row[0] for row in self._write.rows(query, (self._space, document, list(in_use)))], macs, at)
        # A receipt names the path, and so the title, that the document had before.
        self._write.later("DELETE FROM operations WHERE ns=%s AND document=%s", (self._space, document))

    def erase_payloads(self, objects: Sequence[str]) -> list[int]:
        seqs = events.about(self._write, objects)
        events.empty(self._write, seqs)
        return seqs

    def erase_entries(self, seqs: Collection[int]) -> None:
        """Remove what some entries carried, and the receipts of the operations that made them."""
        events.empty(self._write, seqs)
        events.forget_receipts(self._write, seqs)

    def erase_document(self, document: int, macs: Sequence[str], at: int) -> list[int]:
        """Remove all that a document left, wherever it stands."""
        write, space = self._write, self._space
        rows = write.rows("SELECT shelf, id, size FROM nodes WHERE ns=%s AND document=%s ORDER BY id", (space, document))
        for shelf in sorted({row[0] for row in rows}):
            here = [row for row in rows if row[0] == shelf]
            sizes = [size for _, _, size in here if size]
            nodes.remove(write, [number for _, number, _ in here], shelf)
            nodes.count(write, shelf, -len(sizes), -sum(sizes), len(here))
        # Messages of a document on another shelf are its to take, those on the hot one were taken by the ledger.
        for table in ("queue", "operations", "messages"):
            write.later(f"DELETE FROM {table} WHERE ns=%s AND document=%s", (space, document))
        ids = write.rows("SELECT id FROM texts WHERE ns=%s AND document=%s", (space, document))
        self.erase_texts([number for (number,) in ids], macs, at)
        return self.erase_payloads([f"document:{document}"])


class PostgresStore(Nodes, Events, Vectors, VaultFiles, Facts):
    """A home's rows in a PostgreSQL database. Safe to use from several threads, processes and machines."""

    def __init__(
        self, url: str, *, limit: int = LIMIT, partitions: int = migrations.PARTITIONS, replicas: Sequence[str] = ()
    ) -> None:
        super().__init__(Servers(url, limit=limit, partitions=partitions, replicas=replicas))
        self.engine = self.servers.engine
        if belongs := self.meta(SHARD):
            raise BadInput(f"{self.base.name} is the shard {belongs!r} of another home: open that one")
        self.know()
        self.servers.store_id = self.store_id
        self.base.facts = {"store_id": self.store_id}

    def meta(self, key: str) -> str | None:
        """A fact about the home that is no memory."""
        found = self._kept(0, "SELECT value FROM meta WHERE key=%s", (key,))
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str) -> None:
        self._put_meta("INSERT INTO meta VALUES(%s,%s) ON CONFLICT (key) DO UPDATE SET value=excluded.value", key, value)

    def add_meta(self, key: str, value: str) -> None:
        self._put_meta("INSERT INTO meta VALUES(%s,%s) ON CONFLICT DO NOTHING", key, value)

    def _put_meta(self, query: str, key: str, value: str) -> None:
        with self.base.aside() as db:
            db.execute(query, (key, value))
            counted = db.execute(COUNTED).fetchone()
        assert counted is not None
        self.base.positions.note(self.base.url, int(counted[0]))

    @contextmanager
    def write(self, namespace: str) -> Iterator[PostgresTransaction]:
        """One atomic write; a namespace comes into being with its first."""
        with self.servers.transaction(namespace, self.space(namespace)) as write:
            yield PostgresTransaction(write)
        self._spaces[namespace] = write.space  # only now: a rollback would have taken the number back

    def sequences(self, ns: str) -> dict[str, int]:
        """How far identifiers were handed out, but for those of what is derived."""
        space = self.space(ns)
        query = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname=%s AND last_value IS NOT NULL"
        known = {f"ids_{kind}": kind for kind in SEQUENCES if kind not in DERIVED}
        found = {known[name]: value for name, value in self._rows(space, query, (SCHEMA,)) if name in known}
        found |= dict(self._rows(space, "SELECT name, value FROM counters WHERE ns=%s", (space,)))
        return dict(sorted(found.items()))

    def erased(self, ns: str) -> list[tuple[str, int]]:
        """The keyed digests of what was erased."""
        space = self.space(ns)
        rows = self._rows(space, "SELECT mac, at FROM erased WHERE ns=%s ORDER BY at, mac", (space,))
        return [(mac, at) for mac, at in rows]

    def take_lease(self, name: str, holder: str, now: int, until: int) -> bool:
        """Whether this holder may do what a lease is for: nobody has it up to now (ms); it is taken until then."""
        query = (
            "INSERT INTO leases AS l VALUES(%s,%s,%s) ON CONFLICT (name)"
            " DO UPDATE SET holder=excluded.holder, until=excluded.until WHERE l.until<=%s RETURNING 1"
        )
        with self.base.aside() as db:
            return db.execute(query, (name, holder, until, now)).fetchone() is not None

    def counts(self, ns: str) -> Mapping[str, int]:
        """How much of everything a namespace has."""
        space = self.space(ns)
        tables = (*TRUTH, "queue", "nodes", "texts", "edges", "vectors")
        query = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table} WHERE ns=%s" for table in tables)
        found: dict[str, int] = dict(self._rows(space, query, (space,) * len(tables)))
        head = self.head(ns)
        found["ledger"] = head.seq if head else 0
        return found

    def settle_erasure(self) -> str | None:
        """Let the server go of the dead rows now; why the bytes may be in files of its own for a while yet."""
        held = self._vacuum(ERASED, "")
        return "; ".join([*(f"{name}: {why}" for name, why in held.items() if why), KEPT])

    def give_room(self) -> bool:
        """No: a server's disk is its administrator's."""
        return False

    def sweep(self) -> int:
        """0: nothing is ever left behind where it does not belong."""
        return 0

    def vacuum(self) -> dict[str, str | None]:
        """Let the server reuse the room of what is gone; by table why it was not done, or `None` where it was."""
        return self._vacuum(migrations.TABLES, "(ANALYZE)")

    def _vacuum(self, tables: Sequence[str], how: str) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for base in self.servers.all():
            try:
                done = _vacuumed(base, tables, how)
            except StoreError as error:  # its own namespaces wait for it, no others
                done = dict.fromkeys(tables, str(error))
            for table, why in done.items():
                found[table] = found.get(table) or why
        return found

    def rebuild_fulltext(self) -> int:
        """Make all full-text rows anew, one namespace after the other, each in one transaction."""
        total = 0
        for name in self.namespaces():
            with self.servers.transaction(name, self.space(name)) as write:
                total += nodes.rebuild(write)
        self.tokenized()
        return total

    def check(self) -> list[str]:
        """What the server can tell of its own tables, and whether what is derived adds up."""
        return checks.examine(self)

    def sizes(self) -> dict[str, int]:
        """Bytes on the server's disk by table, indexes included."""
        query = (
            "SELECT c.relname, coalesce(sum(pg_total_relation_size(t.relid)), 0)::bigint FROM pg_class c"
            " CROSS JOIN LATERAL pg_partition_tree(c.oid) t WHERE c.relnamespace=%s::regnamespace"
            " AND c.relkind IN ('r', 'p') AND NOT c.relispartition GROUP BY 1"
            " UNION ALL SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relnamespace=%s::regnamespace"
            " AND relkind='r' AND NOT relispartition ORDER BY 1"
        )
        total: Counter[str] = Counter()
        for rows in self.servers.each(lambda base: base.rows(0, query, (SCHEMA, SCHEMA))):
            found: dict[str, int] = {}
            for name, size in rows:
                found[name] = max(found.get(name, 0), int(size))
            total.update(found)
        return dict(total)

    def jobs(self, ns: str | None = None) -> dict[str, int] | None:
        """How many jobs are waiting, doing and failed; None where no worker has been."""
        found = [one for one in self.servers.each(lambda base: jobs.counts(base, ns)) if one is not None]
        return {state: sum(counts[state] for counts in found) for state in found[0]} if found else None

    def backup(self, target: Path, more: Callable[[ZipFile], None] | None = None) -> None:
        """A copy of all rows as of one moment, and of what `more` adds, as one zip file, put into place only when complete."""
        backups.write(self.servers, target, more)

    def restore(self, source: Path, more: More | None = None) -> None:
        """Put a backup's rows in place of all that stands here; open the home anew afterwards.

        Raises BadInput for a home with shards.
        """
        if len(self.servers.all()) > 1:
            raise BadInput("a home with shards is not replaced: restore into an empty database, and add shards to that")
        backups.restore(self.base, source, more)

    def close(self) -> None:
        """Close the connections of this process."""
        self.servers.close()


def _vacuumed(base: Database, tables: Sequence[str], how: str) -> dict[str, str | None]:
    """Vacuum tables of one server."""
    found: dict[str, str | None] = {}
    with base.connect() as db:
        told: list[str] = []
        db.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        for table in tables:
            told.clear()
            try:
                db.execute(f"VACUUM {how} {SCHEMA}.{table}")
            except psycopg.Error as error:
                told.append(first_line(error))
            found[table] = "; ".join(dict.fromkeys(told)) or None
    return found


def _own(name: str) -> bool:
    """Whether identifiers are counted for a namespace alone: their name is a JSON array."""
    return name.startswith("[")


def open_postgres(
    url: str, *, limit: int = LIMIT, partitions: int = migrations.PARTITIONS, replicas: Sequence[str] = ()
) -> PostgresStore:
    """Open the home in a database, making its tables if they are not there; `replicas` are URLs of servers that follow it."""
    return PostgresStore(url, limit=limit, partitions=partitions, replicas=replicas)
