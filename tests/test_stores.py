"""A home in a folder and one in a database are the same to whoever uses them."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemic.clock import FixedClock
from mnemic.errors import BadInput, MissingExtra, MnemicError, NotFound, Refused
from mnemic.memory import Memory
from mnemic.models.answer import Scope
from mnemic.models.document import Turn
from mnemic.settings import load
from mnemic.store import open_store
from tests.homes import ENGINES, NOON

MEMORY = Path("/dev/shm")
TALK = [
    Turn("user", "Where does Ada keep the kiln keys?"),
    Turn("assistant", "In the blue tin above the sink."),
    Turn("user", "我喜欢喝咖啡，不喜欢茶。"),
    Turn("assistant", "记住了。"),
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Setting:
    """Where a test's home is, and how it is opened."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.clock = folder, FixedClock(NOON)
        self.home = url or str(folder / "home")
        self.environ = {"MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_FILES": str(folder / "files")}

    def open(self, **more: Any) -> Memory:
        return Memory.open(self.home, environ=self.environ, clock=self.clock, **more)


@pytest.fixture
def setting(place: str) -> Iterator[Setting]:
    """In memory where there is such a folder: each write waits for the disk."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield Setting(folder, place)
    shutil.rmtree(folder)


@pytest.fixture
def memory(setting: Setting) -> Iterator[Memory]:
    made = setting.open()
    yield made
    made.close()


def paths(memory: Memory, query: str, **more: Any) -> list[str]:
    return [hit.path for hit in memory.recall(query, **more).hits]


def test_what_is_told_is_found_by_its_words(memory: Memory) -> None:
    memory.remember("# Kiln\n\nThe kiln fires at noon.\n\n- and the glaze is celadon", title="kiln")
    memory.capture(TALK, session="pots")
    assert paths(memory, "Where are the kiln keys?")[0].startswith("/sessions/pots/1")
    assert paths(memory, "咖啡")[0].startswith("/sessions/pots/2")
    assert paths(memory, "celadon glaze")[0] == "/notes/kiln/item-1"
    assert memory.recall("zebra crossing").hits == ()
    assert memory.verify().ok and memory.doctor()["ok"]


def test_one_operation_is_done_once(memory: Memory) -> None:
    first = memory.remember("The kiln fires at noon.", op_id="a")
    again = memory.remember("The kiln fires at noon.", op_id="a")
    assert (first.status, again.path, memory.status()["documents"]) == ("stored", first.path, 1)
    assert memory.remember("The kiln fires at noon.").status == "duplicate"


def test_forgetting_hides_and_undo_brings_back(memory: Memory) -> None:
    receipt = memory.remember("The kiln fires at noon.", title="kiln")
    assert receipt.path is not None
    memory.forget(receipt.path)
    assert paths(memory, "When does the kiln fire?") == []
    memory.undo(2)
    assert paths(memory, "When does the kiln fire?") == ["/notes/kiln"]
    memory.undo(1)
    assert paths(memory, "kiln fire") == [] and memory.verify().ok


def test_what_is_erased_stays_away(memory: Memory) -> None:
    memory.capture(TALK, session="pots")
    memory.forget("/sessions/pots/1", erase=True)
    assert not any(path.startswith("/sessions/pots/1") for path in paths(memory, "kiln keys blue tin"))
    assert memory.capture(TALK[:2], session="pots").receipts[0].status == "rejected"
    assert memory.verify().ok and memory.doctor()["ok"]


def test_a_rotation_changes_no_answer_and_is_verified(memory: Memory, setting: Setting) -> None:
    memory.capture(TALK, session="pots", title="Pots")
    memory.remember("The kiln fires at noon.", title="kiln")
    setting.clock.moment += timedelta(days=400)
    memory.remember("The wheel is new.", title="wheel")
    before = paths(memory, "kiln keys", mode="deep"), paths(memory, "咖啡", mode="deep")
    assert memory.rotate()["moved"]["cold"] == 3
    assert (paths(memory, "kiln keys", mode="deep"), paths(memory, "咖啡", mode="deep")) == before
    assert TALK[0].content in json.dumps(memory.show("/sessions/pots/1", touch=False))
    assert memory.verify().ok and memory.doctor()["ok"]
    memory.forget("/sessions/pots/1", erase=True)
    assert memory.capture([*TALK[2:], Turn("user", "And milk?")], session="pots").receipts[0].status in ("stored", "duplicate")
    assert memory.verify().ok and memory.doctor()["ok"]


def test_facts_and_lessons_are_kept_and_told(memory: Memory) -> None:
    memory.diary.add("I live in Lisbon.")
    memory.facts.add("identity", "home_city", "Lisbon", lock=False)
    memory.facts.add("identity", "home_city", "Porto", lock=False)
    assert [fact["value"] for fact in memory.facts.list()] == ["Porto"]
    assert memory.verify().ok
    memory.undo(memory.status()["head"]["seq"])
    assert [fact["value"] for fact in memory.facts.list()] == ["Lisbon"]
    assert memory.verify().ok


def test_reindexing_changes_no_answer(memory: Memory) -> None:
    memory.capture(TALK, session="pots")
    before = [memory.recall(query).hits for query in ("kiln keys", "咖啡")]
    done = memory.reindex()
    assert (done["documents"], done["damaged"], done["error"]) == (2, [], None)
    assert [memory.recall(query).hits for query in ("kiln keys", "咖啡")] == before


def test_a_backup_comes_back(memory: Memory, setting: Setting) -> None:
    memory.capture(TALK, session="pots")
    memory.within("other").remember("A seal.", title="seal")
    memory.backup(setting.folder / "b.zip")
    answer = memory.recall("kiln keys")
    memory.remember("The wheel is new.", title="wheel")
    done = memory.restore(setting.folder / "b.zip")
    with setting.open() as again:
        assert again.verify().ok and again.within("other").verify().ok
        assert again.path_of("x") is None and paths(again, "wheel") == []
        assert [hit.score for hit in again.recall("kiln keys").hits] == [hit.score for hit in answer.hits]
        assert again.remember("The wheel is old.").path == "/notes/the-wheel-is-old"
        assert again.verify().ok and again.doctor()["ok"]
    assert any(Path(done["kept"]).iterdir())


@pytest.mark.parametrize("inside", [True, False])
def test_a_backup_that_is_not_whole_changes_nothing(memory: Memory, setting: Setting, inside: bool) -> None:
    memory.remember("The kiln fires at noon.", title="kiln")
    file = setting.folder / "b.zip"
    memory.backup(file)
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        item = max(archive.infolist(), key=lambda item: item.compress_size)
    header = item.header_offset
    begin = header + 30 + sum(struct.unpack("<HH", data[header + 26 : header + 30]))
    data[begin + (item.compress_size // 2 if inside else 0)] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(MnemicError):
        memory.restore(file)
    with setting.open() as again:
        assert paths(again, "kiln") == ["/notes/kiln"] and again.verify().ok


def test_an_exported_namespace_comes_back(memory: Memory, setting: Setting) -> None:
    memory.capture(TALK, session="pots")
    memory.export(setting.folder / "out")
    other = Setting(setting.folder / "there", "")
    with other.open() as there:
        there.read_export(setting.folder / "out")
        assert there.verify().ok
        assert [hit.score for hit in there.recall("kiln keys").hits] == [hit.score for hit in memory.recall("kiln keys").hits]


def test_a_scope_narrows_the_same(memory: Memory) -> None:
    memory.remember("The kiln fires at noon.", title="kiln", context="pots")
    memory.remember("The kiln is blue.", title="blue", context="paint")
    assert paths(memory, "kiln", scope=Scope(context="paint")) == ["/notes/blue"]
    assert paths(memory, "kiln", scope=Scope(within="/notes/kiln")) == ["/notes/kiln"]


def test_a_copy_answers_the_same_and_goes_on_where_it_ended(
    setting: Setting, request: pytest.FixtureRequest
) -> None:
    there = Setting(setting.folder / "there", "" if "://" in setting.home else request.getfixturevalue("server").fresh("copied"))
    with setting.open() as memory:
        memory.capture(TALK, session="pots")
        memory.remember("The kiln fires at noon.", title="kiln", op_id="a")
        memory.remember("The secret glaze.", title="glaze")
        memory.forget("/notes/glaze", erase=True)
        setting.clock.moment += timedelta(days=400)
        memory.rotate()
        memory.remember("The wheel is new.", title="wheel", source="file:///w")
        memory.remember("The wheel is old now.", title="wheel", source="file:///w")
        memory.undo(2)
        memory.within("other").remember("A seal sleeps.", title="seal")
    environ = {**setting.environ, "MNEMIC_FILES": str(setting.folder / "f")}

    def copied(**more: Any) -> dict[str, Any]:
        return Memory.copy(setting.home, there.home, environ=environ, clock=setting.clock, **more)

    ended: list[int] = []

    def cut(what: str, done: int, whole: int) -> None:
        ended.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copied(progress=cut)
    done = copied()
    assert [(row["namespace"], row["there already"] > 0) for row in done["namespaces"]] == [("default", True), ("other", False)]
    assert [row["namespace"] for row in copied(namespace="other")["namespaces"]] == ["other"]
    there.clock = setting.clock
    with setting.open() as one, there.open() as two:
        for question in ("kiln keys", "咖啡", "wheel", "glaze"):
            left, right = (memory.recall(question, mode="deep").hits for memory in (one, two))
            assert [(hit.path, hit.signals, hit.shelf) for hit in left] == [(hit.path, hit.signals, hit.shelf) for hit in right]
        assert one.ledger_export() == two.ledger_export()
        assert two.remember("The kiln fires at noon.", title="kiln", op_id="a").path == "/notes/kiln"
        assert two.remember("The secret glaze.", title="glaze").status == "rejected"
        two.remember("Only there.")
        assert two.verify().ok and two.within("other").verify().ok and two.doctor()["ok"]
    with pytest.raises(Refused, match="'default' is there already and is not a copy of this one"):
        copied()


def test_a_copy_from_where_no_home_is_makes_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no home at"):
        Memory.copy(tmp_path / "slip", tmp_path / "copy", environ={})
    assert not (tmp_path / "slip").exists() and not (tmp_path / "copy").exists()


def test_the_command_line_works(setting: Setting) -> None:
    env = {**os.environ, **setting.environ, "MNEMIC_HOME": setting.home, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def run(*words: str) -> dict[str, Any]:
        done = subprocess.run([sys.executable, "-m", "mnemic", *words, "--json"], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    assert run("remember", "The kiln fires at noon.")["status"] == "stored"
    assert run("recall", "When does the kiln fire?")["hits"][0]["path"] == "/notes/the-kiln-fires-at-noon"
    status = run("status")
    assert (status["documents"], status["home"]) == (1, setting.home)
    assert run("doctor")["ok"] and run("ledger", "verify")["ok"]
    done = run("copy", setting.home, str(setting.folder / "copy"))
    assert [(row["namespace"], row["documents"]) for row in done["namespaces"]] == [("default", 1)]


def test_a_database_is_named_by_a_url_or_by_the_settings_of_a_folder(tmp_path: Path) -> None:
    url = "postgresql://me:secret@db.example:5433/pots?sslmode=require&password=x"
    named = load({"MNEMIC_HOME": url, "XDG_DATA_HOME": str(tmp_path)})
    assert (named.store.url.value, named.home) == (url, tmp_path / "mnemic" / "db.example+3a5433=pots")
    assert named.place == "postgresql://me@db.example:5433/pots?sslmode=require"
    assert "secret" not in repr(named)
    (tmp_path / "mnemic.toml").write_text('[store]\nurl = "postgresql:///pots"\nconnections = 3\n')
    settings = load({}, home=tmp_path)
    assert (settings.home, settings.place, settings.store.connections) == (tmp_path, "postgresql:///pots", 3)
    replicas = f'replicas = ["{url}", "postgres:///b"]'
    (tmp_path / "mnemic.toml").write_text(f"[store]\n{replicas}\n")
    settings = load({}, home=tmp_path)
    assert [one.value for one in settings.store.replicas] == [url, "postgres:///b"]
    assert "secret" not in repr(settings)
    assert [one.value for one in load({"MNEMIC_REPLICAS": f"{url}  postgres:///c"}, home=tmp_path).store.replicas] == [
        url, "postgres:///c",
    ]  # fmt: skip
    with pytest.raises(BadInput, match="MNEMIC_REPLICAS must be URLs"):
        load({"MNEMIC_REPLICAS": "db.example"}, home=tmp_path)
    for wrong in ('replicas = "postgresql:///b"', 'replicas = ["mysql://secret"]', "replicas = [3]"):
        (tmp_path / "mnemic.toml").write_text(f"[store]\n{wrong}\n")
        with pytest.raises(BadInput, match="store.replicas must be URLs of databases") as told:
            load({}, home=tmp_path)
        assert "secret" not in str(told.value)
    for wrong in ('url = "mysql://x"', "connections = 0", "partitions = 1000", "servers = 3"):
        (tmp_path / "mnemic.toml").write_text(f"[store]\n{wrong}\n")
        with pytest.raises(BadInput, match="store"):
            load({}, home=tmp_path)


def test_a_database_without_its_driver_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("mnemic.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("mnemic.store.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'mnemic\[postgres\]'"):
        open_store(tmp_path, "postgresql://x")


