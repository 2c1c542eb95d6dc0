"""What the PostgreSQL store owes beside the contract: guarded rows, migrations, and a schema that says the same."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemic.errors import BadInput, MnemicError, NewerSchema, StoreError
from mnemic.store import CodeBlock, VectorRow
from mnemic.store.schema import SEQUENCES, TRUTH
from tests.homes import Home
from tests.servers import Server

psycopg = pytest.importorskip("psycopg")

from mnemic.store.postgres import migrations, open_postgres  # noqa: E402

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def place(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of its own for a test that changes the tables."""
    own = "db" in request.fixturenames
    yield server.fresh("changed" if own else "home")
    if own:
        server.drop("changed")


@pytest.fixture
def db(home: Home) -> Iterator[Any]:
    """A connection with all power, as an administrator has it."""
    with psycopg.connect(home.url, autocommit=True, options="-c search_path=mnemic,public") as made:
        yield made


def test_the_guards_bind_the_owner_of_the_tables_too(server: Server, tmp_path: Path) -> None:
    server.execute("CREATE ROLE plain LOGIN")
    home = Home(tmp_path, url=server.fresh("plain", "plain"))
    home.remember("walrus", "one", title="W")
    home.remember("seal", "two", title="S")
    assert home.store.base.role is None or home.store.base.role == "mnemic_rows"
    one = home.store.space("one")
    assert home.store.base.rows(one, "SELECT body FROM texts") == [("walrus",)]
    assert home.store.base.rows(0, "SELECT body FROM texts") == []
    assert home.sane("one") and home.sane("two")
    home.store.close()


def test_the_pool_hands_no_namespace_to_the_next(home: Home) -> None:
    home.remember("walrus", "one")
    for _ in range(3):
        home.store.documents("one")
        with home.store.base.snapshot():
            assert home.store.base.rows(0, "SELECT count(*) FROM documents") == [(0,)]
        found = home.store.base.rows(0, "SELECT current_setting('mnemic.ns', true), current_user")
        assert found == [("0", "mnemic_rows")]


def test_the_parts_of_a_table_are_not_for_the_role_that_asks(home: Home) -> None:
    home.remember("walrus")
    with pytest.raises(StoreError, match="permission denied for table texts_0"):
        home.store.base.rows(home.store.space("default"), "SELECT * FROM texts_0")


def test_both_engines_declare_the_same_rows_of_truth(home: Home, db: Any, tmp_path: Path) -> None:
    home_there = Home(tmp_path / "file")
    there: apsw.Connection = home_there.store.hot.connection()
    kinds = {"INTEGER": "bigint", "TEXT": "text", "REAL": "double precision", "BLOB": "bytea"}
    for name, table in TRUTH.items():
        query = (
            "SELECT attname, format_type(atttypid, NULL), attnotnull FROM pg_attribute"
            " WHERE attrelid=%s::regclass AND attnum>0 AND NOT attisdropped"
        )
        here = {column: (kind, full) for column, kind, full in db.execute(query, (name,)).fetchall()}
        info = there.execute(f"SELECT name, type, \"notnull\" OR pk FROM pragma_table_info('{name}')").fetchall()
        assert here == {column: (kinds[str(kind)], bool(full)) for column, kind, full in info}, name
        assert set(here) == {"ns", *table.columns}
    assert home_there.store.counts("x").keys() == home.store.counts("x").keys()
    home_there.store.close()


def test_every_kind_of_identifier_that_is_asked_for_is_known() -> None:
    asked = set()
    for file in SOURCE.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "allocate" and call.args:
                asked |= {call.args[0].value} if isinstance(call.args[0], ast.Constant) else set()
    assert asked - {"moves"} <= set(SEQUENCES)
    assert len(asked) > 8


def test_a_newer_schema_is_refused_by_name(home: Home, db: Any) -> None:
    db.execute("UPDATE meta SET value='99' WHERE key='schema'")
    with pytest.raises(NewerSchema, match=rf"changed' has schema 99, this mnemic knows {migrations.VERSION}"):
        open_postgres(home.url)


def test_a_failed_migration_leaves_the_version_before(home: Home, db: Any) -> None:
    def broken(there: Any, _: int) -> None:
        there.execute("CREATE TABLE half(a int)")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        migrations.migrate(db, "x", steps=[*migrations.STEPS, broken])
    assert migrations.version(db) == migrations.VERSION
    assert db.execute("SELECT to_regclass('half')").fetchone() == (None,)


def test_many_processes_may_make_a_home_at_once(server: Server, tmp_path: Path) -> None:
    server.execute("CREATE DATABASE fresh")
    code = "import sys; from mnemic.store.postgres import open_postgres as o; s = o(sys.argv[1]); print(s.store_id); s.close()"
    paths = os.pathsep.join(path for path in sys.path if path)
    made = [
        subprocess.Popen([sys.executable, "-c", code, server.url("fresh")], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "PYTHONPATH": paths})
        for _ in range(3)
    ]  # fmt: skip
    answers = {process.communicate(timeout=60)[0] for process in made}
    assert len(answers) == 1 and [process.returncode for process in made] == [0] * 3


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(StoreError, match=r"postgresql://me@localhost:1/x cannot be reached") as told:
        open_postgres("postgresql://me:secret@localhost:1/x?connect_timeout=2")
    assert "secret" not in str(told.value)
    with pytest.raises(BadInput, match="the URL of postgresql://me@h/x cannot be read") as refused:
        open_postgres("postgresql://me:secret@h/x?nonsense=1")
    assert "secret" not in str(refused.value)


def test_a_child_after_a_fork_has_connections_of_its_own(home: Home) -> None:
    home.remember("walrus", title="W")
    child = os.fork()
    if child == 0:
        os._exit(0 if home.search("walrus") == ["/notes/w"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert home.search("walrus") == ["/notes/w"]


def test_words_that_were_lost_are_told_and_made_anew(home: Home) -> None:
    home.remember("walrus", title="W")
    home.tamper("DELETE FROM fulltext")
    assert home.store.check() == ["the full text of namespace 'default' is not whole: run `mnemic reindex`"]
    home.store.rebuild_fulltext()
    assert home.sane()


def test_a_table_whose_guard_was_taken_off_is_told(home: Home, db: Any) -> None:
    db.execute("ALTER TABLE diary NO FORCE ROW LEVEL SECURITY")
    assert home.store.check() == [
        "the rows of diary are not guarded: let its owner run ALTER TABLE diary FORCE ROW LEVEL SECURITY"
    ]


def test_nothing_is_left_of_what_was_erased(home: Home) -> None:
    home.remember("walrus xylophone", title="W")
    home.remember("seal", title="S")
    home.forgetting.erase("default", "/notes/w", reason="")
    why = home.store.settle_erasure()
    assert home.holds("xylophon") == []
    assert why == "the server's write-ahead log, its replicas and its own backups keep the erased bytes until they are recycled"
    assert home.sane()


def test_what_a_child_reads_within_its_first_write_is_what_it_wrote(home: Home) -> None:
    with home.store.reading():
        assert home.store.namespaces() == []
        child = os.fork()
        if not child:
            try:
                with home.store.write("fresh") as tx:
                    tx.enqueue(1, 0)
                    seen = home.store.waiting("fresh")
                os._exit(0 if seen == 1 else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert home.store.namespaces() == []
    assert home.store.namespaces() == ["fresh"]


def known(store: Any) -> list[object]:
    """All that a store keeps of a namespace once it was read, and of the home."""
    at, hot = 1_773_144_000_000, store.embedder("e", 4).id
    return [
        store.lexicon("default"), store.lexicon("default", "hot"), store.forgotten("default"), store.head("default"),
        store.waiting("default"), store.has_unused("default", at), store.vectors_last("default", hot),
        store.vectors_after("default", hot, 0, 10), store.vector_count("default", hot), store.coder("default", hot),
        store.codes_last("default", hot), store.meta("note"),
    ]  # fmt: skip


def test_what_was_read_before_is_true_after_every_write_of_another_process(home: Home) -> None:
    other, hot = open_postgres(home.url), home.store.embedder("e", 4).id
    known(other)
    path = home.remember("walrus", title="W").path or ""
    node = home.store.nodes("default", 1)[0].id

    def write(act: Any) -> None:
        with home.store.write("default") as tx:
            act(tx)

    seen = []
    for act in (
        lambda: home.remember("seal"),
        lambda: home.forgetting.forget("default", path, reason=""),
        lambda: write(lambda tx: tx.put_vectors(hot, [VectorRow(node, b"d", bytes(8))])),
        lambda: write(lambda tx: tx.put_coder(hot, 1, b"mean")),
        lambda: write(lambda tx: tx.put_codes(hot, [CodeBlock(7, 9, b"", b"")])),
        lambda: write(lambda tx: tx.settle(1, None, 0)),
        lambda: home.store.set_meta("note", "one"),
        lambda: home.store.set_meta("note", "two"),
        lambda: home.forgetting.erase("default", path, reason=""),
    ):
        act()
        fresh = open_postgres(home.url)
        assert known(other) == known(fresh)
        fresh.close()
        seen.append(known(other))
    assert all(before != after for before, after in pairwise(seen))
    other.close()


def test_a_view_from_before_a_write_is_not_shown_what_was_read_after_it(home: Home) -> None:
    home.remember("walrus")
    before = home.store.lexicon("default")

    def written() -> tuple[int, int, int]:
        home.remember("seal")
        found: tuple[int, int, int] = home.store.lexicon("default")
        return found

    with home.store.reading(), ThreadPoolExecutor(1) as beside:
        home.store.documents("default")
        after = beside.submit(written).result()
        assert home.store.lexicon("default") == before != after
    assert home.store.lexicon("default") == after


def test_what_was_read_before_a_restore_is_not_held_for_true_behind_it(home: Home, tmp_path: Path) -> None:
    home.remember("walrus")
    home.store.set_meta("note", "one")
    home.store.backup(tmp_path / "backup.zip")
    home.remember("seal")
    home.store.set_meta("note", "two")
    other = open_postgres(home.url)
    assert other.lexicon("default")[0] == 2
    home.store.restore(tmp_path / "backup.zip")
    assert other.lexicon("default")[0] == 1
    assert other.meta("note") == "one"
    other.close()


def test_a_write_that_failed_on_its_way_leaves_the_connection_to_no_other(home: Home) -> None:
    home.remember("walrus")
    for number in range(12):
        with pytest.raises(MnemicError), home.store.write("default") as tx:
            tx.add_text(1, 1, "a number that is taken")
            tx.enqueue(1, number)
            tx.put_edges([(1, 2, "similar", 0.5)])
            tx.put_vault_rename(f"{number}.md", None)
        with home.store.write("default") as tx:
            tx.enqueue(1, number)
            tx.put_edges([(1, 2, "similar", 0.5)])
            tx.put_vault_rename(f"{number}.md", None)
        assert home.remember(f"seal {number}").status == "stored"


def test_a_server_that_lost_its_last_write_does_not_make_what_was_read_of_it_true(home: Home, db: Any) -> None:
    home.remember("walrus")
    before = home.store.lexicon("default")
    db.execute("UPDATE namespaces SET version=version-1")  # as a failover leaves it that comes before the last write
    other = Home(home.folder, url=home.url)
    other.remember("seal")
    assert home.store.lexicon("default") == other.store.lexicon("default") != before
    other.store.close()
