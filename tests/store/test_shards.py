"""A home of several servers: which namespace is on which, and that a move loses nothing and changes no answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import BadInput, Conflict, NotFound, StoreError
from mnemic.store import VectorRow
from mnemic.store.schema import TRUTH
from tests.homes import Home
from tests.servers import Server

psycopg = pytest.importorskip("psycopg")

from mnemic.store.postgres import migrations, open_postgres  # noqa: E402
from mnemic.store.postgres.connection import Database  # noqa: E402
from mnemic.store.postgres.moving import Moving  # noqa: E402


class Killed(BaseException):
    """The process ended."""


@pytest.fixture
def urls(server: Server) -> dict[str, str]:
    return {name: server.fresh(name) for name in ("home", "one", "two")}


@pytest.fixture
def place(urls: dict[str, str]) -> str:
    """The home's first server, which knows of two more."""
    store = open_postgres(urls["home"])
    store.servers.add("one", urls["one"])
    store.servers.add("two", urls["two"])
    store.close()
    return urls["home"]


def move(home: Home, ns: str, to: str, **more: Any) -> dict[str, Any]:
    return Moving(home.store.servers, ns, to, **more).run()


def held(url: str, space: int) -> dict[str, int]:
    """How many rows of a namespace the tables of a server have."""
    with psycopg.connect(url, autocommit=True, options="-c search_path=mnemic,public") as db:
        query = "SELECT count(*) FROM {} WHERE ns=%s"
        counts = {name: db.execute(query.format(name), (space,)).fetchone()[0] for name in migrations.TABLES}
    return {name: count for name, count in counts.items() if count}


def switch_off(home: Home, name: str) -> None:
    """The server that a process knows by a name does not answer."""
    known = home.store.servers._known
    known[name].close()
    known[name] = Database("postgresql://nobody@127.0.0.1:1/gone", prepare=lambda base: base.connect().close(), shard=name)


def told(store: Any, ns: str) -> dict[str, object]:
    """All that a store says of a namespace."""
    documents = store.documents(ns)
    ids = [node.id for one in documents for node in store.nodes(ns, one.id, one.shelf)]
    said: dict[str, object] = {name: list(store.rows(ns, name)) for name in TRUTH}
    return said | {
        "events": store.events(ns), "found": sorted(store.found(ns, ids), key=lambda one: one.id), "lexicon": store.lexicon(ns),
        "texts": [store.document_texts(ns, one.id) for one in documents],
        "postings": store.postings(ns, ["walrus"])["walrus"].tolist(),
        "vectors": store.vectors(ns, 1, ids), "queue": store.queue(ns), "operations": store.operations(ns),
        "files": store.vault_files(ns), "erased": store.erased(ns),
    }  # fmt: skip


def lived(home: Home, ns: str) -> None:
    """Something in every corner of a namespace."""
    first = home.remember("A walrus sleeps on the ice.", ns, title="Walrus")
    home.capture(("user", "Where does the walrus sleep?"), ("assistant", "On the ice."), ns=ns)
    gone = home.remember("A seal that is to be forgotten.", ns, title="Seal")
    home.forgetting.erase(ns, gone.path or "", reason="")
    home.forgetting.forget(ns, first.path or "", reason="")
    node = home.store.nodes(ns, home.store.document(ns, first.path).id)[0].id
    embedder = home.store.embedder("e", 4).id
    with home.store.write(ns) as tx:
        tx.put_vectors(embedder, [VectorRow(node, b"d", bytes(8))])
        tx.put_coder(embedder, 1, b"mean")


def test_new_namespaces_go_where_the_fewest_are_and_their_rows_are_nowhere_else(home: Home, urls: dict[str, str]) -> None:
    for ns in ("a", "b", "c", "d", "e"):
        home.remember("walrus", ns)
    assert home.store.servers.places() == [("a", "one"), ("b", "two"), ("c", "home"), ("d", "one"), ("e", "two")]
    for ns, at in home.store.servers.places():
        assert [name for name, url in urls.items() if held(url, home.store.space(ns))] == [at]
        assert home.search("walrus", ns) and home.sane(ns)
    assert home.store.namespaces() == ["a", "b", "c", "d", "e"]
    assert [ns for ns, _ in home.store.queue(None)] == ["a", "b", "c", "d", "e"] or len(home.store.queue(None)) == 5


def test_a_move_changes_no_answer_and_leaves_nothing_behind(home: Home, urls: dict[str, str]) -> None:
    lived(home, "a")
    lived(home, "b")
    other, before = open_postgres(home.url), {ns: told(home.store, ns) for ns in "ab"}
    assert told(other, "a") == before["a"]
    space = home.store.space("a")
    for target in ("home", "two", "one", "home"):
        done = move(home, "a", target)
        assert done["to"] == target and done["rows"] > 20
        assert [name for name, url in urls.items() if held(url, space)] == [target]
        fresh = open_postgres(home.url)
        for store in (home.store, other, fresh):
            assert {ns: told(store, ns) for ns in "ab"} == before
        fresh.close()
        assert home.sane("a")
    other.close()


def test_who_knew_a_namespace_before_its_move_reads_and_writes_it_where_it_is(home: Home) -> None:
    home.remember("walrus", "a")
    others = [Home(home.folder, url=home.url) for _ in range(2)]
    for one in others:
        one.search("walrus", "a")
    move(home, "a", "two")
    others[0].remember("seal", "a")
    assert others[1].search("seal", "a") and home.search("seal", "a")
    move(home, "a", "one")
    move(home, "a", "home")
    others[1].remember("otter", "a")
    with others[0].store.reading():
        assert others[0].search("otter", "a") and others[0].search("walrus", "a")
    assert home.sane("a")
    assert [event.seq for event in home.store.events("a")] == [1, 2, 3]
    for one in others:
        one.store.close()


def test_a_view_that_began_before_a_move_sees_what_it_saw(home: Home) -> None:
    home.remember("walrus", "a")
    with home.store.reading():
        before = home.search("walrus", "a")
        with ThreadPoolExecutor(1) as beside:
            beside.submit(move, home, "a", "two").result()
        assert home.search("walrus", "a") == before != []
    assert home.search("walrus", "a") == before


def test_while_a_namespace_moves_to_and_fro_every_write_to_it_is_kept_once(home: Home) -> None:
    home.remember("walrus", "a")
    ended = threading.Event()

    def writing(number: int) -> list[str]:
        own, kept = Home(home.folder, url=home.url), list[str]()
        while not ended.is_set():
            text = f"seal {number} of {len(kept)}"
            receipt = own.remember(text, "a", op_id=text)
            kept.append(text)
            if len(kept) % 3 == 0:
                own.forgetting.erase("a", receipt.path or "", reason="")
                kept[-1] = ""
            assert own.search(f"{number}", "a")
        own.store.close()
        return kept

    with ThreadPoolExecutor(2) as beside:
        done = [beside.submit(writing, number) for number in range(2)]
        try:
            for target in ("two", "home", "one", "two", "home", "one"):
                move(home, "a", target)
        finally:
            ended.set()
        kept = [text for one in done for text in one.result() if text]
    bodies = [body for one in home.store.documents("a") for body in home.store.document_texts("a", one.id).values()]
    assert sorted(bodies) == sorted([*kept, "walrus"])
    assert home.sane("a")


def test_a_move_that_is_cut_short_anywhere_is_done_or_not_and_can_be_repeated(
    home: Home, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lived(home, "a")
    before, space = told(home.store, "a"), home.store.space("a")
    targets, left, execute = ("home", "two", "one"), [0], psycopg.Connection.execute

    def cut(*given: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return execute(*given, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", cut)
    at, cuts, ended = 1, 0, False
    while not ended:
        target, mover = targets[cuts % 3], Home(home.folder, url=home.url)
        left[0] = at
        try:
            move(mover, "a", target)
            ended = True
        except Killed:
            cuts += 1
        left[0] = 0
        mover.store.close()
        other = Home(home.folder, url=home.url)
        assert told(other.store, "a") == before
        with other.store.write("a"):
            pass
        if cuts % 4 == 0:
            move(other, "a", target)
            assert [name for name, url in urls.items() if held(url, space)] == [target]
            assert told(other.store, "a") == before
        other.store.close()
        at += 1 + at // 5
    assert cuts > 12


def test_what_cannot_be_is_refused_and_said(home: Home, urls: dict[str, str], server: Server) -> None:
    servers = home.store.servers
    home.remember("walrus", "a")
    for name, url, why in (
        ("home", urls["one"], "cannot be called"), ("Two!", urls["one"], "cannot be called"),
        ("three", urls["home"], "is a home itself"), ("three", urls["one"], "is the shard 'one' of this"),
        ("three", urls["one"].replace("//postgres@", "//postgres:geheim@"), "leave its password"),
        ("one", server.fresh("four"), "has none of what is on"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=why):
            servers.add(name, url)
    with pytest.raises(BadInput, match="without spaces"):
        servers.add("one", urls["one"], ["host=/tmp dbname=follower"])
    with pytest.raises(BadInput, match="there is no shard 'nowhere': there are home, one, two"):
        move(home, "a", "nowhere")
    with pytest.raises(NotFound, match="no namespace 'nobody'"):
        move(home, "nobody", "two")
    with pytest.raises(Conflict, match="1 namespaces are on 'one'"):
        servers.remove("one")
    with pytest.raises(BadInput, match="is the shard 'one' of another home"):
        open_postgres(urls["one"])
    servers.remove("two")
    assert list(servers.urls()) == ["one"]


def test_of_what_is_erased_after_a_move_nothing_is_left(home: Home, urls: dict[str, str]) -> None:
    lived(home, "a")
    space = home.store.space("a")
    for target in ("home", "two"):
        move(home, "a", target)
        home.remember("An otter.", "a", title=target)
        node = home.store.nodes("a", home.store.documents("a")[-1].id)[0].id
        if target == "home":
            with home.store.write("a") as tx:
                tx.put_vectors(home.store.embedder("e", 4).id, [VectorRow(node, b"d", bytes(8))])
    for one in home.store.documents("a"):
        home.forgetting.erase("a", one.path, reason="")
    assert {"vectors", "nodes", "texts", "fulltext"}.isdisjoint(held(urls["two"], space))


def test_a_process_that_knew_a_namespace_on_a_server_that_is_gone_finds_it(home: Home, urls: dict[str, str]) -> None:
    home.remember("walrus", "a")
    others = [Home(home.folder, url=home.url) for _ in range(4)]
    for one in others:
        assert one.search("walrus", "a")
    with others[3].store.reading():
        assert others[3].search("walrus", "a")
        move(Home(home.folder, url=home.url), "a", "home")
        home.store.servers.remove("one")
        assert others[3].search("walrus", "a")
    others[0].store.servers.all()  # has been told that there is no such server
    for one in others[1:3]:  # nobody told them, and it was switched off
        switch_off(one, "one")
    assert others[0].search("walrus", "a") and others[1].search("walrus", "a")
    others[2].remember("seal", "a")
    assert others[0].search("seal", "a") and home.sane("a")
    for one in others:
        one.store.close()


def test_a_store_that_is_closed_while_another_thread_reads_or_writes_ends_both_quietly(home: Home) -> None:
    home.remember("walrus", "a")
    for going in (home.store.reading(), home.store.write("a")):
        with going:
            assert home.store.documents("a")
            with ThreadPoolExecutor(1) as beside:
                beside.submit(home.store.close).result()


def test_a_server_that_got_another_url_is_found_there(home: Home, urls: dict[str, str]) -> None:
    home.remember("walrus", "a")
    other = Home(home.folder, url=home.url)
    assert other.search("walrus", "a")
    switch_off(other, "one")
    assert other.search("walrus", "a") and other.store.servers.named("one").url == urls["one"]
    other.store.close()


def test_a_write_that_reads_another_namespace_finds_it_where_it_went(home: Home) -> None:
    home.remember("walrus", "a")
    home.remember("seal", "b")
    for ns in "ab":
        move(home, ns, "home")
    other = Home(home.folder, url=home.url)
    assert other.search("seal", "b")
    move(home, "b", "two")
    with other.store.write("a"):
        assert [one.path for one in other.store.documents("b")] == [one.path for one in home.store.documents("b")] != []
        assert other.store.documents("a")
    other.store.close()


def test_a_password_of_the_environment_is_no_part_of_a_shards_url(
    home: Home, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "geheim")
    home.store.servers.add("three", server.fresh("four"))
    assert "geheim" not in " ".join(home.store.servers.urls()["three"])


def test_a_move_that_lost_its_lock_to_another_harms_nothing(home: Home) -> None:
    lived(home, "a")
    before = told(home.store, "a")
    for at in range(0, len(migrations.TABLES), 5):
        source = dict(home.store.servers.places())["a"]
        target = next(name for name in ("two", "home", "one") if name != source)

        def overtaken(what: str, done: int, whole: int, at: int = at, target: str = target) -> None:
            if done == at:
                with psycopg.connect(home.url, autocommit=True) as db:
                    db.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype='advisory' AND classid::bigint=%s"
                        " AND database=(SELECT oid FROM pg_database WHERE datname=current_database())",
                        (migrations.LOCK + 1,),
                    )
                other = Home(home.folder, url=home.url)
                with ThreadPoolExecutor(1) as beside:
                    beside.submit(move, other, "a", target).result()
                other.store.close()

        with pytest.raises(Conflict, match="moved by another process meanwhile|connection broke"):
            move(home, "a", target, progress=overtaken)
        assert told(home.store, "a") == before and dict(home.store.servers.places())["a"] == target
        assert home.sane("a")


def test_a_server_that_is_down_stops_nothing_that_looks_at_all(home: Home) -> None:
    home.remember("walrus", "a")
    home.remember("seal", "b")
    with psycopg.connect(home.url, autocommit=True) as db:
        db.execute("UPDATE mnemic.shards SET url='postgresql://nobody@127.0.0.1:1/gone?connect_timeout=1' WHERE name='one'")
    other = Home(home.folder, url=home.url)
    assert [ns for ns, _ in other.store.queue(None)] == ["b"]
    assert "127.0.0.1:1/gone cannot be reached" in (other.store.settle_erasure() or "")
    assert other.store.sizes()["nodes"] > 0 and other.store.lags() == [] and other.store.jobs() is None
    assert ["the shard 'one' does not answer" in one for one in other.store.check()] == [True]
    other.store.close()


def test_a_server_that_is_down_takes_only_its_own_namespaces_with_it(home: Home, urls: dict[str, str]) -> None:
    home.remember("walrus", "a")
    home.remember("seal", "b")
    assert home.store.servers.places() == [("a", "one"), ("b", "two")]
    with psycopg.connect(home.url, autocommit=True) as db:
        db.execute("UPDATE mnemic.shards SET url='postgresql://nobody@127.0.0.1:1/gone?connect_timeout=1' WHERE name='one'")
    other = Home(home.folder, url=home.url)
    assert other.search("seal", "b")
    with pytest.raises(StoreError, match="cannot be reached"):
        other.search("walrus", "a")
    other.store.close()


def test_a_backup_of_several_servers_comes_back_on_one(home: Home, server: Server, tmp_path: Path) -> None:
    for ns in "abc":
        lived(home, ns)
    before = {ns: told(home.store, ns) for ns in "abc"}
    home.store.backup(tmp_path / "backup.zip")
    there = open_postgres(server.fresh("four"))
    there.restore(tmp_path / "backup.zip")
    there.close()
    there = open_postgres(server.url("four"))
    assert {ns: told(there, ns) for ns in "abc"} == before
    there.close()
    with pytest.raises(BadInput, match="a home with shards is not replaced"):
        home.store.restore(tmp_path / "backup.zip")


@pytest.fixture
def home(tmp_path: Path, place: str) -> Iterator[Home]:
    made = Home(tmp_path, url=place)
    yield made
    made.store.close()
