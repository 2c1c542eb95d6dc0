"""A server that breaks off: nothing acknowledged is lost, nothing is there twice, and the ledger has no gaps."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.embed.base import Kind, Vectors
from mnemic.embed.hashing import HashingEmbedder
from mnemic.errors import Interrupted, StoreError
from mnemic.models.document import Turn
from tests.homes import Home
from tests.servers import Cutter, Server, serving

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def cutter(server: Server) -> Iterator[Cutter]:
    made = Cutter(server)
    yield made
    made.close()


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
    home = Home(tmp_path, url=cutter.through(url))
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


@pytest.mark.parametrize("taken", [True, False])
def test_a_server_that_crashes_at_commit_and_gives_its_number_away_has_not_kept_the_write(tmp_path: Path, taken: bool) -> None:
    with serving({"synchronous_commit": "on", "wal_writer_delay": "10s"}) as server:  # so that only a commit writes anything down
        url, cutter, numbers = server.fresh(), Cutter(server), list[str]()
        home, other = Home(tmp_path / "one", url=cutter.through(url)), Home(tmp_path / "two", url=url)
        home.remember("seal")
        other.remember("otter", "elsewhere")

        def crash() -> None:
            with psycopg.connect(url, autocommit=True) as admin:
                numbers.append(str(admin.execute("SELECT max(backend_xid::text) FROM pg_stat_activity").fetchone()))
            server.stop("immediate")
            server.start()
            if taken:
                other.remember("orca", "elsewhere")
                query = "SELECT max(xmin::text) FROM mnemic.namespaces WHERE name='elsewhere'"
                with psycopg.connect(url, autocommit=True) as admin:
                    numbers.append(str(admin.execute(query).fetchone()))

        cutter.meanwhile, cutter.armed = crash, "before"
        assert home.remember("walrus").status == "stored"
        assert len(set(numbers)) == 1, "the other write got the very number"
        kept(home, ["seal", "walrus"])
        cutter.armed = "before"
        with pytest.raises(Interrupted), home.store.write("default") as tx:
            tx.add_text(999, 1, "what is derived is done again")
        assert home.store.text("default", 999) is None
        for one in (home, other):
            one.store.close()
        cutter.close()


class Severing(HashingEmbedder):
    """Every connection is ended while the indexing that asked for vectors writes them."""

    def __init__(self, cutter: Cutter) -> None:
        super().__init__(64)
        self.cutter = cutter

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        self.cutter.armed, self.cutter.again = "before", True
        return super().embed(texts, kind)


def test_what_was_acknowledged_stays_so_when_the_server_breaks_off_all_that_follows(
    server: Server, cutter: Cutter, tmp_path: Path
) -> None:
    url, environ = server.fresh(), {"MNEMIC_CONFIG": str(tmp_path), "MNEMIC_FILES": str(tmp_path / "files")}
    with Memory.open(cutter.through(url), environ=environ, embedder=Severing(cutter)) as memory:
        noted = memory.remember("walrus", op_id="one")
        assert (noted.status, noted.path) == ("queued", "/notes/walrus")
        assert "nothing was stored" in str(noted.reason)
        cutter.calm()
        said = memory.capture([Turn("user", "seal"), Turn("assistant", "otter")], session="s")
        assert [one.status for one in said.receipts] == ["queued"]
        cutter.calm()
        assert memory.remember("walrus", op_id="one").status == "duplicate"
        cutter.calm()
        assert memory.undo(2)["undone"] == 2
        assert [one["op"] for one in memory.ledger()] == ["undo", "capture", "remember"]
