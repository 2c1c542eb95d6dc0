from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.clock import DAY_MS, FixedClock
from mnemic.errors import Refused
from mnemic.lifecycle.rotation import shelf_of
from mnemic.models.answer import Budget
from mnemic.models.document import Turn
from mnemic.recall import codebook, engine
from mnemic.settings import RotateSettings
from mnemic.store.sqlite.connection import connect
from mnemic.store.sqlite.shelves import FILES

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
AGES = {"new": 0, "month": 30, "spring": 100, "last": 180, "old": 181, "ancient": 900}
WHERE = {"new": "hot", "month": "warm", "spring": "warm", "last": "warm", "old": "cold", "ancient": "cold"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as found:
        fill(found)
        yield found


def opened(folder: Path, clock: FixedClock | None = None) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "c")}, clock=clock or FixedClock(NOON))


def fill(memory: Memory) -> None:
    for name, days in AGES.items():
        memory.remember(
            f"# The {name} walrus\n\nIt naps by the {name} kiln.\n\nIts name is {name}berry.", title=name,
            at=NOON - timedelta(days=days), source=f"file:///{name}",
        )  # fmt: skip
    said = int((NOON - timedelta(days=200)).timestamp() * 1000)
    memory.capture([Turn("user", "Where is the quokka?", created_at=said), Turn("assistant", "On an island.")], session="zoo")


def shelves(memory: Memory) -> dict[str, str]:
    return {d.path.rsplit("/", 1)[1]: d.shelf for d in memory._store.documents("default") if d.kind == "note"}


def pages(memory: Memory) -> dict[str, Any]:
    found = {}
    for row in memory.tree(depth=9):
        if row["kind"] != "folder":
            page = memory.show(row["path"], touch=False)
            found[row["path"]] = {key: page[key] for key in page if key not in ("shelf", "history")}
    return found


def counted(memory: Memory, table: str, name: str) -> int:
    return int(memory._store.shelf(name).rows(f"SELECT count(*) FROM {table}")[0][0])


def sound(memory: Memory) -> bool:
    assert memory.verify().ok, memory.verify()
    assert memory.doctor()["problems"] == []
    assert memory._store.hot.rows("SELECT * FROM strays") == []
    for name in FILES:
        number = {row[0] for row in memory._store.shelf(name).rows("SELECT DISTINCT document FROM nodes")}
        assert number == {d.id for d in memory._store.documents("default") if d.shelf == name}
    return True


def test_both_ends_of_the_range_are_warm() -> None:
    ages = (0, 30 * DAY_MS - 1, 30 * DAY_MS, 180 * DAY_MS, 180 * DAY_MS + 1)
    assert [shelf_of(age, RotateSettings()) for age in ages] == ["hot", "hot", "warm", "warm", "cold"]


def test_documents_go_straight_to_the_shelf_of_their_age_with_all_they_have(memory: Memory) -> None:
    before, sizes = pages(memory), memory.status()
    assert memory.rotate(dry_run=True)["moved"] == {"warm": 3, "cold": 3}
    assert set(shelves(memory).values()) == {"hot"}
    assert memory.rotate()["moved"] == {"warm": 3, "cold": 3}
    assert shelves(memory) == WHERE
    assert pages(memory) == before
    after = memory.status()
    assert {key: after[key] for key in ("nodes", "texts", "vectors", "documents", "edges")} == {
        key: sizes[key] for key in ("nodes", "texts", "vectors", "documents", "edges")
    }
    assert memory.rotate()["moved"] == {"warm": 0, "cold": 0}
    assert sound(memory)


@pytest.mark.parametrize("scoring", ["structure", "seed"])
def test_recall_finds_the_same_with_the_weight_of_the_shelf(memory: Memory, scoring: str) -> None:
    def ask() -> dict[str, float]:
        return {hit.path: hit.score for hit in memory.recall("kiln", scoring=scoring, budget=Budget(nodes=50, chars=9_999)).hits}

    before = ask()
    memory.rotate()
    after = ask()
    assert after.keys() == before.keys()
    if scoring == "structure":
        weights = {"hot": 1.0, "warm": 0.9, "cold": 0.78}
        for path, score in after.items():
            name = path.split("/")[2]
            assert score == pytest.approx(before[path] * weights[WHERE[name]], rel=1e-6)


def test_a_running_process_sees_what_another_moved(tmp_path: Path, memory: Memory) -> None:
    hits = [hit.path for hit in memory.recall("ancientberry").hits]
    with opened(tmp_path) as other:
        other.rotate()
    assert [hit.path for hit in memory.recall("ancientberry").hits] == hits
    assert memory.recall("ancientberry").hits[0].shelf == "cold"


def test_a_copy_that_was_left_behind_is_never_returned_and_is_swept(memory: Memory) -> None:
    old = memory._store.document("default", "/notes/old")
    assert old is not None
    with memory._store.write("default") as tx:
        tx.note_stray(old.id, "cold")
    before = pages(memory)
    hits = memory.recall("oldberry walrus kiln", budget=Budget(nodes=50, chars=9_999)).hits
    with pytest.raises(ZeroDivisionError), memory._store.write("default") as tx:
        tx.move(old.id, "hot", "cold", with_vectors=True)
        raise ZeroDivisionError
    assert counted(memory, "nodes", "cold") > 0
    again = memory.recall("oldberry walrus kiln", budget=Budget(nodes=50, chars=9_999)).hits
    assert [hit.path for hit in again] == [hit.path for hit in hits]
    assert pages(memory) == before
    memory._store.sweep()
    assert counted(memory, "nodes", "cold") == 0
    assert sound(memory)


def test_a_move_whose_note_was_swept_is_refused(memory: Memory) -> None:
    from mnemic.errors import Conflict

    old = memory._store.document("default", "/notes/old")
    assert old is not None
    with pytest.raises(Conflict, match="repeat"), memory._store.write("default") as tx:
        tx.move(old.id, "hot", "cold", with_vectors=True)


def test_a_revision_brings_a_document_back_and_its_undo_works(memory: Memory) -> None:
    memory.rotate()
    done = memory.remember("# The old walrus\n\nIt swims.", title="old", source="file:///old")
    assert (done.path, shelves(memory)["old"]) == ("/notes/old", "hot")
    assert [hit.path for hit in memory.recall("swims").hits][0].startswith("/notes/old")
    assert done.seq and sound(memory)
    memory.undo(done.seq)
    assert "oldberry" in memory.show("/notes/old")["text"]
    assert memory.rotate()["moved"] == {"warm": 0, "cold": 1}
    assert "oldberry" in memory.show("/notes/old")["text"]
    assert sound(memory)


def test_the_same_text_again_moves_nothing(memory: Memory) -> None:
    memory.rotate()
    text = memory.show("/notes/old", touch=False)["text"]
    done = memory.remember(text, title="old", source="file:///old")
    assert (done.status, done.nodes > 1, shelves(memory)["old"]) == ("duplicate", True, "cold")


def test_a_conversation_that_goes_on_comes_back(memory: Memory) -> None:
    memory.rotate()
    said = int((NOON - timedelta(days=200)).timestamp() * 1000)
    turns = [Turn("user", "Where is the quokka?", created_at=said), Turn("assistant", "On an island.")]
    turns.append(Turn("assistant", "Smiling."))
    assert memory.capture(turns[:2], session="zoo").messages == 0
    assert memory._store.documents("default", kind="exchange")[0].shelf == "cold"
    assert memory.capture(turns, session="zoo").messages == 1
    assert memory._store.documents("default", kind="exchange")[0].shelf == "hot"
    assert memory.show("/sessions/zoo/1")["text"].endswith("assistant: Smiling.")
    assert sound(memory)


def test_what_was_remembered_can_be_undone_wherever_it_is(memory: Memory) -> None:
    first = next(event["seq"] for event in memory.ledger(limit=99) if event["path"] == "/notes/ancient")
    memory.rotate()
    undone = memory.undo(first)["seq"]
    assert "ancient" not in shelves(memory)
    assert memory.recall("ancientberry").hits == ()
    memory.undo(undone)
    assert "ancientberry" in memory.show("/notes/ancient")["text"]
    assert sound(memory)
    moved = next(event["seq"] for event in memory.ledger(limit=99) if event["op"] == "rotate")
    with pytest.raises(Refused, match="whichever shelf"):
        memory.undo(moved)


@pytest.mark.parametrize("path", ["/notes/ancient", "/notes/ancient/p2", "/notes"])
def test_erasing_reaches_every_shelf(memory: Memory, tmp_path: Path, path: str) -> None:
    memory.rotate()
    assert memory.vacuum()["shrunk"]
    assert [file.name for file in tmp_path.rglob("*.db") if b"ancientberry" in file.read_bytes()] == ["memory-cold.db"]
    memory.forget(path, erase=True)
    assert memory.recall("ancientberry").hits == ()
    assert sound(memory)
    memory.close()
    assert [file.name for file in tmp_path.rglob("*") if file.is_file() and b"ancientberry" in file.read_bytes()] == []


def test_forgetting_and_its_undo_work_on_any_shelf(memory: Memory) -> None:
    memory.rotate()
    seq = memory.forget("/notes/old").seq
    assert memory.recall("oldberry").hits == ()
    assert memory.recall("oldberry", mode="deep").hits[0].shelf == "cold"
    memory.undo(seq)
    assert memory.recall("oldberry").hits[0].shelf == "cold"
    assert sound(memory)


def test_reindexing_changes_no_shelf_and_no_answer(memory: Memory) -> None:
    memory.rotate()
    before = (pages(memory), [hit.path for hit in memory.recall("walrus kiln").hits], shelves(memory))
    done = memory.reindex()
    assert (done["error"], done["damaged"]) == (None, [])
    assert (pages(memory), [hit.path for hit in memory.recall("walrus kiln").hits], shelves(memory)) == before
    assert sound(memory)


def test_a_tree_that_was_lost_on_a_shelf_is_made_again(memory: Memory) -> None:
    memory.rotate()
    with memory._store.shelf("cold").transaction() as db:
        db.execute("UPDATE nodes SET title='x', reach=start+1 WHERE size>0")
    memory.reindex()
    assert memory.recall("oldberry").hits
    memory.rotate()
    assert memory.recall("oldberry").hits[0].shelf == "cold"
    assert sound(memory)


def test_a_backup_holds_all_shelves(memory: Memory, tmp_path: Path) -> None:
    memory.rotate()
    before = pages(memory)
    memory.backup(tmp_path / "copy.zip")
    memory.forget("/notes", erase=True)
    memory.close()
    Memory.recover(tmp_path / "copy.zip", tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "c")})
    with opened(tmp_path) as restored:
        assert pages(restored) == before
        assert shelves(restored) == WHERE
        assert sound(restored)


def test_a_backup_is_begun_again_when_a_document_moved_meanwhile(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.rotate()
    copy, copies = memory._store.copy_shelf, list[str]()

    def copied(base: Any, target: Path) -> None:
        copy(base, target)
        copies.append(target.name)
        if len(copies) == 1:
            memory.remember("# The old walrus\n\nIt swims.", title="old", source="file:///old")

    monkeypatch.setattr(memory._store, "copy_shelf", copied)
    memory.backup(tmp_path / "copy.zip")
    assert len(copies) == 6
    Memory.recover(tmp_path / "copy.zip", tmp_path / "new" / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "c2")})
    with opened(tmp_path / "new") as restored:
        assert "swims" in restored.show("/notes/old")["text"]


def test_the_cold_shelf_can_do_without_vectors(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text("[rotate]\ndrop_cold_vectors = true\n")
    with opened(tmp_path) as memory:
        fill(memory)
        memory.rotate()
        assert (counted(memory, "vectors", "warm") > 0, counted(memory, "vectors", "cold")) == (True, 0)
        assert memory.recall("ancientberry").hits[0].shelf == "cold"
        memory.reindex()
        assert counted(memory, "vectors", "cold") == 0
        memory.remember("# The old walrus\n\nIt swims.", title="old", source="file:///old")
        assert memory.recall("swims").degraded == ()
        assert sound(memory)


def test_a_rotation_leaves_codes_on_the_shelves_that_have_many_vectors(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codebook, "EXACT_BELOW", 4)
    monkeypatch.setattr(codebook, "BLOCK", 4)
    monkeypatch.setattr(codebook, "SAMPLE", 4)
    memory.index()
    before = [hit.path for hit in memory.recall("ancientberry quokka", mode="deep").hits]
    memory.rotate()
    assert [counted(memory, "coders", name) for name in FILES] == [0, 1, 1]
    assert counted(memory, "codes", "warm") == counted(memory, "vectors", "warm") // 4 > 0
    assert [hit.path for hit in memory.recall("ancientberry quokka", mode="deep").hits] == before
    assert sound(memory)


def test_a_document_that_waits_for_vectors_gets_them_where_it_is(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("The kiln is cold.", title="Kiln", at=NOON - timedelta(days=999), index=False)
        memory.rotate()
        assert memory.index()["indexed"] == 1
        assert (counted(memory, "vectors", "hot"), counted(memory, "vectors", "cold")) == (0, 1)
        assert sound(memory)


def test_namespaces_are_kept_apart_on_every_shelf(memory: Memory) -> None:
    other = memory.within("other")
    other.remember("The secret quokka.", title="old", at=NOON - timedelta(days=999))
    other.rotate()
    memory.rotate()
    assert memory.recall("secret quokka", mode="deep").hits[0].path.startswith("/sessions/zoo")
    assert [hit.path for hit in other.recall("quokka walrus").hits] == ["/notes/old"]
    assert other.verify().ok and memory.verify().ok


def test_the_hot_file_shrinks_by_nine_tenths_when_nearly_all_is_rotated_away(tmp_path: Path) -> None:
    words = [f"w{n * 7919 % 4001}" for n in range(4_000)]
    with opened(tmp_path) as memory:
        for number in range(25):
            text = "\n\n".join(" ".join(words[at : at + 90]) for at in range(number, 3_900, 25))
            age = 400 if number else 0
            memory.remember(f"zebra{number} {text}", title=f"Long {number}", at=NOON - timedelta(days=age), index=False)
        memory.vacuum()
        before = memory._store.sizes()["memory.db"]
        paths = {hit.path for hit in memory.recall("zebra20 zebra7").hits}
        assert memory.rotate()["moved"] == {"warm": 0, "cold": 24}
        found = memory.vacuum()
        assert (found["shrunk"], found["reason"]) == (True, None)
        assert found["bytes"]["memory.db"] <= before / 10
        assert {hit.path for hit in memory.recall("zebra20 zebra7").hits} == paths


def test_a_reader_keeps_the_file_from_shrinking_and_vacuum_says_so(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemic.store.sqlite import connection

    monkeypatch.setattr(connection, "BUSY_MS", 50)
    memory._store.hot.connection().set_busy_timeout(50)
    memory.rotate()
    with opened(tmp_path) as other, other._store.reading():
        other._store.counts("default")
        found = memory.vacuum()
        assert found["shrunk"] is False
        assert "memory.db: not shrunk" in found["reason"]
    assert memory.vacuum()["shrunk"]
    assert sound(memory)


STEP = st.sampled_from(["note", "talk", "rotate", "revise", "forget", "touch", "erase", "reindex", "day"])


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(STEP, st.integers(0, 400)), min_size=4, max_size=14))
@example([("note", 0), ("talk", 0), ("talk", 181), ("talk", 0)])
def test_whatever_is_done_a_rotation_changes_no_page_and_but_for_the_weights_no_answer(steps: list[tuple[str, int]]) -> None:
    from tempfile import TemporaryDirectory

    clock = FixedClock(NOON)
    with (
        pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder, opened(Path(folder), clock) as memory
    ):  # fmt: skip
        # What stands on an older shelf weighs less and may rightly fall behind; that is another test's matter.
        patch.setattr(engine, "SHELF_WEIGHT", dict.fromkeys(engine.SHELF_WEIGHT, 1.0))
        for number, (step, value) in enumerate(steps):
            notes = [d.path for d in memory._store.documents("default")]
            path = notes[value % len(notes)] if notes else ""
            at = clock.now() - timedelta(days=value)
            if step == "note" or (step == "revise" and notes):
                source = f"file:///{value % 5 if step == 'revise' else number}"
                memory.remember(f"Item{number} walrus.\n\nA kiln, {value} days.", title=f"N{number}", at=at, source=source)
            elif step == "talk":
                said = int(at.timestamp() * 1000)
                memory.capture([Turn("user", f"Item{number} kiln?", created_at=said), Turn("assistant", "Yes.")], session="s")
            elif step == "rotate":
                memory.rotate()
            elif step == "reindex":
                memory.reindex()
            elif step == "day":
                clock.advance(days=value)
            elif path and step in ("forget", "erase"):
                memory.forget(path, erase=step == "erase")
            elif path and not memory.show(path, touch=False)["forgotten"]:
                memory.touch(path)

        def answers() -> list[list[str]]:
            wide = Budget(nodes=1, chars=9_999)
            return [[hit.path for hit in memory.recall(f"Item{n}", budget=wide, mode="deep").hits] for n in range(len(steps))]

        before = (pages(memory), answers())
        memory.rotate()
        assert (pages(memory), answers()) == before
        assert memory.rotate()["moved"] == {"warm": 0, "cold": 0}
        assert sound(memory)


def test_a_home_from_before_the_seventh_schema_finds_the_messages_beside_what_matches(tmp_path: Path) -> None:
    said = int((NOON - timedelta(days=200)).timestamp() * 1000)
    with opened(tmp_path) as memory:
        for talk, moment in (("zoo", said), ("farm", int(NOON.timestamp() * 1000))):
            turns = [Turn("user", f"Where does the {talk} quokka live?"), Turn("assistant", "On an island.", "Bo")]
            memory.capture([replace(turn, created_at=moment) for turn in turns], session=talk)
        memory.rotate()
        asked = [memory.recall("quokka live", mode="deep"), memory.recall("island", mode="deep")]
    assert {hit.shelf for hit in asked[0].hits} == {"hot", "cold"}
    for name in FILES.values():
        db = connect(tmp_path / "home" / name)
        db.execute("DROP INDEX nodes_turns; ALTER TABLE nodes DROP COLUMN talk; ALTER TABLE nodes DROP COLUMN role")
        db.execute("DELETE FROM meta WHERE key='turns'; PRAGMA user_version=6")
        db.close()
    with opened(tmp_path) as memory:
        again = [memory.recall("quokka live", mode="deep"), memory.recall("island", mode="deep")]
        assert sound(memory)
    assert [answer.hits for answer in again] == [answer.hits for answer in asked]


def test_a_large_home_answers_the_same_after_a_rotation_but_for_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in FILES:
        monkeypatch.setitem(engine.SHELF_WEIGHT, name, 1.0)
    things = ["kiln", "walrus", "ferry", "teapot", "violin", "garden", "ladder", "bakery"]
    with opened(tmp_path) as memory:
        for day in range(90):  # conversations that reach over two shelves, and more that fits than is looked at
            said = int((NOON - timedelta(days=3 * day)).timestamp() * 1000)
            thing, other = things[day % 8], things[day % 7]
            asked = Turn("user", f"The {thing} by the {other} was mended on day {day}.", created_at=said)
            reply = Turn("assistant", f"Good that the {thing} works, the harbour was full of {other}s.", created_at=said)
            memory.capture([asked, reply], session=f"talk-{day // 20}", index=False)
        memory.index()
        questions = [f"What of the {one} and the {two} in the harbour?" for one in things for two in things[::3]]
        before = [answered(memory, question) for question in questions]
        assert memory.rotate()["moved"]["cold"] > 20
        assert [answered(memory, question) for question in questions] == before


def answered(memory: Memory, question: str) -> list[tuple[str, float]]:
    hits = memory.recall(question, mode="deep", budget=Budget(nodes=12)).hits
    return [(hit.path, round(hit.score, 6)) for hit in hits]
