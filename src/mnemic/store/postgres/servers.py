"""On which server the rows of each namespace are.

A home's first server keeps what belongs to the whole home (facts, leases, embedders, the list of the others) and numbers the
namespaces, so that a number means the same everywhere; the rows of each are on one server, the first or another. No statement
spans two of them.

Where they are, each server says of itself: its row of a namespace names in `moved` the server that has them, if it has not. A
process goes to where it last found a namespace, learns in the message that begins a transaction that it has moved on, before
anything is read or written, and follows. So no process must be told of a move, and there is no moment at which two servers
take writes: what makes a move is the one commit that sets `moved` where the rows were.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from mnemic.errors import BadInput, Conflict, Interrupted, MnemicError, StoreError
from mnemic.store.postgres import migrations
from mnemic.store.postgres.connection import (
    CHANGES,
    HOME,
    LIMIT,
    PATIENCE,
    SCHEMA,
    Database,
    Moved,
    Write,
    first_line,
    translated,
)
from mnemic.store.postgres.replicas import Left, Positions

SHARD, OWNER = "shard", "home"
"""Facts of a server that is not the first: what it is called there, and the home's id."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
COUNTED = (
    f"INSERT INTO meta AS m VALUES('{CHANGES}', '1') ON CONFLICT (key) DO UPDATE SET value=(m.value::bigint+1)::text"
    " RETURNING value"
)
"""A fact of the home has changed."""
PAUSE = 0.05
"""Seconds before a namespace is looked for again whose move is being completed."""
T = TypeVar("T")


@dataclass(slots=True)
class View:
    """What a thread has open while several reads are to see one state."""

    stack: ExitStack
    server: str = "primary"
    """Which of each answers, as `Database.snapshot` has it."""
    bases: list[Database] = field(default_factory=list)
    process: int = field(default_factory=os.getpid)


class Servers:
    """The servers of a home. Safe to use from several threads."""

    def __init__(
        self, url: str, *, limit: int = LIMIT, partitions: int = migrations.PARTITIONS, replicas: Sequence[str] = ()
    ) -> None:
        """`replicas` are those of the first server; what those of the others are stands there."""
        self._limit, self._partitions = limit, partitions
        self.engine: dict[str, str] = {}
        self.store_id = ""
        self.positions = Positions()
        self.home = Database(url, limit=limit, replicas=replicas, positions=self.positions)
        self._prepare(self.home)
        self._known: dict[str, Database] = {HOME: self.home}
        self._places: dict[int, str] = {}
        """Where a namespace was found last; not said: on the first."""
        self._guard = threading.Lock()
        self._local = threading.local()

    # which there are

    def _prepare(self, base: Database) -> None:
        """Bring a server's tables up to date, and learn what is needed to use them."""
        with base.connect() as db:
            try:
                migrations.migrate(db, base.name, partitions=self._partitions)
                base.role = migrations.role_for(db)
                found = db.execute("SELECT 'halfvec'::regtype::oid::bigint, current_setting('server_version')").fetchone()
                extension = db.execute("SELECT extversion FROM pg_extension WHERE extname='vector'").fetchone()
                told = db.execute(f"SELECT key, value FROM {SCHEMA}.meta WHERE key=ANY(%s)", ([SHARD, OWNER],))
                facts: dict[str, str] = dict(told.fetchall())
            except psycopg.Error as error:
                raise StoreError(f"{base.name} cannot be prepared ({first_line(error)})") from error
        assert found is not None and extension is not None
        if base.shard != HOME and facts != {SHARD: base.shard, OWNER: self.store_id}:
            raise StoreError(f"{base.name} is not the shard {base.shard!r} of this home: mend its URL with `mnemic shard add`")
        base.halves, base.facts = int(found[0]), facts
        self.engine = self.engine or {"postgresql": str(found[1]), "pgvector": str(extension[0])}

    def urls(self) -> dict[str, tuple[str, ...]]:
        """The servers beside the first, by name: the URL of each, and those of its replicas."""
        rows = self.of(0).rows(0, "SELECT name, url, replicas FROM shards ORDER BY name", keep=True)
        return {name: (url, *replicas.split()) for name, url, replicas in rows}

    def all(self) -> list[Database]:
        """Every server, the first of them first."""
        with self._guard:
            self._known = {HOME: self.home} | {name: self._opened(name, *urls) for name, urls in self.urls().items()}
            return list(self._known.values())

    def each(self, ask: Callable[[Database], T]) -> list[T]:
        """What every server says that can be reached. Raises StoreError where the first cannot."""
        found = list[T]()
        for base in self.all():
            try:
                found.append(ask(base))
            except StoreError:
                if base is self.home:
                    raise
        return found

    def _opened(self, name: str, url: str, *replicas: str) -> Database:
        known = self._known.get(name)
        if known is not None and (known.url, *(one.url for one in known.replicas)) == (url, *replicas):
            return known
        return Database(
            url, limit=self._limit, shard=name, prepare=self._prepare, replicas=replicas, positions=self.positions
        )  # fmt: skip

    def named(self, name: str) -> Database:
        """A server by its name. Raises BadInput where there is none of it."""
        if name not in self._known:
            self.all()
        if name not in self._known and self._view is not None:  # which may be older than that server
            self._learn(name)
        try:
            return self._known[name]
        except KeyError:
            raise BadInput(f"there is no shard {name!r}: there are {', '.join(self._known)}") from None

    def add(self, name: str, url: str, replicas: Sequence[str] = ()) -> None:
        """Take a server into the home with its replicas, or one by other URLs.

        Raises BadInput for a name or server that cannot be used.
        """
        if name == HOME or not NAME.fullmatch(name):
            raise BadInput(f"a shard cannot be called {name!r}: use up to 63 of a-z, 0-9, _ and -, and not {HOME!r}")
        if any(len(one.split()) != 1 for one in replicas):
            raise BadInput("a replica is named by a URL without spaces: write postgresql://USER@HOST/DATABASE")
        base = Database(url, limit=self._limit, shard=name, replicas=replicas)
        with base.connect() as db:
            if "password" in conninfo_to_dict(url) or any(one.password for one in base.replicas):
                raise BadInput("the URL of a shard stands in the database: leave its password to ~/.pgpass or PGPASSWORD")
            try:
                migrations.migrate(db, base.name, partitions=self._partitions)
                self._claim(db, base, name)
            except psycopg.Error as error:
                raise StoreError(f"{base.name} cannot be prepared ({first_line(error)})") from error
        with self.home.aside() as db:
            query = (
                "INSERT INTO shards(name, url, replicas) VALUES(%s,%s,%s)"
                " ON CONFLICT (name) DO UPDATE SET url=excluded.url, replicas=excluded.replicas"
            )
            db.execute(query, (name, url, " ".join(replicas)))
            db.execute(COUNTED)

    def _claim(self, db: psycopg.Connection[Any], base: Database, name: str) -> None:
        """Let a database know whose shard it is. Raises BadInput where it is something else already."""
        with db.transaction():
            db.execute(f"SET LOCAL search_path = {SCHEMA}, public")
            db.execute("SELECT pg_advisory_xact_lock(%s)", (migrations.LOCK,))
            facts: dict[str, str] = dict(db.execute("SELECT key, value FROM meta").fetchall())
            if facts.get("store_id"):
                raise BadInput(f"{base.name} is a home itself: name an empty database, or `mnemic copy` what it holds")
            if SHARD in facts and (facts[SHARD], facts[OWNER]) != (name, self.store_id):
                raise BadInput(f"{base.name} is the shard {facts[SHARD]!r} of this or another home: name an empty database")
            if SHARD not in facts and any(place == name for _, place in self.places()):
                raise BadInput(f"{base.name} has none of what is on the shard {name!r}: name the database that has")
            for key, value in ((SHARD, name), (OWNER, self.store_id)):
                db.execute("INSERT INTO meta VALUES(%s,%s) ON CONFLICT DO NOTHING", (key, value))

    def remove(self, name: str) -> None:
        """Let go of a server. Raises Conflict while a namespace is there."""
        base = self.named(name)
        if base is self.home:
            raise BadInput("the first server holds what belongs to the whole home: it stays")
        with self.home.aside() as db:
            held = db.execute("SELECT count(*), min(name) FROM namespaces WHERE moved=%s", (name,)).fetchone()
            if held and held[0]:
                raise Conflict(f"{held[0]} namespaces are on {name!r}, as {held[1]!r}: move them with `mnemic shard move` first")
            db.execute("DELETE FROM shards WHERE name=%s", (name,))
            db.execute(COUNTED)

    # where a namespace is

    def number(self, namespace: str) -> int:
        """The number of a namespace, 0 if there is none."""
        found = self.of(0).row(0, "SELECT id, moved FROM namespaces WHERE name=%s", (namespace,))
        if found is None:
            return 0
        number, moved = int(found[0]), found[1]
        if moved is not None:
            self._places.setdefault(number, moved)
        return number

    def places(self) -> list[tuple[str, str]]:
        """Every namespace with its server."""
        query = "SELECT name, coalesce(moved, %s) FROM namespaces ORDER BY name"
        return [(name, place) for name, place in self.of(0).rows(0, query, (HOME,))]

    def place(self, space: int) -> str:
        """Where the rows of a namespace were last found."""
        return self._places.get(space, HOME)

    def of(self, space: int) -> Database:
        """The server on which the rows of a namespace were last found, seen as of the view that this thread has open."""
        base = self._found(space) if space else self.home
        view = self._view
        if view is not None and base not in view.bases:
            view.stack.enter_context(base.snapshot(view.server))
            view.bases.append(base)
        return base

    def _found(self, space: int) -> Database:
        place = self.place(space)
        try:
            return self.named(place)
        except BadInput:  # let go of, after its namespaces had moved: the first server knows where to
            if not self._elsewhere(space):
                raise StoreError(
                    f"a namespace is on the shard {place!r}, which this home does not have: take it in with `mnemic shard add"
                    f" {place} URL`"
                ) from None
            return self._found(space)

    def asked(self, space: int, ask: Callable[[Database], T]) -> T:
        """What a server says of a namespace, wherever that is. Raises StoreError."""
        hops = self._hops()
        while True:
            try:
                return ask(self.of(space))
            except Moved as moved:
                next(hops)
                self.follow(moved)
            except StoreError:
                if not self._elsewhere(space):
                    raise
                next(hops)

    def _elsewhere(self, space: int) -> bool:
        """Whether a server that does not answer is not the one to ask: its rows went to another, or it has another URL."""
        place = self.place(space)
        known = self._known.get(place)
        if place == HOME or (known is not None and known.busy):  # what was read there would be of another state
            return False
        try:
            with self.home.aside() as db:
                found = db.execute("SELECT coalesce(moved, %s) FROM namespaces WHERE id=%s", (HOME, space)).fetchone()
        except MnemicError:
            return False
        if found is not None and found[0] != place:
            self._places[space] = found[0]
            return True
        self._learn(place)
        return self._known.get(place) is not known

    def _learn(self, name: str) -> None:
        """Look for a server whatever view is open."""
        with self.home.aside() as db:
            found = db.execute("SELECT url, replicas FROM shards WHERE name=%s", (name,)).fetchone()
        if found is not None:
            with self._guard:
                self._known[name] = self._opened(name, found[0], *found[1].split())

    def _hops(self) -> Iterator[None]:
        """One step for each time that a namespace is looked for elsewhere."""
        until = time.monotonic() + PATIENCE
        for hop in range(1_000_000):
            if time.monotonic() > until:
                raise StoreError(f"{self.home.name}: a namespace is found on no server: run `mnemic doctor`")
            if hop > len(self._known) + 1:
                time.sleep(PAUSE)
            yield

    def follow(self, moved: Moved) -> None:
        """Go where the rows of a namespace are, and complete a move that was cut short behind its commit."""
        self.arrive(moved.space, moved.to, moved.epoch)
        self._places[moved.space] = moved.to

    def arrive(self, space: int, to: str, epoch: int) -> None:
        """The rows of a namespace are there, since they moved for the `epoch`th time: let that server know, and the first.

        Neither changes where it knows of as many moves or more, so that an old hint does no harm.
        """
        query = "UPDATE namespaces SET moved=%s, epoch=%s WHERE id=%s AND epoch<%s"
        with self.named(to).aside() as db:
            db.execute(query, (None, epoch, space, epoch))
        if to != HOME:
            with self.home.aside() as db:
                db.execute(query, (to, epoch, space, epoch))

    # views and writes

    @property
    def _view(self) -> View | None:
        found: View | None = getattr(self._local, "view", None)
        return found if found is not None and found.process == os.getpid() else None

    def answered(self, question: Callable[[], T]) -> T:
        """What several reads tell that see one state of each server, a replica's where one is near enough."""
        try:
            with self.view("replica"):
                return question()
        except Left:
            if self._view is not None:
                raise
        with self.view("fallback"):
            return question()

    @contextmanager
    def view(self, server: str = "primary") -> Iterator[None]:
        """Several reads that see one state of each server; nothing is asked of any before the first of them."""
        if self._view is not None:
            yield
            return
        with ExitStack() as stack:
            self._local.view = View(stack, server)
            try:
                yield
            finally:
                self._local.view = None

    @contextmanager
    def transaction(self, namespace: str, space: int) -> Iterator[Write]:
        """A write to a namespace, on the server that has it; one that is not there yet is put where the fewest are."""
        if self._view is not None:
            raise StoreError("a write cannot begin within a read or a write of the same thread")
        if not space and self.urls():
            space = self._placed(namespace)
        hops = self._hops()
        with ExitStack() as stack:
            while True:
                try:
                    write = stack.enter_context(self.of(space).transaction(namespace, space))
                    break
                except Moved as moved:
                    next(hops)
                    self.follow(moved)
                except (StoreError, Interrupted):
                    if not self._elsewhere(space):
                        raise
                    next(hops)
            yield write

    def _placed(self, namespace: str) -> int:
        """Number a new namespace, and say on which server it is to be."""
        with translated(self.home.name), self.home.aside() as db:
            query = (
                "SELECT s.name FROM (SELECT %s AS name UNION ALL SELECT name FROM shards) s LEFT JOIN namespaces n"
                " ON coalesce(n.moved, %s)=s.name GROUP BY s.name ORDER BY count(n.id), s.name=%s, s.name LIMIT 1"
            )
            chosen = db.execute(query, (HOME, HOME, HOME)).fetchone()
            assert chosen is not None
            place = None if chosen[0] == HOME else chosen[0]
            db.execute("INSERT INTO namespaces(name, moved) VALUES(%s,%s) ON CONFLICT DO NOTHING", (namespace, place))
        return self.number(namespace)

    def reads(self) -> dict[str, int]:
        """How many reads of this process went where."""
        found: Counter[str] = Counter()
        for base in list(self._known.values()):
            found.update(base.reads)
        return dict(found)

    def close(self) -> None:
        """Close the connections of this process."""
        for base in list(self._known.values()):
            base.close()
