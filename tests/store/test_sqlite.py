from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from mnemic.errors import Damaged, NewerSchema
from mnemic.store.sqlite import backups, connection, migrations
from mnemic.store.sqlite.connection import connect
from tests.homes import Home

WRITER = str(Path(__file__).with_name("writer.py"))


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})


def _table(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE a(b)")


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


def test_a_backup_larger_than_the_engines_cache_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tuple("cache_size = -16" if "cache_size" in each else each for each in connection._SETTINGS)
    monkeypatch.setattr(connection, "_SETTINGS", small)
    home = Home(tmp_path)
    for number in range(40):
        home.remember(f"note {number}: " + "the kiln fires at noon. " * 400)
    home.store.backup(home.folder / "b.zip")
    (home.folder / "fresh").mkdir()
    backups.unpack(home.folder / "b.zip", home.folder / "fresh")
    home.store.close()


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
