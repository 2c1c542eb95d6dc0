"""A server that breaks off: nothing acknowledged is lost, nothing is there twice, and the ledger has no gaps."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mnemic.errors import Interrupted, StoreError
from tests.homes import Home
from tests.servers import Server, serving

psycopg = pytest.importorskip("psycopg")


class Cutter:
    """Between the store and the server: cuts a connection when a write's COMMIT comes, before the server has it or after."""

    def __init__(self, server: Server) -> None:
        self.target = f"{server.folder}/.s.PGSQL.5432"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.armed: str | None = None
        self.cut = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            there = socket.socket(socket.AF_UNIX)
            there.connect(self.target)
            mute = threading.Event()
            threading.Thread(target=self._forth, args=(client, there, mute), daemon=True).start()
            threading.Thread(target=self._back, args=(there, client, mute), daemon=True).start()

    def _forth(self, client: socket.socket, there: socket.socket, mute: threading.Event) -> None:
        with client, suppress(OSError):
            writing = False
            while data := client.recv(1 << 16):
                writing = writing or b"UPDATE namespaces SET version" in data
                ends = writing and b"COMMIT\0" in data
                writing = writing and not ends
                if self.armed and ends:
                    how, self.armed, self.cut = self.armed, None, self.cut + 1
                    if how == "before":
                        break
                    mute.set()
                there.sendall(data)
            _end(client, there)

    def _back(self, there: socket.socket, client: socket.socket, mute: threading.Event) -> None:
        with there, suppress(OSError):
            while data := there.recv(1 << 16):
                if mute.is_set():  # the server has done it, and nobody is told
                    break
                client.sendall(data)
            _end(client, there)


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def cutter(server: Server) -> Iterator[Cutter]:
    made = Cutter(server)
    yield made
    made.listener.close()


def kept(home: Home, acknowledged: list[str], ns: str = "default") -> None:
    """All that was acknowledged is there once, whatever else is, and the ledger is whole."""
    documents = home.store.documents(ns, limit=10_000)
    texts = [home.store.text(ns, one.text_id) for one in documents]
    assert set(acknowledged) <= set(texts)
    assert len(texts) == len(set(texts))
    assert [event.seq for event in home.store.events(ns, limit=10_000)] == list(range(1, len(documents) + 1))
    assert home.sane(ns)


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_commit_whose_answer_was_lost_is_asked_for(server: Server, cutter: Cutter, tmp_path: Path, how: str) -> None:
    url = server.fresh()
    home = Home(tmp_path, url=url.partition("@")[0] + f"@127.0.0.1:{cutter.port}/home")
    stored = [f"walrus number {number}" for number in range(25)]
    for number, text in enumerate(stored):
        cutter.armed = how if number % 2 else None
        assert home.remember(text).status == "stored"
    assert cutter.cut == 12
    kept(home, stored)
    assert len(home.store.documents("default")) == 25
    cutter.armed = "before"
    with pytest.raises(Interrupted, match="broke at the end, nothing was stored"), home.store.write("default") as tx:
        tx.add_text(999, 1, "half")
    assert home.store.text("default", 999) is None
    home.store.close()


@pytest.mark.parametrize("engine", ["postgres"])
def test_a_connection_that_is_ended_in_the_middle_leaves_nothing(home: Home, engine: str) -> None:
    home.remember("seal")
    with psycopg.connect(home.url, autocommit=True) as admin:
        with pytest.raises(Interrupted, match="nothing was stored"), home.store.write("default") as tx:
            tx.allocate("texts")
            tx.add_text(9, 9, "half")
            admin.execute("SELECT pg_terminate_backend(%s)", (tx._write.pid,))
            tx.add_text(10, 9, "other half")
        assert home.store.text("default", 9) is None
        home.remember("walrus")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid<>pg_backend_pid() AND datname='home'")
        assert home.search("walrus") == ["/notes/walrus"], "a pool of dead connections is replaced in silence"
    kept(home, ["seal", "walrus"])


@pytest.mark.parametrize("engine", ["postgres"])
def test_writers_whose_connections_are_ended_lose_nothing(home: Home, engine: str) -> None:
    stored: list[str] = []
    stop = threading.Event()

    def end() -> None:
        with psycopg.connect(home.url, autocommit=True) as admin:
            while not stop.wait(0.05):
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='home' AND pid<>pg_backend_pid()"
                    " AND state<>'idle' ORDER BY random() LIMIT 1"
                )

    def write(name: str) -> None:
        for number in range(12):
            text = f"{name} {number}"
            for _ in range(50):
                try:
                    assert home.remember(text).status in ("stored", "duplicate")
                    stored.append(text)
                    break
                except (Interrupted, StoreError):
                    continue

    ender = threading.Thread(target=end)
    writers = [threading.Thread(target=write, args=(name,)) for name in ("walrus", "seal", "otter")]
    for thread in (ender, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    ender.join()
    assert len(stored) == 36
    kept(home, stored)


def test_a_server_that_restarts_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    with serving({"synchronous_commit": "on"}) as server:
        home = Home(tmp_path, url=server.fresh())
        stored = [f"walrus {number}" for number in range(8)]
        for text in stored:
            home.remember(text)
        server.stop("immediate")
        server.start()
        assert home.search("walrus") != []
        home.remember("seal")
        kept(home, [*stored, "seal"])
        home.store.close()
