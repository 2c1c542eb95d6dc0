"""How the server is reached, and the rules every transaction follows.

A transaction begins with one message that says who it is and what it may see: the role whose rows are guarded, the
namespace, the schema, how long it waits for a lock. All of it is local to the transaction, so a pool, ours or one in
between, never hands one caller's namespace to the next. A write takes its namespace's lock first and holds it to the end:
writes of one namespace follow each other, which is what keeps its ledger without gaps, and those of others do not wait.

Each write counts its namespace's `version` up, and a read learns it as it begins, in the same message. So what was read of
a namespace at one version is true as long as the version is, and need not be asked again; and whoever knows the version of
what he wrote can tell whether another server has caught up with it.

A connection that breaks before anything was asked of it is replaced in silence. One that breaks within a write means that
nothing was stored. One that breaks at COMMIT leaves a doubt, and the server is asked which it was: whether the entry is
there that the write made.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import psycopg
from psycopg import sql
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from mnemic.environment import shown_url
from mnemic.errors import BadInput, Conflict, Damaged, DiskFull, Interrupted, StoreError
from mnemic.store.base import Lag
from mnemic.store.postgres.pools import Halves, Pool, adapters, give_back, halves_dumper, lost
from mnemic.store.postgres.replicas import Left, Positions, Replica

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
"""Callers that may wait for a connection; more are refused at once. As many statements of a write wait to be sent."""
Rows = list[tuple[Any, ...]]
Params = Sequence[Any]
Statement = tuple[str, Params]
Kept = dict[tuple[Any, ...], Rows]
"""Answers by query and parameters."""
HOME = "home"
"""What a home's first server is called among its others."""
KEPT_SPACES, KEPT_ROWS = 4_096, 2_000
"""Namespaces of which answers are kept, and rows that such an answer has at most."""
CHANGES = "changes"
"""Under this name the home's own facts count how often one changed."""


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


@dataclass(slots=True)
class Open:
    """A thread's transaction; `depth` says how many ask to keep it."""

    connection: psycopg.Connection[Any] | None = None
    depth: int = 0
    space: int = 0
    """Whose rows it sees."""
    writing: Write | None = None
    """The write that it is, if it is one."""
    server: str = "primary"
    """Whom a read asks: primary; replica, if one is near enough; or fallback, the primary in place of such a one."""
    replica: Replica | None = None
    """Whose connection it is, if not the primary's."""
    kept: dict[int, Kept] = field(default_factory=dict)
    """By namespace that it has looked at, and 0 for the home: what is known of it as it sees it."""
    process: int = field(default_factory=os.getpid)
    """Of a process that was forked off within it, the transaction is its parent's."""


class Database:
    """The server, through a pool; and the transaction of each thread that is in one."""

    def __init__(
        self, url: str, *, limit: int = LIMIT, shard: str = HOME, prepare: Callable[[Database], None] | None = None,
        replicas: Sequence[str] = (), positions: Positions | None = None,
    ) -> None:  # fmt: skip
        """`prepare` is called before it is first used, and again should that fail; `positions` are those of the home."""
        self.url, self.limit, self.shard, self._prepare = url, limit, shard, prepare
        self.name = shown_url(url).partition("?")[0]
        self.role: str | None = None
        """Taken on in every transaction, where whoever connects stands above row-level security."""
        self.halves = 0
        """The number of the type `halfvec` in this database."""
        self.facts: dict[str, str] = {}
        """By which a replica shows that it follows this database."""
        self.replicas = [Replica(one, limit, self._configure) for one in replicas]
        self.reads: Counter[str] = Counter(primary=0, replica=0, fallback=0)
        """How many reads went where, by `Open.server`."""
        self.positions = positions or Positions()
        self._local = threading.local()
        self._guard, self._preparing = threading.Lock(), threading.RLock()
        self._pool = Pool(url, limit, self._configure, timeout=LOCK_SECONDS, max_waiting=WAITING)
        self._turns = count()
        self._kept: OrderedDict[int, tuple[int, int, Kept]] = OrderedDict()
        """By namespace, the one used last at the end: its version and mark, and what is known as of it."""

    # connections

    def pool(self) -> ConnectionPool:
        """This process's pool."""
        return self._pool.open()

    def ready(self) -> None:
        """Prepare it, unless that was done. Raises StoreError."""
        if self._prepare is not None:
            with self._preparing:
                if self._prepare is not None:
                    self._prepare(self)
                    self._prepare = None

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        if self.halves:
            connection.adapters.register_dumper(Halves, halves_dumper(self.halves))

    def connect(self) -> psycopg.Connection[Any]:
        """A connection outside the pool, for what needs one to itself. Raises StoreError where there is no server."""
        try:
            return psycopg.connect(self.url, autocommit=True, context=adapters())
        except psycopg.ProgrammingError:  # its message may show the password
            raise BadInput(f"the URL of {self.name} cannot be read: write postgresql://USER@HOST/DATABASE") from None
        except psycopg.Error as error:
            raise StoreError(f"{self.name} cannot be reached ({first_line(error)}): check the URL and the server") from None

    def close(self) -> None:
        """Close the connections that this process opened."""
        for pool in (self._pool, *(one.pool for one in self.replicas)):
            pool.close()
        self._local = threading.local()

    def _begin(self, first: str) -> tuple[psycopg.Connection[Any], psycopg.Cursor[Any]]:
        """A connection with a transaction that has begun; one that turns out to be dead is replaced.

        `first` is what it begins with, in one message.
        """
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
                give_back(pool, connection)
                if not (dead or retried) or time.monotonic() > until:
                    raise
            except BaseException:
                give_back(pool, connection)
                raise

    def preamble(self, space: int) -> str:
        """What a transaction says of itself, without the end of the statement: nothing of it outlives it."""
        self.ready()
        role = f"set_config('role', '{self.role}', true), " if self.role else ""
        return (
            f"SELECT {role}set_config('search_path', '{SCHEMA}, public', true),"
            f" set_config('lock_timeout', '{LOCK_SECONDS}s', true), set_config('mnemic.ns', '{space:d}', true)"
        )

    def view(self, space: int) -> str:
        """Begins a transaction that reads as of one moment, and says of itself what `preamble` has."""
        return f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {self.preamble(space)}"

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
        return self._open.writing is not None

    @property
    def busy(self) -> bool:
        """Whether this thread has a transaction open here."""
        return self._open.connection is not None

    @contextmanager
    def snapshot(self, server: str = "primary") -> Iterator[None]:
        """Several reads that see one state; nothing is asked of the server before the first of them.

        Of the server `replica`, one of these answers if it is near enough, and else the primary. Raises Left where it breaks
        off, or turns out to be behind in another namespace: then all must be read anew, from `fallback`, the primary.
        """
        now = self._open
        if now.depth == 0 and self.replicas:
            now.server = server
        now.depth += 1
        try:
            yield
        finally:
            now.depth -= 1
            if now.depth == 0:
                self._end(now)

    def _end(self, now: Open) -> None:
        connection, now.connection, now.space, now.kept = now.connection, None, 0, {}
        replica, now.replica, now.server = now.replica, None, "primary"
        if connection is not None and now.process == os.getpid():
            with suppress(psycopg.Error):
                connection.execute("COMMIT", prepare=False)
            give_back(replica.pool.open() if replica else self.pool(), connection)

    def rows(self, space: int, query: str, params: Params = (), *, keep: bool = False) -> Rows:
        """All rows of one query, seen from a namespace; 0 for what belongs to none.

        `keep`: once they were read they are given again, as long as nothing is written there. Leave them as they are.
        """
        now = self._open
        if now.writing is not None:
            with translated(self.name):
                return self._beside(now.writing, space, query, params)
        with _reading(self.name):
            if now.connection is None and now.depth == 0:
                with self.snapshot():
                    return self._ask(now, space, query, params, keep)
            return self._ask(now, space, query, params, keep)

    def _beside(self, write: Write, space: int, query: str, params: Params) -> Rows:
        """What is read within a write. Another namespace may have moved, even since this thread was here last."""
        if space in (0, write.space):
            return write.together([(query, params)], space)[0].fetchall()
        # Where it is, is asked last: what was here then, was here when it was read.
        found, stand = write.together([(query, params), ("SELECT moved, epoch FROM namespaces WHERE id=%s", (space,))], space)
        moved, epoch = stand.fetchone() or (None, 0)
        if moved is not None:
            raise Moved(space, moved, epoch)
        return found.fetchall()

    def _ask(self, now: Open, space: int, query: str, params: Params, keep: bool) -> Rows:
        try:
            return self._asked(now, space, query, params, keep)
        except psycopg.Error as error:
            if now.replica is None:
                raise
            if now.connection is not None and lost(now.connection):
                now.replica.leave()
            raise Left from error

    def _asked(self, now: Open, space: int, query: str, params: Params, keep: bool) -> Rows:
        connection = now.connection or self._begin_read(now, space)
        if space and now.space != space:  # what belongs to none can be seen from everywhere
            query_ = f"SELECT set_config('mnemic.ns', '{space:d}', true), {_stand(space)}"
            row = connection.execute(query_, prepare=False).fetchone()
            if now.replica and not self._near(space, row):
                raise Left
            self._see(now, space, row)
        kept = now.kept.get(space) if keep else None
        key = (query, *params)
        if kept is not None and key in kept:
            return kept[key]
        found = connection.execute(query, params, binary=True).fetchall()
        if kept is not None and len(found) <= KEPT_ROWS:
            kept[key] = found
        return found

    def _begin_read(self, now: Open, space: int) -> psycopg.Connection[Any]:
        begin = self.view(space)
        row = self._begin_elsewhere(now, begin, space) if now.server == "replica" else None
        if row is None:
            now.server = "fallback" if now.server == "replica" else now.server
            now.connection, cursor = self._begin(f"{begin}, {_stand(space)}")
            row = _last(cursor)
        with self._guard:
            self.reads[now.server] += 1
        self._see(now, space, row)
        assert now.connection is not None
        return now.connection

    def _begin_elsewhere(self, now: Open, begin: str, space: int) -> tuple[Any, ...] | None:
        """Begin at a replica that is near enough, and give what it told; None where there is none."""
        turn = next(self._turns)
        for place in range(len(self.replicas)):
            replica = self.replicas[(turn + place) % len(self.replicas)]
            begun = replica.begin(f"{begin}, {_follows(self.facts)}, {_stand(space)}")
            if begun is None:
                continue
            connection, cursor = begun
            row = _last(cursor)
            assert row is not None
            *_, follows, _, _, _, _, _ = row
            if follows and self._near(space, row):
                now.connection, now.replica = connection, replica
                return row
            replica.give_back(connection)
            if not follows:
                replica.leave()
        return None

    def _near(self, space: int, row: tuple[Any, ...] | None) -> bool:
        """Whether a replica's snapshot shows all that this process was shown, or wrote."""
        assert row is not None
        *_, changes, version, _, moved, _ = row
        reached = self.positions.reached
        here = not space or (version is not None and moved is None and reached(space, int(version)))
        return here and reached(self.url, int(changes or 0))

    def _see(self, now: Open, space: int, row: tuple[Any, ...] | None) -> None:
        """A transaction has turned to a namespace: what is known of it as of the version that it sees."""
        assert row is not None
        *_, changes, version, mark, moved, epoch = row
        if moved is not None:
            raise Moved(space, moved, epoch)
        now.space = space
        seen = {space: (int(version or 0), int(mark or 0)), 0: (int(changes or 0), 0)}
        for one, (number, own) in seen.items():
            now.kept[one] = self._known(one, number, own)
            self.positions.note(one or self.url, number)

    def _known(self, space: int, version: int, mark: int) -> Kept:
        with self._guard:
            known = self._kept.get(space)
            # Another mark at the same version: a server that lost its last writes has counted others since.
            if known is None or known[0] < version or (known[0] == version and known[1] != mark):
                known = self._kept[space] = (version, mark, {})
            elif known[0] > version:  # a transaction that began before the last write
                return {}
            self._kept.move_to_end(space)
            if len(self._kept) > KEPT_SPACES:
                self._kept.popitem(last=False)
            return known[2]

    def row(self, space: int, query: str, params: Params = (), *, keep: bool = False) -> tuple[Any, ...] | None:
        """The first row of one query."""
        found = self.rows(space, query, params, keep=keep)
        return found[0] if found else None

    def lags(self) -> list[Lag]:
        """How far each replica is behind. Raises StoreError where the primary cannot be reached."""
        if not self.replicas:
            return []
        with translated(self.name), self.connect() as db:
            stand = db.execute(f"SELECT pg_current_wal_lsn()::text, coalesce(sum(version), 0)::bigint FROM {SCHEMA}.namespaces")
            lsn, writes = stand.fetchone() or ("0/0", 0)
        return [self._lag(replica, lsn, writes) for replica in self.replicas]

    def _lag(self, replica: Replica, lsn: str, writes: int) -> Lag:
        query = (
            f"SELECT {_follows(self.facts)}, pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn())::bigint,"
            " extract(epoch FROM now()-pg_last_xact_replay_timestamp())::float8,"
            f" (SELECT coalesce(sum(version), 0)::bigint FROM {SCHEMA}.namespaces)"
        )
        try:
            with replica.connect() as db:
                follows, size, seconds, seen = db.execute(query, (lsn,)).fetchone() or (False, None, None, 0)
        except psycopg.Error as error:
            return Lag(replica.name, f"it cannot be read ({first_line(error)})")
        if not follows:
            return Lag(replica.name, "it does not follow this home's server")
        behind = max(0, writes - seen)
        return Lag(replica.name, "", behind, None if size is None else max(0, size), float(seconds or 0) if behind else 0.0)

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
            now.connection, now.space, now.writing, now.depth = write.connection, write.space, write, 1
            try:
                yield write
            except BaseException:
                self._roll_back(now)
                raise
            self._commit(now, write)
            self.positions.note(write.space, write.version)

    def _roll_back(self, now: Open) -> None:
        connection, now.connection, now.space, now.writing, now.depth = now.connection, None, 0, None, 0
        if connection is not None:
            give_back(self.pool(), connection)

    def _begin_write(self, namespace: str, number: int) -> Write:
        name = sql.quote(namespace.replace("\0", "\ufffd"))
        lock = (
            f"UPDATE namespaces SET version=version+1, mark=(random()*1e15)::bigint WHERE name={name}"
            " RETURNING id, pg_current_xact_id()::text, set_config('mnemic.ns', id::text, true), pg_backend_pid(), version,"
            " moved, epoch, pg_postmaster_start_time()::text"
        )
        make = f"INSERT INTO namespaces(name) VALUES({name}) ON CONFLICT DO NOTHING"
        if number:
            make = f"INSERT INTO namespaces(id, name) OVERRIDING SYSTEM VALUE VALUES({number:d}, {name}) ON CONFLICT DO NOTHING"
        begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {self.preamble(0)}; "
        connection, cursor = self._begin(begin + lock)
        try:
            found = _last(cursor)
            if found is None:
                found = _last(connection.execute(f"{make}; {lock}"))
            assert found is not None
            if found[5] is not None:
                raise Moved(found[0], found[5], found[6])
        except BaseException:
            give_back(self.pool(), connection)
            raise
        return Write(self, connection, int(found[0]), str(found[1]), int(found[3]), int(found[4]), str(found[7]))

    def _commit(self, now: Open, write: Write) -> None:
        connection = write.connection
        try:
            try:
                done = write.together([("COMMIT", ())])[0].statusmessage
            finally:
                now.connection, now.space, now.writing, now.depth = None, 0, None, 0
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            gone = lost(connection)
            give_back(self.pool(), connection)
            if not gone:
                raise
            if not self._was_committed(write):
                raise Interrupted(f"{self.name}: the connection broke at the end, nothing was stored: repeat") from error
            return
        except BaseException:
            give_back(self.pool(), connection)
            raise
        give_back(self.pool(), connection)
        if done != "COMMIT":
            raise StoreError(f"{self.name}: the server took the write back: repeat")

    def _was_committed(self, write: Write) -> bool:
        """What became of a write whose answer was lost. Raises StoreError where nobody can tell for now."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with psycopg.connect(self.url, autocommit=True, connect_timeout=int(PATIENCE)) as asked:
                    known = self._fate(asked, write)
                    if known is not None:
                        return known
                    with suppress(psycopg.errors.InsufficientPrivilege):  # its backend has not noticed yet that nobody listens
                        asked.execute("SELECT pg_terminate_backend(%s)", (write.pid,))
            except psycopg.OperationalError:
                pass
            if time.monotonic() > until:
                raise StoreError(
                    f"{self.name}: the connection broke at the end, and the last write may be kept or not: repeat it when the"
                    " server answers again; with its operation id, what was kept is recognised"
                )
            time.sleep(0.05)

    def _fate(self, asked: psycopg.Connection[Any], write: Write) -> bool | None:
        """Whether a write was kept; `None` while it goes on.

        A server that crashes gives the numbers of transactions that it had not written down yet to others, so the number
        alone proves nothing once it has started anew. What proves a write is its entry in the ledger. One that made none
        changed nothing but what is derived, and is done again.
        """
        query = "SELECT pg_xact_status(%s::xid8), pg_postmaster_start_time()::text"
        try:
            status, started = asked.execute(query, (write.xid,)).fetchone() or (None, "")
        except psycopg.errors.InvalidParameterValue:  # a number that the server has not come to yet, so it forgot it
            return False
        if status == "in progress":
            return None
        if write.entry is None:
            return status == "committed" and started == write.started
        seq, name = write.entry
        found = asked.execute(  # a statement of its own: it sees what was committed before the one above was answered
            f"{self.preamble(write.space)};"
            f" SELECT 1 FROM ledger WHERE ns={write.space:d} AND seq={seq:d} AND hash={sql.quote(name)}"
        )
        return _last(found) is not None

    @contextmanager
    def aside(self) -> Iterator[psycopg.Connection[Any]]:
        """A short write to what belongs to no namespace, whatever this thread is in the middle of."""
        with translated(self.name):
            connection, _ = self._begin(f"BEGIN ISOLATION LEVEL READ COMMITTED; {self.preamble(0)}")
            try:
                yield connection
                connection.execute("COMMIT", prepare=False)
            finally:
                give_back(self.pool(), connection)


class Write:
    """A write that is going on: its connection, whose lock it holds, and that by which its fate can be asked."""

    def __init__(
        self, base: Database, connection: psycopg.Connection[Any], space: int, xid: str, pid: int, version: int, started: str
    ) -> None:
        self.base, self.connection, self.space, self.xid, self.pid = base, connection, space, xid, pid
        self.version = version
        """Of the namespace, once this is committed."""
        self.started = started
        """When its server was."""
        self.entry: tuple[int, str] | None = None
        """The number and hash of its last entry in the ledger."""
        self._waiting: list[Statement] = []

    def later(self, query: str, params: Params = ()) -> None:
        """One statement whose answer nobody needs: it goes with the next that somebody waits for, at the latest with COMMIT."""
        self.many(query, [params])

    def many(self, query: str, rows: Sequence[Params]) -> None:
        """As `later`, for many rows."""
        self._waiting += [(query, row) for row in rows]
        if len(self._waiting) > WAITING:
            self.together([])

    def together(self, asked: Sequence[Statement], space: int | None = None) -> list[psycopg.Cursor[Any]]:
        """Some statements in one message after all that wait, and their answers; seen from the write's own namespace or another.

        The server does them in order, and none after one that fails.
        """
        now, said = self.base._open, list[Statement]()
        waiting, self._waiting = self._waiting, []
        for at, statements in ((self.space, waiting), (self.space if space is None else space, asked)):
            if statements and at and now.space != at:  # what belongs to none can be seen from everywhere
                said.append(("SELECT set_config('mnemic.ns', %s, true)", (str(at),)))
                now.space = at
            said += statements
        if len(said) == 1:
            cursors = [self._say(*said[0])]
        else:
            with self.connection.pipeline():
                cursors = [self._say(query, params) for query, params in said]
        return cursors[len(cursors) - len(asked) :]

    def _say(self, query: str, params: Params) -> psycopg.Cursor[Any]:
        # What has no values is not repeated within a transaction, and COMMIT is to be seen as such on its way.
        return self.connection.execute(query, params, binary=True, prepare=None if params else False)

    def run(self, query: str, params: Params = ()) -> psycopg.Cursor[Any]:
        """One statement, seen from the write's own namespace."""
        return self.together([(query, params)])[0]

    def rows(self, query: str, params: Params = ()) -> Rows:
        return self.run(query, params).fetchall()

    def row(self, query: str, params: Params = ()) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self.run(query, params).fetchone()
        return found


def _stand(space: int) -> str:
    """How often the home's own facts changed, the version of a namespace and where it is: the end of a statement that asks."""
    return (
        f"(SELECT value FROM {SCHEMA}.meta WHERE key='{CHANGES}'), n.version, n.mark, n.moved, n.epoch"
        f" FROM (SELECT 1) AS one LEFT JOIN {SCHEMA}.namespaces n ON n.id={space:d}"
    )


def _follows(facts: Mapping[str, str]) -> str:
    """Whether a server follows that of which these are facts, a statement's part: one cut loose may have gone its own way."""
    same = [
        f"EXISTS (SELECT FROM {SCHEMA}.meta WHERE key={sql.quote(key)} AND value={sql.quote(value)})"
        for key, value in facts.items()
    ]
    return f"({' AND '.join(['pg_is_in_recovery()', *same]) if same else 'false'})"


def listed(names: Sequence[str]) -> sql.Composed:
    """Names of columns or tables, as a statement lists them."""
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _last(cursor: psycopg.Cursor[Any]) -> tuple[Any, ...] | None:
    """The first row of the last statement of several."""
    while cursor.nextset():
        pass
    found: tuple[Any, ...] | None = cursor.fetchone()
    return found
