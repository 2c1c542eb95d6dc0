"""What follows a document to another shelf besides its text: ledger entries and messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.models.document import Turn
from mnemic.store.sqlite import migrations
from tests.lifecycle.test_rotation import NOON, fill, opened, pages, sound


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as found:
        fill(found)
        found.remember("The last entry stays hot.", title="Last")
        yield found


def count(memory: Memory, shelf: str, sql: str) -> int:
    return int(memory._store.shelf(shelf).rows(f"SELECT count(*) FROM {sql}")[0][0])


def told(memory: Memory) -> list[dict[str, Any]]:
    return [row for row in memory.ledger_export() if row["op"] != "rotate"]


def first_about(memory: Memory, path: str) -> int:
    return min(int(row["seq"]) for row in memory.ledger(limit=999) if row["path"] == path)


def test_entries_about_what_has_moved_leave_the_hot_shelf_and_are_read_as_before(memory: Memory) -> None:
    before, listed = told(memory), memory.ledger(after=2, limit=3)
    old = memory.show("/notes/old", touch=False)["history"]
    memory.rotate()
    assert count(memory, "hot", "ledger WHERE op<>'rotate'") == 2
    assert count(memory, "hot", "ledger") == count(memory, "hot", "payloads") == 3  # the new one, the last two of all
    assert count(memory, "cold", "ledger") == count(memory, "cold", "payloads") == len(memory.ledger_export()) - 3
    assert count(memory, "warm", "ledger") == 0
    assert (told(memory), memory.ledger(after=2, limit=3)) == (before, listed)
    assert [row["seq"] for row in memory.ledger(limit=5)] == [14, 13, 12, 11, 10]
    assert [row["op"] for row in memory.show("/notes/old", touch=False)["history"]] == [*(row["op"] for row in old), "rotate"]
    assert memory.ledger_entry(first_about(memory, "/notes/old"))["op"] == "remember"
    assert memory.status()["ledger"] == 14
    assert sound(memory)


def test_messages_follow_their_conversation_and_come_back_with_it(memory: Memory) -> None:
    def said() -> list[tuple[int, str]]:
        return [(item.seq, item.role) for item in memory._store.messages("default", session="zoo")]

    memory.capture([Turn("user", "And the emu?"), Turn("assistant", "It runs.")], session="zoo")
    before, counted = said(), memory.status()["messages"]
    memory.rotate()
    assert [count(memory, shelf, "messages") for shelf in ("hot", "warm", "cold")] == [2, 0, 2]
    assert (said(), memory.status()["messages"]) == (before, counted)
    assert [item.role for item in memory._store.messages("default", session="zoo", last=3)] == ["assistant", "user", "assistant"]
    hit = next(hit for hit in memory.recall("Where is the quokka?", mode="deep").hits if hit.path.startswith("/sessions/zoo/1"))
    assert hit.shelf == "cold"
    assert sound(memory)
    memory.undo(first_about(memory, "/sessions/zoo/1"))
    assert [count(memory, shelf, "messages") for shelf in ("hot", "warm", "cold")] == [2, 0, 0]
    assert sound(memory)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE payloads SET body=replace(body,'old','owl') WHERE seq=5", "the content of entry 5 does not match"),
        ("UPDATE ledger SET actor='x' WHERE seq=5", "entry 5 does not match its hash"),
        ("DELETE FROM ledger WHERE seq=5", "entry 5 is missing"),
        ("DELETE FROM payloads WHERE seq=5", "the content of entry 5 is gone"),
        ("UPDATE messages SET role='tool'", "state differs from the ledger: messages"),
        ("DELETE FROM messages", "state differs from the ledger: messages"),
    ],
)
def test_what_was_changed_on_the_cold_shelf_is_found(memory: Memory, sql: str, problem: str) -> None:
    memory.rotate()
    memory._store.shelf("cold").rows(sql)
    assert problem in (memory.verify().problem or "")


def test_an_erasure_that_was_not_swept_counts_at_once_and_is_done_by_the_next_opening(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seq = first_about(memory, "/notes/ancient")
    memory.rotate()
    with monkeypatch.context() as patch:
        patch.setattr(memory._store, "sweep", lambda: 0)
        memory.forget("/notes/ancient", erase=True)
    assert count(memory, "cold", f"payloads WHERE seq={seq}") == 1
    assert memory.ledger_entry(seq)["erased"]
    assert all(row["erased"] for row in memory.ledger(limit=99) if row["object"] == memory.ledger_entry(seq)["object"]
               and row["op"] != "erase")  # fmt: skip
    assert memory.verify().ok
    memory.close()
    with opened(tmp_path) as again:
        assert count(again, "cold", f"payloads WHERE seq={seq}") == 0
        assert count(again, "hot", "emptied") == 0
        assert sound(again)


def test_entries_that_stand_twice_after_a_kill_are_told_once_and_erased_on_both(memory: Memory, tmp_path: Path) -> None:
    memory.rotate()
    cold = memory._store.shelf("cold")
    seqs = [seq for (seq,) in cold.rows("SELECT seq FROM ledger")]
    before = told(memory)
    for table in ("ledger", "payloads"):  # as if the hot shelf had not yet let go of them
        rows = cold.rows(f"SELECT * FROM {table}")
        marks = ",".join("?" * len(rows[0]))
        with memory._store.hot.transaction() as db:
            db.executemany(f"INSERT INTO {table} VALUES({marks})", rows)
    assert (told(memory), sound(memory)) == (before, True)
    memory.forget("/notes/ancient", erase=True)
    assert sound(memory)
    memory.rotate()
    assert {seq for (seq,) in cold.rows("SELECT seq FROM ledger")} >= set(seqs) - {first_about(memory, "/notes/last")}
    memory.close()
    assert [file.name for file in tmp_path.rglob("*") if file.is_file() and b"ancientberry" in file.read_bytes()] == []


def test_a_home_of_before_opens_and_what_had_stayed_follows(memory: Memory, tmp_path: Path) -> None:
    memory.rotate()
    before, seen = pages(memory), told(memory)
    store = memory._store
    for table in ("messages", "ledger", "payloads"):
        rows = store.shelf("cold").rows(f"SELECT * FROM {table}")
        with store.hot.transaction() as db:
            db.executemany(f"INSERT INTO {table} VALUES({','.join('?' * len(rows[0]))})", rows)
        store.shelf("cold").rows(f"DELETE FROM {table}")
    for base in map(store.shelf, ("hot", "warm", "cold")):
        base.rows("DROP TABLE emptied")
        base.rows("DROP INDEX usage_core")
        base.rows("DROP INDEX documents_digest")
        base.rows("CREATE INDEX documents_digest ON documents(ns, digest)")
        base.rows("UPDATE documents SET digest=lower(hex(digest))")
        base.rows("UPDATE messages SET digest=lower(hex(digest))")
        base.rows("PRAGMA user_version=7")
    store.hot.rows("DELETE FROM meta WHERE key='messages'")
    memory.close()
    with opened(tmp_path) as again:
        assert migrations.version(again._store.hot.connection()) == migrations.VERSION
        assert [count(again, shelf, "messages") for shelf in ("hot", "cold")] == [0, 2]
        assert (pages(again), told(again)) == (before, seen)
        text = again.show("/notes/new", touch=False)["text"]
        assert again.remember(text, title="new", source="file:///new").status == "duplicate"
        assert sound(again)
        again.rotate()
        assert count(again, "hot", "ledger") == 3
        again.forget("/notes/old", erase=True)
        assert sound(again)


def test_a_backup_is_begun_again_when_something_was_erased_meanwhile(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.rotate()
    copy, copies = memory._store.copy_shelf, list[str]()

    def copied(base: Any, target: Path) -> None:
        copy(base, target)
        copies.append(target.name)
        if len(copies) == 1:
            memory.forget("/notes/old", erase=True)

    monkeypatch.setattr(memory._store, "copy_shelf", copied)
    memory.backup(tmp_path / "copy.zip")
    assert len(copies) == 6
    Memory.recover(tmp_path / "copy.zip", tmp_path / "new" / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "c2")})
    with opened(tmp_path / "new") as restored:
        assert restored.verify().problem is None


def test_what_is_left_of_a_moved_conversation_in_the_hot_file_is_its_place_in_the_catalogue(tmp_path: Path) -> None:
    moment = int((NOON - timedelta(days=400)).timestamp() * 1000)
    with opened(tmp_path) as memory:
        for number in range(150):
            turns = [Turn("user", f"Walrus number {number} naps.", created_at=moment), Turn("assistant", "Yes, by the kiln.")]
            memory.capture(turns, session=f"s{number // 20}", index=False)
        memory.remember("The last entry stays hot.")
        memory.rotate()
        left = [count(memory, "hot", table) for table in ("documents", "messages", "ledger", "payloads", "texts", "nodes")]
        assert left == [151, 0, 2, 2, 1, 1]
        (used,) = memory._store.hot.rows("SELECT sum(payload) FROM dbstat WHERE name LIKE '%documents%'")[0]
        assert used / 151 < 330
        assert memory.verify().ok
