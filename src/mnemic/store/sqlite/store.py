"""The SQLite store as one object, and its one way to write."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import apsw

from mnemic.errors import Conflict, Damaged, DiskFull, StoreError
from mnemic.models.event import Change, Event, Head, Row
from mnemic.store.base import CodeBlock, NewNode, VaultFile, VectorRow, made_by
from mnemic.store.facts import Facts
from mnemic.store.schema import TRUTH
from mnemic.store.sqlite import backups, checks, events, migrations, moves, nodes, reserve, truth, vault, vectors
from mnemic.store.sqlite.connection import RESTORE, Database, connect, engine, translated
from mnemic.store.sqlite.events import Events
from mnemic.store.sqlite.nodes import Nodes
from mnemic.store.sqlite.shelves import FILES, in_list
from mnemic.store.sqlite.vault import VaultFiles
from mnemic.store.sqlite.vectors import Vectors

BATCH = 5_000
"""Documents whose nodes are brought up to date at a time."""


class SqliteTransaction:
    """One atomic write to the hot shelf, in one namespace."""

    def __init__(self, store: SqliteStore, db: apsw.Connection, space: int) -> None:
        self._store, self._db, self._space = store, db, space

    def allocate(self, name: str, count: int = 1) -> int:
        """The first of `count` fresh identifiers."""
        sql = (
            "INSERT INTO sequences VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value=value+excluded.value"
            " RETURNING value"
        )
        found: Any = self._db.execute(sql, (name, count)).fetchone()
        return int(found[0]) - count + 1

    def allocate_each(self, wanted: Mapping[str, int]) -> list[int]:
        """The first of fresh identifiers of several kinds."""
        return [self.allocate(name, count) for name, count in wanted.items()]

    def reserve(self, name: str, value: int) -> None:
        """Identifiers up to a number are taken."""
        self._db.execute(
            "INSERT INTO sequences VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value=max(value, excluded.value)", (name, value)
        )

    def head(self) -> Head | None:
        return events.head(self._db, self._space)

    def row(self, table: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
        return truth.get(self._db, self._space, table, key)

    def select(self, table: str, where: Mapping[str, Any], *, limit: int = -1, newest: bool = False) -> list[Row]:
        return truth.select(self._db, self._space, table, where, limit, newest)

    def apply(self, changes: Iterable[Change]) -> None:
        truth.apply(self._db, self._space, changes)

    def append(self, event: Event) -> None:
        events.append(self._db, self._space, event)

    def add_text(self, text_id: int, document: int, body: str) -> None:
        self._db.execute("INSERT INTO texts VALUES(?,?,?,?)", (text_id, self._space, document, body))

    def remember_operation(self, op_id: str, request: str, receipt: str, document: int | None) -> None:
        self._db.execute("INSERT INTO operations VALUES(?,?,?,?,?)", (self._space, op_id, request, receipt, document))

    def replace_nodes(self, document: int, nodes_: Sequence[NewNode], shelf: str = "hot") -> list[int]:
        """Put a tree in place of the one before, full text included; an empty one only removes."""
        return nodes.replace(self._db, self._space, document, nodes_, self.allocate)

    def enqueue(self, document: int, due_at: int) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO queue VALUES(?,?,'pending',0,?,'')", (document, self._space, due_at)
        )

    def settle(self, document: int, error: str | None, due_at: int) -> None:
        """Take a document off the queue, or note why it stays and until when."""
        if error is None:
            self._db.execute("DELETE FROM queue WHERE document=? AND ns=?", (document, self._space))
        else:
            self._db.execute(
                "UPDATE queue SET state='failed', attempts=attempts+1, due_at=?, error=? WHERE document=? AND ns=?",
                (due_at, error, document, self._space),
            )

    def put_vectors(self, embedder: int, rows: Sequence[VectorRow], shelf: str = "hot") -> None:
        if rows and shelf == "hot":
            vectors.put(self._db, self._space, embedder, rows, self.allocate("vectors", len(rows)))
        elif rows:
            known = self._db.execute("SELECT id, identity, dim, canary FROM embedders WHERE id=?", (embedder,)).fetchone()
            with self._store.shelf(shelf).transaction() as db:
                db.execute("INSERT OR IGNORE INTO embedders VALUES(?,?,?,?)", known)
                vectors.put(db, self._space, embedder, rows, vectors.next_stamp(db, self._space))

    def drop_vectors(self, embedder: int, limit: int) -> int:
        dropped = 0
        for shelf in FILES:
            self.drop_codes(embedder, shelf)
            if dropped < limit:
                with self._on(shelf) as db:
                    dropped += vectors.drop(db, self._space, embedder, limit - dropped)
        return dropped

    def move(self, document: int, source: str, target: str, *, with_vectors: bool) -> None:
        """Copy a document's rows to another shelf, commit and verify them there, and take them out of the hot shelf.

        The catalogue is the caller's to change, in this transaction. What stays behind on another shelf is noted for
        `sweep`. Raises Conflict where `note_strays` was not called for the target, or was swept since.
        """
        store, space = self._store, self._space
        self.allocate("moves")
        if source == "hot":
            load = moves.read(self._db, space, document, with_vectors=with_vectors)
        else:
            with store.shelf(source).snapshot() as db:
                load = moves.read(db, space, document, with_vectors=with_vectors)
        if target == "hot":
            moves.write(self._db, space, document, load, self.allocate("vectors", len(load.vectors)))
            moves.check(self._db, space, document, load, target)
        else:
            self._copy(document, target, load)
        if source == "hot":
            # Codes of what is left are made anew: blanks in their place would crowd it out.
            self._db.execute("DELETE FROM codes WHERE ns=?", (space,))
            self._db.execute("DELETE FROM coders WHERE ns=?", (space,))
            moves.remove(self._db, space, document)
        else:
            self.note_stray(document, source)

    def _copy(self, document: int, target: str, load: moves.Load) -> None:
        where = (self._space, document, target)
        if self._db.execute("SELECT 1 FROM strays WHERE ns=? AND document=? AND shelf=?", where).fetchone() is None:
            raise Conflict(f"document {document} was about to be moved when another process swept: repeat")
        with self._store.shelf(target).transaction() as db:
            moves.write(db, self._space, document, load, None)
        with self._store.shelf(target).snapshot() as db:
            moves.check(db, self._space, document, load, target)

    def note_stray(self, document: int, shelf: str) -> None:
        """Note that rows of a document may be on a shelf that is not its own, or soon will be."""
        self._db.execute("INSERT OR IGNORE INTO strays VALUES(?,?,?)", (self._space, document, shelf))

    @contextmanager
    def _on(self, shelf: str) -> Iterator[apsw.Connection]:
        """Where derived rows of a shelf are written: on another than the hot one they are committed before this is."""
        if shelf == "hot":
            yield self._db
        else:
            with self._store.shelf(shelf).transaction() as db:
                yield db

    def put_codes(self, embedder: int, blocks: Sequence[CodeBlock], shelf: str = "hot") -> None:
        with self._on(shelf) as db:
            vectors.put_codes(db, self._space, embedder, blocks)

    def drop_codes(self, embedder: int, shelf: str = "hot") -> None:
        with self._on(shelf) as db:
            for table in ("codes", "coders"):
                db.execute(f"DELETE FROM {table} WHERE ns=? AND embedder=?", (self._space, embedder))

    def put_coder(self, embedder: int, count: int, coder: bytes, shelf: str = "hot") -> None:
        with self._on(shelf) as db:
            db.execute("INSERT OR REPLACE INTO coders VALUES(?,?,?,?)", (self._space, embedder, count, coder))

    def put_edges(self, rows: Sequence[tuple[int, int, str, float]]) -> None:
        """Store edges between nodes that still exist: an erasure may have come in between."""
        ends = "(SELECT count(*) FROM nodes WHERE id IN (?,?))=2"
        self._db.executemany(
            f"INSERT OR REPLACE INTO edges SELECT ?,?,?,?,? WHERE {ends}",
            [(*row, self._space, row[0], row[1]) for row in rows],
        )

    def drop_edges(self, rows: Sequence[tuple[int, int, str]]) -> None:
        self._db.executemany("DELETE FROM edges WHERE source=? AND target=? AND kind=?", rows)

    def put_vault_file(self, row: VaultFile) -> None:
        vault.put(self._db, self._space, row)

    def drop_vault_file(self, path: str) -> None:
        vault.drop(self._db, self._space, path)

    def put_vault_links(self, path: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
        vault.put_links(self._db, self._space, path, rows)

    def put_vault_rename(self, path: str, target: str | None) -> None:
        """Note a rename that begins; without a target: that it is done."""
        self._db.execute("DELETE FROM vault_renames WHERE ns=? AND path=?", (self._space, path))
        if target is not None:
            self._db.execute("INSERT INTO vault_renames VALUES(?,?,?)", (self._space, path, target))

    def erase_texts(self, text_ids: Sequence[int], macs: Sequence[str], at: int) -> None:
        """Remove texts and leave their keyed digests, so that a replayed transcript cannot bring them back."""
        self._db.execute(f"DELETE FROM texts WHERE ns=? AND id IN ({in_list(text_ids)})", (self._space,))
        for mac in macs:
            self._db.execute("INSERT OR IGNORE INTO erased VALUES(?,?,?)", (self._space, mac, at))

    def erase_other_texts(self, document: int, in_use: Sequence[int], macs: Sequence[str], at: int) -> None:
        """Erase every text of a document, earlier revisions included, but those in use."""
        sql = f"SELECT id FROM texts WHERE ns=? AND document=? AND id NOT IN ({in_list(in_use)})"
        gone: list[Any] = [number for (number,) in self._db.execute(sql, (self._space, document)).fetchall()]
        self.erase_texts(gone, macs, at)
        # A receipt names the path, and so the title, that the document had before.
        self._db.execute("DELETE FROM operations WHERE ns=? AND document=?", (self._space, document))

    def erase_payloads(self, objects: Sequence[str]) -> list[int]:
        seqs = {seq for db in self._ledgers() for seq in events.about(db, self._space, objects)}
        self._empty(seqs)
        return sorted(seqs)

    def erase_entries(self, seqs: Collection[int]) -> None:
        """Remove what some entries carried, and the receipts of the operations that made them."""
        self._empty(seqs)
        sql = "SELECT id, receipt FROM operations WHERE ns=? AND document IS NULL"
        for op_id, receipt in self._db.execute(sql, (self._space,)).fetchall():
            if not made_by(str(receipt)).isdisjoint(seqs):
                self._db.execute("UPDATE operations SET request='', receipt='{}' WHERE ns=? AND id=?", (self._space, op_id))

    def _empty(self, seqs: Collection[int]) -> None:
        """Remove what some entries carried here, and note it for `sweep` where the cold shelf has it."""
        events.empty(self._db, self._space, seqs)
        if away := events.held(self._store.shelf("cold").connection(), self._space, seqs):
            self.allocate("moves")  # a backup that copied this shelf before and the cold one after would miss it
            self._db.executemany("INSERT OR IGNORE INTO emptied VALUES(?,?)", [(self._space, seq) for seq in away])

    def _ledgers(self) -> tuple[apsw.Connection, ...]:
        return self._db, self._store.shelf("cold").connection()

    def shelve_entries(self, after: int, limit: int) -> int | None:
        """Move entries about documents that have left the hot shelf to the cold one; returns the last of them.

        Under the hot shelf's write lock, so nothing is erased meanwhile; committed there before it is deleted here.
        """
        seqs = events.due(self._db, self._space, after, limit)
        if not seqs:
            return None
        load = events.rows(self._db, self._space, seqs)
        with self._store.shelf("cold").transaction() as cold:
            events.copy(cold, self._space, seqs, load)
        events.remove(self._db, self._space, seqs)
        self.allocate("moves")
        return seqs[-1]

    def erase_document(self, document: int, macs: Sequence[str], at: int) -> list[int]:
        """Remove all that a document left here, and note it for `sweep` on the other shelves."""
        self.replace_nodes(document, ())
        for shelf in ("warm", "cold"):
            rows = self._store.shelf(shelf).rows("SELECT id FROM nodes WHERE document=?", (document,))
            there = in_list(number for (number,) in rows)
            self._db.execute(f"DELETE FROM edges WHERE source IN ({there}) OR target IN ({there})")
        self._db.execute("DELETE FROM queue WHERE document=?", (document,))
        self._db.execute("DELETE FROM operations WHERE ns=? AND document=?", (self._space, document))
        ids: list[Any] = [row[0] for row in self._db.execute(
            "SELECT id FROM texts WHERE ns=? AND document=?", (self._space, document))]  # fmt: skip
        self.erase_texts(ids, macs, at)
        for shelf in ("warm", "cold"):
            self.note_stray(document, shelf)
        self.allocate("moves")  # as in `_empty`
        return self.erase_payloads([f"document:{document}"])


class SqliteStore(Nodes, Events, Vectors, VaultFiles, Facts):
    """A home's rows in three SQLite files. Safe to use from several threads and several processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        try:
            with _alone(folder):
                self._prepare_all()
        except BaseException:
            self.close()
            raise
        reserve.hold(folder)
        self.know()
        self.engine = {"sqlite": engine()}
        with suppress(StoreError, Conflict):  # reads leave strays out; a full disk must not keep a home from opening
            self._let_follow()
            self.sweep()

    def _let_follow(self) -> None:
        """Once a home: the messages of documents that left the hot shelf before schema 8 go where these are."""
        if self.meta("messages") is not None:
            return
        while left := moves.left_messages(self.hot.connection(), 200):
            with self.hot.transaction() as db:
                for name in ("warm", "cold"):
                    with self.shelf(name).transaction() as there:
                        for ns, number, _ in (one for one in left if one[2] == name):
                            moves.drop_messages(there, ns, number)
                            moves.put_messages(there, ns, number, moves.messages(db, ns, number))
                for ns, number, _ in left:
                    moves.drop_messages(db, ns, number)
        self.set_meta("messages", "follow")

    def _prepare_all(self) -> None:
        """Make or upgrade the three files; one that is gone from a finished home is never replaced by an empty one.

        A new home is finished when its id stands in the hot shelf, which is made first.
        """
        hot, *others = self._shelves.values()
        if not _begun(hot) and any(base.path.exists() for base in others):
            raise _gone(hot)
        self._prepare(hot)
        finished = hot.row("SELECT 1 FROM meta WHERE key='store_id'") is not None
        for base in others:
            if finished and not _begun(base):
                raise _gone(base)
            self._prepare(base)
        for name, base in self._shelves.items():
            if base.row("SELECT 1 FROM meta WHERE key='turns'") is None:
                self._place_turns(name, base)

    def _place_turns(self, name: str, base: Database) -> None:
        """Fill in what schema 7 keeps of every message's node: the catalogue that tells it is in the hot shelf only."""
        with base.transaction() as db:
            sql = "SELECT id, session FROM documents WHERE shelf=? AND session IS NOT NULL"
            homes = self.hot.rows(sql, (name,)) if db.execute("SELECT 1 FROM nodes LIMIT 1").fetchone() else []
            for at in range(0, len(homes), BATCH):
                some = homes[at : at + BATCH]
                said = (
                    "SELECT m.document, seq, role FROM documents d CROSS JOIN messages m INDEXED BY messages_document"
                    f" ON m.ns=d.ns AND m.document=d.id WHERE d.id IN ({in_list(row[0] for row in some)})"
                )
                here = f"SELECT document, seq, role FROM messages WHERE document IN ({in_list(row[0] for row in some)})"
                followed = [] if name == "hot" else base.rows(here)
                nodes.place_turns(db, some, [*self.hot.rows(said), *followed])
            db.execute("INSERT OR IGNORE INTO meta VALUES('turns', '1')")

    def _prepare(self, base: Database) -> None:
        known = base.path.exists()
        with translated(base.path.name):
            db = base.connection()
            if known and migrations.check(db, base.path.name) not in (0, migrations.VERSION):
                self._keep_copy(base, migrations.version(db))
            for _ in migrations.migrate(db, base.path.name):
                pass

    def _keep_copy(self, base: Database, version: int) -> None:
        """A verified copy from before the upgrade, beside the file; kept until the user deletes it."""
        target = self.folder / f"{base.path.stem}-schema{version}.bak"
        if not target.exists():
            self.copy_shelf(base, target)

    def copy_shelf(self, base: Database, target: Path) -> None:
        """Write a verified copy of one shelf through the engine itself."""
        part = target.with_name(target.name + ".part")
        part.unlink(missing_ok=True)
        copy = connect(part)
        try:
            # Not VACUUM INTO: past the size of its cache it writes pages before the first, and so without checksums.
            with copy.backup("main", base.connection(), "main") as backup:
                backup.step(-1)
            found = copy.pragma("quick_check")
            copy.pragma("journal_mode", "DELETE")
        finally:
            copy.close()
        if found != "ok":
            raise StoreError(f"the copy of {base.path.name} does not verify ({found}): nothing was replaced")
        os.replace(part, target)

    def add_meta(self, key: str, value: str) -> None:
        with self.hot.transaction() as db:
            db.execute("INSERT OR IGNORE INTO meta VALUES(?,?)", (key, value))

    def set_meta(self, key: str, value: str) -> None:
        with self.hot.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))

    @contextmanager
    def write(self, namespace: str) -> Iterator[SqliteTransaction]:
        """One atomic write; a namespace comes into being with its first."""
        with self.hot.transaction() as db:
            space = self._spaces.get(namespace)
            if space is None:
                db.execute("INSERT OR IGNORE INTO namespaces(name) VALUES(?)", (namespace,))
                found: Any = db.execute("SELECT id FROM namespaces WHERE name=?", (namespace,)).fetchone()
                space = int(found[0])
            yield SqliteTransaction(self, db, space)
        self._spaces[namespace] = space  # only now: a rollback would have taken the number back

    def meta(self, key: str) -> str | None:
        """A fact about the home that is no memory."""
        found = self.hot.row("SELECT value FROM meta WHERE key=?", (key,))
        return None if found is None else str(found[0])

    def moves(self) -> int:
        """How many moves there have been; one that is under way is among them once the catalogue says so."""
        found = self.hot.row("SELECT value FROM sequences WHERE name='moves'")
        return int(found[0]) if found else 0

    def sequences(self, ns: str) -> dict[str, int]:
        """How far identifiers were handed out, but for those of what is derived."""
        found = dict(self.hot.rows("SELECT name, value FROM sequences ORDER BY name"))
        # Those of a namespace are named by a JSON array: what is counted, the namespace, of what.
        own = {name: value for name, value in found.items() if not name.startswith("[") or json.loads(name)[1] == ns}
        return {name: value for name, value in own.items() if name not in ("nodes", "vectors", "moves")}

    def erased(self, ns: str) -> list[tuple[str, int]]:
        """The keyed digests of what was erased."""
        return list(self.hot.rows("SELECT mac, at FROM erased WHERE ns=? ORDER BY at, mac", (self.space(ns),)))

    def sweep(self) -> int:
        """Remove what stands on a shelf that is not its document's own; returns how many notes were settled.

        Under the hot shelf's write lock, as every move is, so nothing on its way is taken for a stray.
        """
        done = 0
        while self.hot.row("SELECT 1 FROM strays LIMIT 1") is not None:
            with self.hot.transaction() as db:
                sql = (
                    "SELECT s.ns, s.document, s.shelf, d.shelf FROM strays s LEFT JOIN documents d ON d.id=s.document"
                    " ORDER BY s.shelf LIMIT 200"
                )
                rows: list[Any] = db.execute(sql).fetchall()
                for name in ("warm", "cold"):
                    gone = [(ns, number) for ns, number, shelf, own in rows if shelf == name and own != name]
                    if gone:
                        with self.shelf(name).transaction() as there:
                            for ns, number in gone:
                                moves.remove(there, ns, number)
                for ns, number, shelf, _ in rows:
                    db.execute("DELETE FROM strays WHERE ns=? AND document=? AND shelf=?", (ns, number, shelf))
            done += len(rows)
        return done + self._sweep_entries()

    def _sweep_entries(self) -> int:
        """Remove the content of entries that was erased from the shelf that the old part of the ledger stands on."""
        done = 0
        while self.hot.row("SELECT 1 FROM emptied LIMIT 1") is not None:
            with self.hot.transaction() as db:
                rows: list[Any] = db.execute("SELECT ns, seq FROM emptied LIMIT 500").fetchall()
                with self.shelf("cold").transaction() as there:
                    there.executemany("DELETE FROM payloads WHERE ns=? AND seq=?", rows)
                db.executemany("DELETE FROM emptied WHERE ns=? AND seq=?", rows)
            done += len(rows)
        return done

    def vacuum(self) -> dict[str, str | None]:
        """Shrink the three files to what they hold; by file why it was not shrunk, or `None` where it was."""
        found: dict[str, str | None] = {}
        for base in self._shelves.values():
            with base.writing:
                try:
                    base.rows("VACUUM")
                    busy = base.row("PRAGMA wal_checkpoint(TRUNCATE)")
                except Conflict:
                    busy = (1,)
            held = bool(busy and busy[0])
            found[base.path.name] = "another process or thread is reading or writing it" if held else None
        return found

    def take_lease(self, name: str, holder: str, now: int, until: int) -> bool:
        """Whether this holder may do what a lease is for: nobody has it up to now (ms); it is taken until then."""
        with self.hot.transaction() as db:
            found: Any = db.execute("SELECT until FROM leases WHERE name=?", (name,)).fetchone()
            if found is not None and found[0] > now:
                return False
            db.execute("INSERT OR REPLACE INTO leases VALUES(?,?,?)", (name, holder, until))
            return True

    def counts(self, ns: str) -> Mapping[str, int]:
        """How much of everything a namespace has."""
        space = self.space(ns)
        found: dict[str, int] = {}
        for table in (*TRUTH, "queue"):
            row = self.hot.row(f"SELECT count(*) FROM {table} WHERE ns=?", (space,))
            found[table] = int(row[0]) if row else 0
        head = self.head(ns)
        found["ledger"] = head.seq if head else 0
        for table in ("messages", "nodes", "texts", "edges", "vectors"):
            rows = [base.row(f"SELECT count(*) FROM {table} WHERE ns=?", (space,)) for base in self._shelves.values()]
            found[table] = sum(int(row[0]) for row in rows if row)
        return found

    def settle_erasure(self) -> str | None:
        """Fold the write-ahead logs in and cut them to nothing."""
        waiting = []
        for base in self._shelves.values():
            busy = base.row("PRAGMA wal_checkpoint(TRUNCATE)")
            if busy and busy[0]:
                waiting.append(base.path.name)
        if waiting:
            return f"{', '.join(waiting)} has readers: the erased bytes leave its log when they are done"
        return None

    def give_room(self) -> bool:
        """Give up the room that was kept for a full disk; whether there was any."""
        return reserve.release(self.folder)

    def rebuild_fulltext(self) -> int:
        """Make all full-text rows anew, one shelf after the other, each in one transaction."""
        total = 0
        for base in self._shelves.values():
            with base.transaction() as db:
                total += nodes.rebuild_fulltext(db)
        self.tokenized()
        return total

    def check(self) -> list[str]:
        """Let the engine check every page (checksums are verified on the way) and the full-text index."""
        return [problem for base in self._shelves.values() for problem in checks.examine(base)]

    def sizes(self) -> dict[str, int]:
        """Bytes on disk of the three files and their logs, by stat alone: opening them would drop SQLite's locks."""
        names = [base.path.name + end for base in self._shelves.values() for end in ("", "-wal")]
        return {name: (self.folder / name).stat().st_size for name in names if (self.folder / name).exists()}

    def jobs(self, ns: str | None = None) -> None:
        """None: what waits in a folder is done by whoever writes there."""

    def backup(self, target: Path, more: Callable[[ZipFile], None] | None = None) -> None:
        """A verified copy of all shelves, and of what `more` adds, as one zip file, put into place only when complete."""
        backups.write(self, target, more)

    def close(self) -> None:
        """Close all files; a write-ahead log that nobody else uses is folded in."""
        for base in self._shelves.values():
            base.close()


def _begun(base: Database) -> bool:
    """Whether a file is there and has a schema."""
    with translated(base.path.name):
        return base.path.exists() and migrations.version(base.connection()) > 0


def _gone(base: Database) -> Damaged:
    return Damaged(f"{base.path.name} is missing or empty, the rest of the home is there: put it back, or {RESTORE}")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time: SQLite does not wait for the lock it needs to turn a file to WAL, it gives up at once."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: as before, the second of two may be refused
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def open_sqlite(folder: Path) -> SqliteStore:
    """Open the home in a folder, making both if they are not there (0700: memories are private)."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{str(folder)!r} cannot be a home ({error.strerror}): name a folder with --home") from error
    try:
        return SqliteStore(folder)
    except DiskFull:
        if not reserve.release(folder):
            raise
        return SqliteStore(folder)
