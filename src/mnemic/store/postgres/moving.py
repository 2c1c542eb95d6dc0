"""A namespace goes to another server, while others read and write it.

Its rows are copied as they are: numbers, hashes and vectors stay, so that nothing has to be made anew and every answer is
the same. First as of one moment, while writes go on; then what came since, again and again, until that is little; then the
last of it under the namespace's lock, where writers wait. There both sides are compared by all their keys, and one commit
sets the namespace's `moved` where the rows were: up to it all is as before, from it on every process is sent to the new
place (servers.py). Cut short anywhere, a move is done or not, and can be begun again.

What came since a moment is told by the server itself: a row's `xmin` is the transaction that wrote it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from mnemic.errors import BadInput, Conflict, Damaged, NotFound
from mnemic.store.postgres import migrations, vectors
from mnemic.store.postgres.connection import SCHEMA, Database, Moved, Write, listed, translated
from mnemic.store.postgres.servers import Servers
from mnemic.store.schema import SEQUENCES

LOCK = migrations.LOCK + 1
"""The advisory lock of moves, with the namespace's number."""
FEW, PASSES = 1_000, 8
"""What came since is copied without the lock while it is more rows than this, and at most so often."""
Progress = Callable[[str, int, int], None]
Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A table's columns in their order, and those of its key without the namespace."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def table(self) -> sql.Identifier:
        return sql.Identifier(self.name)


class Moving:
    """One move of one namespace. For a thread that has nothing open."""

    def __init__(self, servers: Servers, namespace: str, to: str, progress: Progress = lambda what, done, whole: None) -> None:
        """Raises NotFound for a namespace that is not there, BadInput for a server that is not."""
        self._servers, self._ns, self._to, self._progress = servers, namespace, to, progress
        self._space = servers.number(namespace)
        if not self._space:
            raise NotFound(f"there is no namespace {namespace!r}: see `mnemic shard list`")
        self._target = servers.named(to)
        self._rows = 0
        self._mark = secrets.randbelow(10**15)
        """By which the target knows this move from another that begins while this one believes to be alone."""
        self._lock: Connection | None = None

    def run(self, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Move it, and take its rows away where they were: `{"namespace", "from", "to", "rows", "paused_ms", "seconds"}`.

        `check` looks at what arrived before that; where it raises, the old rows stay. Raises Conflict where another process
        moves it, StoreError.
        """
        began = time.perf_counter()
        with self._alone():
            source = self._found()
            paused = 0.0
            if source is not self._target:
                self._target.ready()
                paused = self._copied(source)
            check()
            self._cleared()
        return {
            "namespace": self._ns, "from": source.shard, "to": self._to, "rows": self._rows,
            "paused_ms": round(paused * 1000, 1), "seconds": round(time.perf_counter() - began, 2),
        }  # fmt: skip

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else moves this namespace."""
        # Within a transaction, so that a pooler in between leaves the lock to us. It ends with the connection.
        with translated(self._servers.home.name), self._servers.home.connect() as db, db.transaction():
            db.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            found = db.execute("SELECT pg_try_advisory_xact_lock(%s::int, %s::int)", (LOCK, self._space)).fetchone()
            if not (found and found[0]):
                raise Conflict(f"namespace {self._ns!r} is being moved by another process: wait for it, see `mnemic shard list`")
            self._lock = db
            try:
                yield
            except Moved:
                raise self._overtaken() from None

    def _overtaken(self) -> Conflict:
        """The lock was lost, as with a connection that breaks, and somebody else took it."""
        return Conflict(f"namespace {self._ns!r} was moved by another process meanwhile: see `mnemic shard list --where`")

    def _found(self) -> Database:
        """The server that has the rows."""
        with self._servers.transaction(self._ns, self._space) as write:  # one that was never written to is there from now on
            return write.base

    # copying

    def _copied(self, source: Database) -> float:
        """Copy and hand over; seconds that writers had to wait."""
        with translated(source.name), source.connect() as out, translated(self._target.name), self._target.connect() as into:
            shapes = _shapes(out)
            self._expected(source, into)
            self._clear(self._target, into, self._mark)
            moment = self._first(source, out, into, shapes)
            for _ in range(PASSES):
                with _seen(source, out, self._space):
                    after = _moment(out)
                    fresh = self._fresh(out, into, shapes, moment)
                moment = after
                if fresh <= FEW:
                    break
            return self._handed(source, into, shapes, moment)

    def _expected(self, source: Database, into: Connection) -> None:
        """Let the target know the namespace, and that its rows are elsewhere."""
        query = (
            "INSERT INTO namespaces(id, name, moved, mark) OVERRIDING SYSTEM VALUE VALUES(%s,%s,%s,%s) ON CONFLICT (id)"
            " DO UPDATE SET moved=excluded.moved, mark=excluded.mark RETURNING name"
        )
        # Under the namespace's lock: never between another's last look at the target and its commit.
        with source.transaction(self._ns, self._space), _told(self._target, into, 0):
            found = into.execute(query, (self._space, self._ns, source.shard, self._mark)).fetchone()
        assert found == (self._ns,)

    @contextmanager
    def _guarded(self, base: Database, db: Connection, mark: int) -> Iterator[None]:
        """A transaction on a server that does not have the namespace, as long as it has not, and nobody else moves it there."""
        query = "SELECT 1 FROM namespaces WHERE id=%s AND mark=%s AND moved IS NOT NULL FOR UPDATE"
        with _told(base, db, self._space):
            if db.execute(query, (self._space, mark)).fetchone() is None:
                raise self._overtaken()
            yield

    def _first(self, source: Database, out: Connection, into: Connection, shapes: Sequence[Shape]) -> int:
        """All rows as of one moment, which is returned."""
        with _seen(source, out, self._space):
            moment = _moment(out)
            for place, shape in enumerate(shapes):
                self._progress("copying", place, len(shapes))
                with self._guarded(self._target, into, self._mark):
                    self._rows += self._brought(out, into, shape)
        self._progress("copying", len(shapes), len(shapes))
        return moment

    def _fresh(self, out: Connection, into: Connection, shapes: Sequence[Shape], moment: int) -> int:
        """Rows that came since a moment; how many."""
        fresh = sql.SQL("age(xmin) <= age({}::text::xid)").format(sql.Literal(str(moment % (1 << 32))))
        with self._guarded(self._target, into, self._mark):
            return sum(self._brought(out, into, shape, fresh) for shape in shapes)

    def _brought(self, out: Connection, into: Connection, shape: Shape, which: sql.Composable | None = None) -> int:
        """The rows of a table that a condition holds for, put in place of those with the same keys; how many.

        Of the others the same are left here that are there. Without a condition: all, and none is here yet.
        """
        # Rows that are guarded cannot be copied into, so they go by way of a table of this connection's own.
        into.execute(sql.SQL("CREATE TEMPORARY TABLE arriving (LIKE {}) ON COMMIT DROP").format(shape.table))
        columns = listed(shape.columns)
        give = sql.SQL("COPY (SELECT {} FROM {} WHERE ns={} AND {}) TO STDOUT (FORMAT BINARY)")
        take = sql.SQL("COPY arriving({}) FROM STDIN (FORMAT BINARY)").format(columns)
        with out.cursor() as giver, into.cursor() as taker:
            asked = give.format(columns, shape.table, sql.Literal(self._space), which or sql.SQL("true"))
            with giver.copy(asked) as given, taker.copy(take) as taken:
                for data in given:
                    taken.write(data)
            count = taker.rowcount
        if count and which is not None:
            same = sql.SQL(" AND ").join(sql.SQL("t.{0}=a.{0}").format(sql.Identifier(one)) for one in shape.key)
            drop = sql.SQL("DELETE FROM {} t USING arriving a WHERE t.ns={} AND {}")
            into.execute(drop.format(shape.table, sql.Literal(self._space), same))
        if which is not None:  # before others take their place: what may stand once only would stand twice
            self._without(out, into, shape, sql.SQL("NOT ({})").format(which))
        if count:
            into.execute(sql.SQL("INSERT INTO {0}({1}) SELECT {1} FROM arriving").format(shape.table, columns))
        into.execute("DROP TABLE arriving")
        return count

    def _without(self, out: Connection, into: Connection, shape: Shape, which: sql.Composable) -> None:
        """Take out of the target what is gone from the source. Raises Damaged where something did not arrive."""
        key, space = listed(shape.key), sql.Literal(self._space)
        sums = sql.SQL("SELECT count(*), coalesce(sum(hashtextextended(ROW({})::text, 0)), 0) FROM {} WHERE ns={} AND {}")
        keys = sql.SQL("SELECT {} FROM {} WHERE ns={} AND {}")
        parts = ((out, which), (into, sql.SQL("true")))
        there, here = (db.execute(sums.format(key, shape.table, space, one)).fetchone() for db, one in parts)
        if there == here:
            return
        theirs, ours = (set(db.execute(keys.format(key, shape.table, space, one)).fetchall()) for db, one in parts)
        if lost := len(theirs - ours):
            raise Damaged(f"{lost} rows of {shape.name} did not arrive on {self._to!r}: move {self._ns!r} again")
        same = sql.SQL(" AND ").join(sql.SQL("{}=%s").format(sql.Identifier(one)) for one in shape.key)
        with into.cursor() as cursor:
            cursor.executemany(sql.SQL("DELETE FROM {} WHERE ns={} AND {}").format(shape.table, space, same), list(ours - theirs))

    # handing over

    def _handed(self, source: Database, into: Connection, shapes: Sequence[Shape], moment: int) -> float:
        """The last of it under the namespace's lock, and the commit that makes the move; how long the lock was held."""
        with source.transaction(self._ns, self._space) as write:
            began = time.perf_counter()
            self._fresh(write.connection, into, shapes, moment)
            with self._guarded(self._target, into, self._mark):
                self._numbered(write, into)
                self._named(into)
            done = write.row("UPDATE namespaces SET moved=%s, epoch=epoch+1 WHERE id=%s RETURNING epoch", (self._to, self._space))
            assert done is not None
        paused = time.perf_counter() - began
        self._servers.arrive(self._space, self._to, int(done[0]))
        return paused

    def _numbered(self, write: Write, into: Connection) -> None:
        """Numbers that were given out there are not given out here, and the namespace has counted as many writes."""
        last: dict[str, int] = dict(write.rows(migrations.LAST, (SCHEMA,)))
        for kind in SEQUENCES:
            if value := last.get(f"ids_{kind}"):
                into.execute("SELECT reserve(%s, %s)", (kind, value))
        into.execute("UPDATE namespaces SET version=%s WHERE id=%s", (write.version, self._space))

    def _named(self, into: Connection) -> None:
        """Let the target know the embedders: by their numbers it finds the vectors of what is erased."""
        with self._servers.home.aside() as db:
            known = [number for (number,) in db.execute("SELECT id FROM embedders").fetchall()]
        if self._target is not self._servers.home:
            with into.cursor() as cursor:
                cursor.executemany(vectors.EMBEDDER, [(number, str(number)) for number in known])

    # clearing

    def _cleared(self) -> None:
        """Take the rows of a namespace away where it is not."""
        for base in self._servers.all():
            if base is not self._target:
                with translated(base.name), base.connect() as db:
                    query = f"SELECT mark FROM {SCHEMA}.namespaces WHERE id=%s AND moved IS NOT NULL"
                    found = db.execute(query, (self._space,)).fetchone()
                    if found is not None:
                        assert self._lock is not None
                        self._lock.execute("SELECT 1")  # it was still ours then: that mark is not another mover's
                        self._clear(base, db, found[0])

    def _clear(self, base: Database, db: Connection, mark: int) -> None:
        for name in migrations.TABLES:
            with self._guarded(base, db, mark):
                db.execute(sql.SQL("DELETE FROM {} WHERE ns=%s").format(sql.Identifier(name)), (self._space,))


@contextmanager
def _told(base: Database, db: Connection, space: int) -> Iterator[None]:
    """A transaction of a connection of one's own that says who it is."""
    with db.transaction():
        db.execute(base.preamble(space))
        yield


@contextmanager
def _seen(base: Database, db: Connection, space: int) -> Iterator[None]:
    """The same for reading as of one moment."""
    db.execute(base.view(space))
    yield
    db.execute("COMMIT")


def _moment(db: Connection) -> int:
    """What is older than this was there when a reading transaction began."""
    found = db.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
    assert found is not None
    return int(found[0])


def _shapes(db: Connection) -> list[Shape]:
    """The tables that hold rows of a namespace."""
    query = (
        "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey)"
        " WHERE i.indrelid=%s::regclass AND i.indisprimary AND a.attname<>'ns'"
        " ORDER BY array_position(i.indkey::int2[], a.attnum)"
    )
    found = []
    for name in migrations.TABLES:
        key = [one for (one,) in db.execute(query, (f"{SCHEMA}.{name}",)).fetchall()]
        if not key:
            raise BadInput(f"the table {name} has no key of its own: its rows cannot be told apart")
        found.append(Shape(name, tuple(migrations.columns(db, name)), tuple(key)))
    return found
