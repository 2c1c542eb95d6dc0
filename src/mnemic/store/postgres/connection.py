"""How the server is reached, and the rules every transaction follows.

A transaction begins with one message that says who it is and what it may see: the role whose rows are guarded, the
namespace, the schema, how long it waits for a lock. All of it is local to the transaction, so a pool, ours or one in
between, never hands one caller's namespace to the next. A write takes its namespace's lock first and holds it to the end:
writes of one namespace follow each other, which is what keeps its ledger without gaps, and those of others do not wait.

Each write counts its namespace's `version` up, and a read learns it as it begins, in the same message. So what was read of
a namespace at one version is true as long as the version is, and need not be asked again; and whoever knows the version of
what he wrote can tell whether another server has caught up with it.

A connection that breaks before anything was asked of it is replaced in silence. One that breaks within a write means that
nothing was stored. One that breaks at COMMIT leaves a doubt, and the server is asked which it was.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import adapt, pq, sql
from psycopg.adapt import AdaptersMap, Buffer
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from mnemic.environment import shown_url
from mnemic.errors import BadInput, Conflict, Damaged, DiskFull, Interrupted, StoreError

SCHEMA = "mnemic"
"""Where our tables are in the database, so that they may stand beside those of others."""
ROLE = "mnemic_rows"
"""Who reads and writes rows where whoever connects stands above row-level security."""
LOCK_SECONDS = 30
PATIENCE = 20.0
"""Seconds that a server which restarts is waited for."""
LIMIT = 10
"""Connections that one process holds at most."""
WAITING = 1_000
"""Callers that may wait for a connection; more are refused at once."""
Rows = list[tuple[Any, ...]]
Params = Sequence[Any]
Kept = dict[tuple[Any, ...], Rows]
"""Answers by query and parameters."""
HOME = "home"
"""What a home's first server is called among its others."""
KEPT_SPACES, KEPT_ROWS = 4_096, 2_000
"""Namespaces of which answers are kept, and rows that such an answer has at most."""
CHANGES = "changes"
"""Under this name the home's own facts count how often one changed."""


class _Text(StrDumper):
    """Text as the server takes it. What it cannot hold finds nothing; what is stored was made storable before."""

    def dump(self, obj: str) -> Buffer | None:
        if "\0" in obj:
            obj = obj.replace("\0", "\ufffd")
        try:
            return super().dump(obj)
        except UnicodeEncodeError:
            return super().dump(obj.encode("utf-8", "replace").decode())


class Halves(bytes):
    """A vector as the server's `halfvec` in binary: dimension, two bytes of nothing, and halves in network order."""


def _halves(oid: int) -> type[adapt.Dumper]:
    class HalvesDumper(adapt.Dumper):
        format = pq.Format.BINARY

        def dump(self, obj: Any) -> Buffer | None:
            return bytes(obj)

    HalvesDumper.oid = oid
    return HalvesDumper


def _adapters() -> AdaptersMap:
    known = AdaptersMap(psycopg.adapters)
    known.register_dumper(str, _Text)
    # Else a number's size would choose its type, and a statement be prepared once for each mixture of types.
    known.register_dumper(int, Int8Dumper)
    known.register_dumper(int, Int8BinaryDumper)
    return known


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """As `translated`, for what changes nothing: there a conflict only means that memory cannot be read for now."""
    try:
        with translated(what):
            yield
    except Interrupted as error:
        cause = error.__cause__ or error
        raise StoreError(f"{what} cannot be read ({first_line(cause)}): try again") from cause
    except Conflict as error:
        raise StoreError(str(error)) from error.__cause__


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn the server's and the driver's errors into ours, most specific first."""
    try:
        yield
    except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as error:
        raise Interrupted(f"{what}: another write came in between, nothing was stored: repeat") from error
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled) as error:
        raise Conflict(f"{what} is locked by another process for over {LOCK_SECONDS} s: try again") from error
    except (PoolTimeout, TooManyRequests) as error:
        raise StoreError(
            f"{what}: all {LIMIT} connections of this process stayed in use, or the server does not answer: try again"
        ) from error
    except psycopg.errors.DiskFull as error:
        raise DiskFull(f"{what}: the server's disk is full, this was not stored: free some space and repeat") from error
    except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
        raise Damaged(f"{what} is damaged ({first_line(error)}): restore a backup with `mnemic restore FILE`") from error
    except psycopg.errors.ProgramLimitExceeded as error:
        raise BadInput(f"{what}: a name or path is too long for it ({first_line(error)}): give a shorter one") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(f"{what}: {first_line(error)}; ask its administrator for that right") from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise StoreError(f"{what} can only be read: name the primary server") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise Interrupted(f"{what}: the connection broke, nothing was stored ({first_line(error)}): repeat") from error
    except psycopg.Error as error:
        raise StoreError(f"{what}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """What an error says in short; its name where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class Moved(Exception):
    """The rows of a namespace are not on this server: nothing was read or written."""

    def __init__(self, space: int, to: str, epoch: int) -> None:
        super().__init__(f"the rows of namespace {space} are on {to!r}")
        self.space, self.to, self.epoch = space, to, epoch


def lost(connection: psycopg.Connection[Any]) -> bool:
    """Whether a connection is of no more use."""
    return connection.closed or connection.info.transaction_status == pq.TransactionStatus.UNKNOWN


@dataclass(slots=True)
class Open:
    """A thread's transaction; `depth` says how many ask to keep it."""

    connection: psycopg.Connection[Any] | None = None
    depth: int = 0
    space: int = 0
    """Whose rows it sees."""
    writing: bool = False
    kept: dict[int, Kept] = field(default_factory=dict)
    """By namespace that it has looked at, and 0 for the home: what is known of it as it sees it."""
    process: int = field(default_factory=os.getpid)
    """Of a process that was forked off within it, the transaction is its parent's."""


class Database:
    """The server, through a pool; and the transaction of each thread that is in one."""

    def __init__(
        self, url: str, *, limit: int = LIMIT, shard: str = HOME, prepare: Callable[[Database], None] | None = None
    ) -> None:
        """`prepare` is called before it is first used, and again should that fail."""
        self.url, self.limit, self.shard, self._prepare = url, limit, shard, prepare
        self.name = shown_url(url).partition("?")[0]
        self.role: str | None = None
        """Taken on in every transaction, where whoever connects stands above row-level security."""
        self.halves = 0
        """The number of the type `halfvec` in this database."""
        self._local = threading.local()
        self._guard, self._preparing = threading.Lock(), threading.RLock()
        self._pool: tuple[int, ConnectionPool] | None = None
        self._kept: OrderedDict[int, tuple[int, Kept]] = OrderedDict()
        """By namespace, the one used last at the end: its version, and what is known as of it."""

    # connections

    def pool(self) -> ConnectionPool:
        """This process's pool; one that came over a fork is left to the parent."""
        mine = self._pool
        if mine is None or mine[0] != os.getpid():
            with self._guard:
                mine = self._pool
                if mine is None or mine[0] != os.getpid():
                    mine = self._pool = (os.getpid(), self._fresh_pool())
        return mine[1]

    def _fresh_pool(self) -> ConnectionPool:
        pool = ConnectionPool(
            self.url, min_size=1, max_size=self.limit, open=False, timeout=LOCK_SECONDS, max_waiting=WAITING,
            kwargs={"autocommit": True, "context": _adapters()}, configure=self._configure, name=self.name,
        )  # fmt: skip
        pool.open(wait=False)
        return pool

    def ready(self) -> None:
        """Prepare it, unless that was done. Raises StoreError."""
        if self._prepare is not None:
            with self._preparing:
                if self._prepare is not None:
                    self._prepare(self)
                    self._prepare = None

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        if self.halves:
            connection.adapters.register_dumper(Halves, _halves(self.halves))

    def connect(self) -> psycopg.Connection[Any]:
        """A connection outside the pool, for what needs one to itself. Raises StoreError where there is no server."""
        try:
            return psycopg.connect(self.url, autocommit=True, context=_adapters())
        except psycopg.ProgrammingError:  # its message may show the password
            raise BadInput(f"the URL of {self.name} cannot be read: write postgresql://USER@HOST/DATABASE") from None
        except psycopg.Error as error:
            raise StoreError(f"{self.name} cannot be reached ({first_line(error)}): check the URL and the server") from None

    def close(self) -> None:
        """Close the connections that this process opened."""
        with self._guard:
            mine, self._pool = self._pool, None
        if mine and mine[0] == os.getpid():
            mine[1].close()
        self._local = threading.local()

    def _begin(self, first: str) -> tuple[psycopg.Connection[Any], psycopg.Cursor[Any]]:
        """A connection with a transaction that has begun; one that turns out to be dead is replaced.

        `first` is what it begins with, in one message.
        """
        self.ready()
        until = time.monotonic() + PATIENCE
        pool = self.pool()
        while True:
            try:
                connection = pool.getconn(max(0.1, until - time.monotonic() + 1))
            except PoolClosed:
                raise StoreError(f"{self.name} was closed: open it again") from None
            try:
                return connection, connection.execute(first, prepare=False)
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                dead, retried = lost(connection), isinstance(error, psycopg.errors.DeadlockDetected)
                self._give_back(pool, connection)
                if not (dead or retried) or time.monotonic() > until:
                    raise
            except BaseException:
                self._give_back(pool, connection)
                raise

    def _give_back(self, pool: ConnectionPool, connection: psycopg.Connection[Any]) -> None:
        if not connection.closed and connection.info.transaction_status != pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK", prepare=False)
        pool.putconn(connection)

    def preamble(self, space: int) -> str:
        """What a transaction says of itself, without the end of the statement: nothing of it outlives it."""
        role = f"set_config('role', '{self.role}', true), " if self.role else ""
        return (
            f"SELECT {role}set_config('search_path', '{SCHEMA}, public', true),"
            f" set_config('lock_timeout', '{LOCK_SECONDS}s', true), set_config('mnemic.ns', '{space:d}', true)"
        )

    # reading

    @property
    def _open(self) -> Open:
        found: Open | None = getattr(self._local, "open", None)
        if found is None or found.process != os.getpid():
            found = self._local.open = Open()
        return found

    @property
    def writing(self) -> bool:
        """Whether this thread is in a write, whose outcome is still open."""
        return self._open.writing

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several reads that see one state; nothing is asked of the server before the first of them."""
        now = self._open
        now.depth += 1
        try:
            yield
        finally:
            now.depth -= 1
            if now.depth == 0:
                self._end(now)

    def _end(self, now: Open) -> None:
        connection, now.connection, now.space, now.kept = now.connection, None, 0, {}
        if connection is not None and now.process == os.getpid():
            with suppress(psycopg.Error):
                connection.execute("COMMIT", prepare=False)
            self._give_back(self.pool(), connection)

    def rows(self, space: int, query: str, params: Params = (), *, keep: bool = False) -> Rows:
        """All rows of one query, seen from a namespace; 0 for what belongs to none.

        `keep`: once they were read they are given again, as long as nothing is written there. Leave them as they are.
        """
        now = self._open
        with translated(self.name) if now.writing else _reading(self.name):
            if now.connection is None and now.depth == 0:
                with self.snapshot():
                    return self._ask(now, space, query, params, keep)
            return self._ask(now, space, query, params, keep)

    def _ask(self, now: Open, space: int, query: str, params: Params, keep: bool) -> Rows:
        if now.connection is None:
            begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {self.preamble(space)}, {_stand(space)}"
            now.connection, cursor = self._begin(begin)
            self._see(now, space, _last(cursor))
        elif space and now.space != space:  # what belongs to none can be seen from everywhere
            query_ = f"SELECT set_config('mnemic.ns', '{space:d}', true), {_stand(space)}"
            self._see(now, space, now.connection.execute(query_, prepare=False).fetchone())
        kept = now.kept.get(space) if keep and not now.writing else None
        key = (query, *params)
        if kept is not None and key in kept:
            return kept[key]
        found = now.connection.execute(query, params, binary=True).fetchall()
        if kept is not None and len(found) <= KEPT_ROWS:
            kept[key] = found
        return found

    def _see(self, now: Open, space: int, row: tuple[Any, ...] | None) -> None:
        """A transaction has turned to a namespace: what is known of it as of the version that it sees."""
        assert row is not None
        *_, changes, version, moved, epoch = row
        if moved is not None:
            raise Moved(space, moved, epoch)
        now.space = space
        now.kept[0] = self._known(0, int(changes or 0))
        if space:
            now.kept[space] = self._known(space, int(version or 0))

    def _known(self, space: int, version: int) -> Kept:
        with self._guard:
            known = self._kept.get(space)
            if known is None or known[0] < version:
                known = self._kept[space] = (version, {})
            elif known[0] > version:  # a transaction that began before the last write
                return {}
            self._kept.move_to_end(space)
            if len(self._kept) > KEPT_SPACES:
                self._kept.popitem(last=False)
            return known[1]

    def row(self, space: int, query: str, params: Params = (), *, keep: bool = False) -> tuple[Any, ...] | None:
        """The first row of one query."""
        found = self.rows(space, query, params, keep=keep)
        return found[0] if found else None

    # writing

    @contextmanager
    def transaction(self, namespace: str, number: int = 0) -> Iterator[Write]:
        """All that happens inside is committed together, or not at all, under the namespace's lock. Does not nest.

        A namespace that is not there yet comes into being, with the `number` that it has elsewhere. Raises Moved.
        """
        now = self._open
        if now.connection is not None or now.depth:
            raise StoreError("a write cannot begin within a read or a write of the same thread")
        with translated(self.name):
            write = self._begin_write(namespace, number)
            now.connection, now.space, now.writing, now.depth = write.connection, write.space, True, 1
            try:
                yield write
            except BaseException:
                self._roll_back(now)
                raise
            now.connection, now.space, now.writing, now.depth = None, 0, False, 0
            self._commit(write)

    def _roll_back(self, now: Open) -> None:
        connection, now.connection, now.space, now.writing, now.depth = now.connection, None, 0, False, 0
        if connection is not None:
            self._give_back(self.pool(), connection)

    def _begin_write(self, namespace: str, number: int) -> Write:
        name = sql.quote(namespace.replace("\0", "\ufffd"))
        lock = (
            f"UPDATE namespaces SET version=version+1 WHERE name={name}"
            " RETURNING id, pg_current_xact_id()::text, set_config('mnemic.ns', id::text, true), pg_backend_pid(), moved, epoch"
        )
        make = f"INSERT INTO namespaces(name) VALUES({name}) ON CONFLICT DO NOTHING"
        if number:
            make = (
                f"INSERT INTO namespaces(id, name) OVERRIDING SYSTEM VALUE VALUES({number:d}, {name}) ON CONFLICT DO NOTHING"
            )
        begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {self.preamble(0)}; "
        connection, cursor = self._begin(begin + lock)
        try:
            found = _last(cursor)
            if found is None:
                found = _last(connection.execute(f"{make}; {lock}"))
            assert found is not None
            if found[4] is not None:
                raise Moved(found[0], found[4], found[5])
        except BaseException:
            self._give_back(self.pool(), connection)
            raise
        return Write(self, connection, int(found[0]), str(found[1]), int(found[3]))

    def _commit(self, write: Write) -> None:
        connection = write.connection
        try:
            done = connection.execute("COMMIT", prepare=False).statusmessage
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            gone = lost(connection)
            self._give_back(self.pool(), connection)
            if not gone:
                raise
            if not self._was_committed(write):
                raise Interrupted(f"{self.name}: the connection broke at the end, nothing was stored: repeat") from error
            return
        except BaseException:
            self._give_back(self.pool(), connection)
            raise
        self._give_back(self.pool(), connection)
        if done != "COMMIT":
            raise StoreError(f"{self.name}: the server took the write back: repeat")

    def _was_committed(self, write: Write) -> bool:
        """What became of a transaction whose answer was lost. Raises StoreError where nobody can tell for now."""
        until = time.monotonic() + PATIENCE
        status: str | None = "in progress"
        while status == "in progress" and time.monotonic() < until:
            try:
                with psycopg.connect(self.url, autocommit=True) as asked:
                    found = asked.execute("SELECT pg_xact_status(%s::xid8)", (write.xid,)).fetchone()
                    status = found[0] if found else None
                    if status == "in progress":  # its backend has not noticed yet that nobody listens
                        with suppress(psycopg.errors.InsufficientPrivilege):
                            asked.execute("SELECT pg_terminate_backend(%s)", (write.pid,))
            except psycopg.OperationalError:
                pass
            if status == "in progress":
                time.sleep(0.05)
        if status in ("committed", "aborted"):
            return status == "committed"
        raise StoreError(
            f"{self.name}: the connection broke at the end, and the last write may be kept or not: repeat it when the"
            " server answers again; with its operation id, what was kept is recognised"
        )

    @contextmanager
    def aside(self) -> Iterator[psycopg.Connection[Any]]:
        """A short write to what belongs to no namespace, whatever this thread is in the middle of."""
        with translated(self.name):
            connection, _ = self._begin(f"BEGIN ISOLATION LEVEL READ COMMITTED; {self.preamble(0)}")
            try:
                yield connection
                connection.execute("COMMIT", prepare=False)
            finally:
                self._give_back(self.pool(), connection)


class Write:
    """A write that is going on: its connection, whose lock it holds, and the number by which its fate can be asked."""

    def __init__(self, base: Database, connection: psycopg.Connection[Any], space: int, xid: str, pid: int) -> None:
        self.base, self.connection, self.space, self.xid, self.pid = base, connection, space, xid, pid

    def run(self, query: str, params: Params = ()) -> psycopg.Cursor[Any]:
        """One statement, seen from the write's own namespace."""
        self._own()
        return self.connection.execute(query, params, binary=True)

    def _own(self) -> None:
        now = self.base._open
        if now.space != self.space:  # a read of another namespace came in between
            self.connection.execute("SELECT set_config('mnemic.ns', %s, true)", (str(self.space),))
            now.space = self.space

    def rows(self, query: str, params: Params = ()) -> Rows:
        return self.run(query, params).fetchall()

    def row(self, query: str, params: Params = ()) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self.run(query, params).fetchone()
        return found

    def many(self, query: str, rows: Sequence[Params]) -> None:
        """One statement for many rows, without waiting for each answer."""
        if rows:
            self._own()
            with self.connection.cursor() as cursor:
                cursor.executemany(query, rows)


def _stand(space: int) -> str:
    """How often the home's own facts changed, the version of a namespace and where it is: the end of a statement that asks."""
    return (
        f"(SELECT value FROM {SCHEMA}.meta WHERE key='{CHANGES}'), n.version, n.moved, n.epoch"
        f" FROM (SELECT 1) AS one LEFT JOIN {SCHEMA}.namespaces n ON n.id={space:d}"
    )


def _last(cursor: psycopg.Cursor[Any]) -> tuple[Any, ...] | None:
    """The first row of the last statement of several."""
    while cursor.nextset():
        pass
    found: tuple[Any, ...] | None = cursor.fetchone()
    return found
