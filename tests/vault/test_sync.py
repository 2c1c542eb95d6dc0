from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

import pytest

from mnemic.memory import Memory
from mnemic.vault.files import Disk, Folder
from tests.vault.homes import Dying, Killed, note, opened


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return opened(tmp_path, git="off")


def hits(memory: Memory, query: str) -> list[str]:
    found = []
    for hit in memory.recall(query).hits:  # not by `show`: to open is to use, and stands in the ledger
        node = memory._store.node(memory.namespace, hit.path)
        document = memory._store.document_by_id(memory.namespace, node.document) if node else None
        found.append(document.path if document else "")
    return list(dict.fromkeys(found))


def deeds(memory: Memory, path: str) -> list[str]:
    """What was done to a document, without its uses."""
    return [row["op"] for row in memory.show(path)["history"] if row["op"] != "touch"]


def nothing(memory: Memory) -> bool:
    report = memory.vault.sync()
    return not (report.new or report.edited or report.moved or report.deleted or report.waiting)


def test_a_file_that_a_person_saved_is_recalled_and_stands_in_the_ledger_as_human(memory: Memory) -> None:
    note(memory, "ideas/Boats.md", "---\ntype: note\ndescription: keels\n---\nThe heron has a red sail.")
    assert memory.vault.sync().new == ["ideas/Boats.md"]
    assert hits(memory, "heron sail") == ["/vault/ideas/boats"] and hits(memory, "keels") == ["/vault/ideas/boats"]
    entry = memory.ledger()[0]
    assert (entry["actor"], entry["origin"], entry["op"]) == ("human", "human-file", "remember")
    assert nothing(memory) and memory.verify().ok


def test_an_edit_is_a_revision_of_the_same_document(memory: Memory) -> None:
    file = note(memory, "cards/people/Ada.md", "likes tea")
    memory.vault.sync()
    file.write_text("likes coffee")
    assert memory.vault.sync().edited == ["cards/people/Ada.md"]
    assert memory.show("/cards/people/ada")["text"] == "likes coffee"
    assert deeds(memory, "/cards/people/ada") == ["remember", "revise"]


def test_a_move_keeps_the_document_and_its_history(memory: Memory) -> None:
    file = note(memory, "cards/people/Ada.md", "likes tea")
    memory.vault.sync()
    os.rename(file, file.with_name("Countess.md"))
    assert memory.vault.sync().moved == [{"from": "cards/people/Ada.md", "to": "cards/people/Countess.md"}]
    seq = memory.ledger()[0]["seq"]
    assert deeds(memory, "/cards/people/countess") == ["remember", "revise"]
    assert hits(memory, "tea") == ["/cards/people/countess"] and memory.verify().ok and nothing(memory)
    memory.undo(seq)
    assert memory.show("/cards/people/ada")["text"] == "likes tea" and memory.verify().ok


def test_a_case_only_rename_is_a_move(memory: Memory) -> None:
    file = note(memory, "a/readme.md", "text of it")
    memory.vault.sync()
    os.rename(file, file.with_name("README.md"))
    assert memory.vault.sync().moved == [{"from": "a/readme.md", "to": "a/README.md"}]
    assert nothing(memory) and memory.verify().ok


def test_a_deleted_file_is_forgotten_not_erased_and_its_return_shows_it_again(memory: Memory) -> None:
    file = note(memory, "a/Note.md", "the heron")
    memory.vault.sync()
    file.unlink()
    assert memory.vault.sync().deleted == ["a/Note.md"]
    assert hits(memory, "heron") == [] and memory.show("/vault/a/note")["text"] == "the heron"
    note(memory, "a/Note.md", "the heron")
    memory.vault.sync()
    assert hits(memory, "heron") == ["/vault/a/note"] and memory.verify().ok


def test_what_a_person_forgot_stays_forgotten_when_its_file_is_edited_or_moved(memory: Memory) -> None:
    file = note(memory, "a/Note.md", "the heron")
    memory.vault.sync()
    memory.forget("/vault/a/note")
    file.write_text("the heron sails")
    memory.vault.sync()
    os.rename(file, file.with_name("Other.md"))
    memory.vault.sync()
    assert hits(memory, "heron") == [] and memory.verify().ok


def test_nothing_is_concluded_from_a_folder_that_cannot_be_read(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    note(memory, "a/One.md", "one")
    note(memory, "b/Two.md", "two")
    memory.vault.sync()
    real = os.scandir

    def scandir(path: Path) -> object:
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("mnemic.vault.scan.os.scandir", scandir)
    report = memory.vault.sync()
    assert report.deleted == [] and "cannot be listed" in report.skipped["a"]
    assert hits(memory, "one") == ["/vault/a/one"]


def test_a_folder_that_is_empty_or_not_there_at_all_forgets_nothing(memory: Memory) -> None:
    file = note(memory, "One.md", "one")
    memory.vault.sync()
    file.unlink()
    assert memory.vault.sync().held == ["One.md"]
    memory.vault.root.rmdir()
    report = memory.vault.sync()
    assert report.deleted == [] and "." in report.skipped
    memory.vault.root.mkdir()
    assert memory.vault.sync(accept_deletions=True).deleted == ["One.md"]


def test_the_first_sync_of_a_home_makes_an_empty_vault(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    assert memory.vault.status()["skipped"] == {} and not memory.vault.root.exists()
    report = memory.vault.sync()
    assert report.skipped == {} and report.new == [] and (memory.vault.root / ".git").is_dir()


def test_very_many_deletions_at_once_wait_to_be_confirmed(memory: Memory) -> None:
    files = [note(memory, f"a/{number}.md", f"text {number}") for number in range(30)]
    memory.vault.sync()
    for file in files[:25]:
        file.unlink()
    assert len(memory.vault.sync().held) == 25
    assert len(memory.vault.sync(accept_deletions=True).deleted) == 25


def test_a_file_that_changes_while_it_is_read_waits(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    file = note(memory, "a/Note.md", "half of it")
    real, saved = os.fstat, []

    def fstat(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        if found.st_ino == os.stat(file).st_ino and not saved:
            saved.append(1)
            with open(file, "a") as handle:
                handle.write(", and the rest")
        return found

    monkeypatch.setattr("mnemic.vault.files.os.fstat", fstat)
    assert memory.vault.sync().waiting == ["a/Note.md"]
    assert memory.vault.sync().new == ["a/Note.md"]
    assert memory.show("/vault/a/note")["text"] == "half of it, and the rest"


def test_an_emptied_file_counts_as_half_saved_once_and_then_as_deleted(memory: Memory) -> None:
    file = note(memory, "a/Note.md", "the heron")
    memory.vault.sync()
    file.write_text("")
    assert memory.vault.sync().waiting == ["a/Note.md"] and hits(memory, "heron") == ["/vault/a/note"]
    assert memory.vault.sync().deleted == ["a/Note.md"] and hits(memory, "heron") == []
    file.write_text("the heron again")
    memory.vault.sync()
    assert hits(memory, "heron") == ["/vault/a/note"] and nothing(memory)


@pytest.mark.parametrize(
    "copy",
    ["Note (conflicted copy 2026-03-10).md", "Note (Ada's conflicted copy 2026-03-10).md",
     "Note.sync-conflict-20260310-120000-ABCDEFG.md", "Note.conflict-0123abcd.md", "Note (Case Conflict).md"],
)  # fmt: skip
def test_a_conflict_copy_is_kept_and_told_and_not_remembered(memory: Memory, copy: str) -> None:
    note(memory, "a/Note.md", "the heron")
    file = note(memory, f"a/{copy}", "another heron")
    report = memory.vault.sync()
    assert report.new == ["a/Note.md"] and report.conflicts == [f"a/{copy}"]
    assert file.read_text() == "another heron" and hits(memory, "another") == []


def test_a_conflict_copy_whose_original_is_gone_is_a_note(memory: Memory) -> None:
    note(memory, "a/Note (conflicted copy 2026-03-10).md", "the only heron")
    assert len(memory.vault.sync().new) == 1


def test_a_note_that_is_in_the_cloud_only_is_not_gone(memory: Memory) -> None:
    file = note(memory, "a/Note.md", "the heron")
    memory.vault.sync()
    os.rename(file, file.with_name(".Note.md.icloud"))
    assert memory.vault.sync().deleted == [] and hits(memory, "heron") == ["/vault/a/note"]


def test_odd_names_and_bytes_are_taken_or_told_and_never_touched(memory: Memory) -> None:
    texts = {
        "a/Zoe\u0308.md": b"decomposed", "a/Zo\u00eb.md": b"composed", "a/case.md": b"lower", "a/CASE.md": b"upper",
        "a/tab\tline\n.md": b"odd", "a/bom.md": b"\xef\xbb\xbfBOM\r\nCRLF\r\n", "a/trailing .md": b"blank",
        "a/broken.md": b"---\na: [1\n---\nheron body", "a/long.md": b"word " * 20_000, "a/latin.md": b"caf\xe9",
    }  # fmt: skip
    for path, data in texts.items():
        note(memory, path, data)
    os.symlink("/etc/passwd", memory.vault.root / "a/link.md")
    os.mkfifo(memory.vault.root / "a/pipe.md")
    with open(os.fsencode(memory.vault.root) + b"/a/\xff.md", "wb") as handle:
        handle.write(b"name")
    report = memory.vault.sync()
    assert sorted(report.new) == sorted(texts)
    assert report.skipped.pop("a/\udcff.md") == "its name is not UTF-8: rename it"
    assert report.skipped == {
        "a/latin.md": "it is not UTF-8 text: convert it", "a/link.md": "it is a symlink", "a/pipe.md": "it is no regular file"
    }  # fmt: skip
    assert hits(memory, "heron body") and nothing(memory)
    assert {path: (memory.vault.root / path).read_bytes() for path in texts} == texts


@pytest.mark.parametrize("line", [b"x" * 5_000_000, "\u96e8".encode() * 100_000, b"word " * 100_000])
def test_a_very_long_line_is_remembered_with_its_link_and_stays_as_it_is(memory: Memory, line: bytes) -> None:
    file = note(memory, "a/long.md", line + b" [[Ada]] heron")
    note(memory, "Ada.md", "x")
    before = file.read_bytes()
    start = time.process_time()
    assert sorted(memory.vault.sync().new) == ["Ada.md", "a/long.md"] and nothing(memory)
    assert time.process_time() - start < 30
    assert memory.vault.backlinks("Ada.md") == ["a/long.md"] and hits(memory, "heron") == ["/vault/a/long"]
    assert file.read_bytes() == before and memory.verify().ok


def test_a_hundred_folders_deep_is_not_too_deep(memory: Memory) -> None:
    path = "/".join(["d"] * 100) + "/Note.md"
    note(memory, path, "the heron")
    assert memory.vault.sync().new == [path] and nothing(memory) and len(hits(memory, "heron")) == 1


def test_decay_a_touch_and_a_tier_change_only_the_lines_that_say_so_and_no_other_note(memory: Memory) -> None:
    head = b"\xef\xbb\xbf---\r\n# mine\r\ntier: cold # why\r\nodd:  'x'\r\n---\r\n"
    file = note(memory, "cards/people/Ada.md", head + b"x [[Eve]] \r\n\r\n")
    other = note(memory, "a/Eve.md", b"---\ntier:  cold\n---\nno card")
    memory.vault.sync()
    memory.touch("/cards/people/ada")
    memory.tier("/cards/people/ada", "core")
    memory.decay()
    lines = file.read_bytes().splitlines(keepends=True)
    assert [line for line in lines if not line.startswith((b"tier:", b"relevance:", b"last_accessed:", b"access_count:"))] == [
        b"\xef\xbb\xbf---\r\n", b"# mine\r\n", b"odd:  'x'\r\n", b"---\r\n", b"x [[Eve]] \r\n", b"\r\n"
    ]  # fmt: skip
    assert b"tier: core # why\r\n" in lines and other.read_bytes() == b"---\ntier:  cold\n---\nno card"
    assert nothing(memory) and memory.verify().ok


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(memory: Memory) -> None:
    file = note(memory, "a/Note.md", "the heron")
    assert memory.vault.sync(dry_run=True).new == ["a/Note.md"] and memory.ledger() == []
    memory.vault.sync()
    os.rename(file, file.with_name("Other.md"))
    note(memory, "a/New.md", "new")
    report = memory.vault.sync(dry_run=True)
    assert (report.new, report.moved, report.deleted) == (["a/New.md"], [{"from": "a/Note.md", "to": "a/Other.md"}], [])


def test_a_kill_between_a_write_and_its_record_does_not_pass_it_off_as_a_persons(tmp_path: Path) -> None:
    outcomes = set()
    for calls in count(0, 2):
        folder = tmp_path / str(calls)
        folder.mkdir()
        memory = opened(folder, git="off")
        memory.vault.folder = Folder(memory.vault.root, Dying(calls))
        try:
            memory.cards.new("Ada", "contact", description="likes tea", origin="agent")
            ended = True
        except Killed:
            ended = False
        memory.vault.folder = Folder(memory.vault.root, Disk())
        memory.vault.sync()
        there = memory._store.document(memory.namespace, "/cards/people/ada")
        outcomes.add(there is not None)
        assert there is None or there.origin == "agent"
        assert there is None or "[[Ada]]" in (memory.vault.root / "moc/people.md").read_text()
        assert memory.verify().ok and nothing(memory)
        memory.close()
        if ended:
            break
    assert outcomes == {True, False}


def test_a_rename_that_was_killed_anywhere_is_finished_by_the_next_sync(tmp_path: Path) -> None:
    for calls in count(0, 3):
        folder = tmp_path / str(calls)
        folder.mkdir()
        memory = opened(folder, git="off")
        memory.cards.new("Ada", "contact", description="likes tea")
        note(memory, "a/One.md", "by [[Ada]]\r\n")
        memory.vault.sync()
        memory.vault.folder = Folder(memory.vault.root, Dying(calls))
        try:
            memory.cards.rename("Ada", "Countess")
            ended = True
        except Killed:
            ended = False
        memory.vault.folder = Folder(memory.vault.root)
        memory.vault.sync()
        names = sorted(os.listdir(memory.vault.root / "cards/people"))
        linked = (memory.vault.root / "a/One.md").read_bytes()
        assert (names, linked) in [(["Ada.md"], b"by [[Ada]]\r\n"), (["Countess.md"], b"by [[Countess]]\r\n")]
        assert memory.vault.status()["broken_links"] == [] and memory.verify().ok
        memory.close()
        if ended:
            break
    assert calls > 6 and names == ["Countess.md"]


def test_two_namespaces_have_two_vaults(memory: Memory) -> None:
    other = memory.within("work")
    note(memory, "a/Note.md", "the heron")
    memory.vault.sync()
    assert other.vault.root != memory.vault.root and other.vault.sync().new == []
    assert [hit.path for hit in other.recall("heron").hits] == []


def test_erasing_a_note_takes_its_file_and_all_that_is_known_of_it(tmp_path: Path) -> None:
    memory = opened(tmp_path, git="off")
    file = note(memory, "cards/people/Zebrafinch.md", "---\ndescription: quagga\n---\nthe okapi")
    memory.vault.sync()
    memory.forget("/cards/people/zebrafinch", erase=True)
    memory.close()
    assert not file.exists()
    rest = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert [one.name for one in rest if b"quagga" in one.read_bytes() or b"okapi" in one.read_bytes()] == []


def test_erasing_a_folder_or_a_part_takes_the_files_or_says_where_the_text_stays(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    one, two = note(memory, "cards/people/One.md", "# A\n\nokapi\n\n# B\n\nquagga"), note(memory, "cards/people/Two.md", "two")
    memory.vault.sync()
    part = memory.forget("/cards/people/one/b", erase=True)
    assert part.elsewhere == ("the file 'cards/people/One.md': take the part out there too", "the vault's git history")
    done = memory.forget("/cards/people", erase=True)
    assert done.elsewhere == ("the vault's git history",)
    assert not one.exists() and not two.exists() and nothing(memory) and memory.verify().ok
