from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from mnemic.errors import Conflict, Damaged, NewerSchema
from mnemic.models.event import Change
from mnemic.store.sqlite import backups, migrations
from mnemic.store.sqlite.connection import connect
from mnemic.text.tokens import phrase_terms
from tests.homes import Home, rows

WRITER = str(Path(__file__).with_name("writer.py"))


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})


def _table(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE a(b)")


def test_full_text_is_the_same_after_a_rebuild(home: Home) -> None:
    home.remember("The walrus.\n\nThe seal, 记忆.", title="Zoo", source="file:///z", kind="file")
    home.remember("---\na: 1\n---\n# Head\n\nThe walrus again.\n\n## Sub\n\nseal", title="Zoo two", context="c")
    home.remember("One walrus and a seal.", title="Zoo", source="file:///z", kind="file")
    home.remember("It eats.\n\nA seal.\n\nsecret", title="Walrus")
    home.capture(("user", "walrus?"))
    home.capture(("assistant", "The seal. " * 200), ("user", "walrus!"))
    home.forgetting.erase("default", "/notes/walrus/p3", reason="")
    home.forgetting.erase("default", "/sessions/s/2", reason="")
    home.undo(2)
    queries = ("walrus", "seal", "zoo", "eats", "记忆", "记", "secret", "again")
    before = [home.search(query) for query in queries], home.store.lexicon("default")[:2]
    terms = rows(home, "SELECT term, doc, cnt FROM temp.vocabulary")
    nodes = rows(home, "SELECT id, size, terms FROM nodes ORDER BY id")
    assert home.sane()
    home.store.rebuild_fulltext()
    assert ([home.search(query) for query in queries], home.store.lexicon("default")[:2]) == before
    assert rows(home, "SELECT term, doc, cnt FROM temp.vocabulary") == terms
    assert rows(home, "SELECT id, size, terms FROM nodes ORDER BY id") == nodes
    assert home.sane()


def test_an_empty_tree_leaves_no_term_behind(home: Home) -> None:
    home.remember("The walrus.\n\nThe seal.", title="Zoo")
    home.undo(1)
    assert rows(home, "SELECT term FROM temp.vocabulary") == []
    assert home.store.lexicon("default")[:2] == (0, 0)


def test_namespaces_do_not_see_each_other(home: Home) -> None:
    home.remember("The walrus.", "one", title="Zoo")
    home.remember("The seal.", "two", title="Zoo")
    home.capture(("user", "walrus"), ns="one")
    assert (home.search("walrus", "two"), home.search("walrus", "three")) == ([], [])
    assert home.search("seal", "two") == ["/notes/zoo"]
    assert [document.title for document in home.store.documents("two")] == ["Zoo"]
    assert (home.store.node("two", "/sessions/s/1"), home.store.node("three", "/notes/zoo")) == (None, None)
    assert home.store.nodes("two", 1) == []
    assert home.store.found("two", [1, 2, 3]) == home.store.found("two", [2])
    assert (home.store.texts("two", [1]), home.store.messages("two")) == ({}, [])
    assert home.store.document_frequencies("two", ["walrus", "seal"]) == {"walrus": 0, "seal": 1}
    assert home.store.namespaces() == ["one", "two"]
    assert home.sane("one") and home.sane("two")


def test_a_namespace_that_was_rolled_back_leaves_no_number_behind(home: Home) -> None:
    with pytest.raises(RuntimeError), home.store.write("first"):
        assert home.store.space("first") == 1
        raise RuntimeError
    home.remember("walrus", "second", title="T")
    assert home.store.space("first") == 0
    assert home.search("walrus", "first") == []


def test_a_failing_transaction_leaves_nothing(home: Home) -> None:
    row = {"path": "/x", "forgotten_at": 1, "reason": ""}
    with pytest.raises(Conflict, match="visibility '/x' has changed"), home.store.write("default") as tx:
        tx.apply([Change("visibility", ("/x",), None, row), Change("visibility", ("/x",), None, row)])
    assert home.store.forgotten("default") == {}


def test_a_phrase_is_found_only_where_its_words_stand_together(home: Home) -> None:
    home.remember("green tea leaf", title="A")
    home.remember("tea with green leaf", title="B")
    home.remember("猫 likes 记忆", title="C")
    assert home.store.phrase("default", phrase_terms("green tea"), 9) == [1]
    assert home.store.phrase("default", phrase_terms("猫 likes"), 9) == [3]
    assert home.store.phrase("default", phrase_terms("likes 记"), 9) == [3]


def test_a_newer_schema_is_refused_by_name(home: Home) -> None:
    home.remember("tea")
    home.store.close()
    db = connect(home.folder / "home" / "memory-warm.db")
    db.pragma("user_version", 99)
    db.close()
    with pytest.raises(NewerSchema, match="'memory-warm.db' has schema 99"):
        home.open()


def test_a_failed_migration_leaves_the_version_before(tmp_path: Path) -> None:
    db = connect(tmp_path / "x.db")

    def broken(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE c(d)")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        list(migrations.migrate(db, "x.db", [_table, broken]))
    assert migrations.version(db) == 1
    assert db.execute("SELECT name FROM sqlite_schema").fetchall() == [("a",)]
    db.close()


def test_a_home_of_the_first_schema_is_brought_up_to_date_and_a_copy_kept(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("memory.db", "memory-warm.db", "memory-cold.db"):
        db = connect(folder / name)
        assert list(migrations.migrate(db, name, migrations.STEPS[:1])) == [1]
        db.close()
    home = Home(tmp_path)
    home.remember("tea")
    assert home.store.select("default", "facts", {"slot": "a"}) == []
    assert (folder / "memory-schema1.bak").exists() and home.sane()
    home.store.close()


def test_rows_are_selected_counted_and_ordered_by_columns(home: Home) -> None:
    from mnemic.models.event import Change

    rows = [{"id": f"s{n}", "title": "t", "context": "", "origin": "user", "started_at": n % 3, "recorded_at": n}
            for n in range(6)]  # fmt: skip
    with home.store.write("default") as tx:
        tx.apply([Change("sessions", (str(row["id"]),), None, row) for row in rows])
    newest = home.store.select("default", "sessions", {"title": "t"}, limit=3, newest=True, by=("started_at",))
    assert [row["id"] for row in newest] == ["s5", "s2", "s4"]
    assert home.store.count("default", "sessions", {"started_at": 1}) == 2
    with pytest.raises(KeyError, match="no column 'x'"):
        home.store.count("default", "sessions", {"x": 1})
    with pytest.raises(KeyError, match="no column 'x'"):
        home.store.select("default", "sessions", {}, by=("x",))


def test_a_flipped_bit_is_damage_and_not_memory(home: Home) -> None:
    home.remember("walrus " * 2000, title="W")
    home.store.close()
    file = home.folder / "home" / "memory.db"
    data = bytearray(file.read_bytes())
    data[data.index(b"walrus " * 100)] ^= 1
    file.write_bytes(data)
    home.open()
    with pytest.raises(Damaged, match=r"memory.db"):
        home.store.text("default", 1)


def test_a_backup_comes_back_as_it_was(home: Home) -> None:
    home.remember("walrus", title="W")
    home.store.backup(home.folder / "b.zip")
    home.remember("seal", title="S")
    home.store.close()
    (home.folder / "fresh").mkdir()
    backups.unpack(home.folder / "b.zip", home.folder / "fresh")
    backups.swap(home.folder / "fresh", home.folder / "home", home.folder / "kept")
    home.open()
    assert (home.search("walrus"), home.search("seal")) == (["/notes/w"], [])
    assert home.store.check() == []


def test_threads_that_have_ended_leave_no_connection(home: Home) -> None:
    home.remember("walrus", title="W")
    found: list[list[str]] = []
    for _ in range(4):
        thread = threading.Thread(target=lambda: found.append(home.search("walrus")))
        thread.start()
        thread.join()
    assert found == [["/notes/w"]] * 4
    assert len(home.store.hot._all) == 2


def test_eight_processes_lose_nothing_and_make_one_chain(tmp_path: Path) -> None:
    processes = [writer(tmp_path, f"process{n}", 10) for n in range(8)]
    answers = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 8
    home = Home(tmp_path)
    assert len({path for answer in answers for path in answer}) == 80
    assert home.ledger.verify("default").checked == 80
    assert [event.seq for event in home.ledger.events("default")] == list(range(1, 81))
    assert home.sane()
    home.store.close()
