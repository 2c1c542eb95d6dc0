from __future__ import annotations

import errno
import os
from itertools import count
from pathlib import Path

import pytest

from bench.vault import Figures, interleave
from mnemic.errors import BadInput, Conflict, DiskFull, NotFound, StoreError
from mnemic.vault.files import Folder, contained, file_name, is_side_file
from tests.vault.homes import Dying, Killed

OLD, NEW = b"old " * 5000, b"new " * 9000


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_file_is_written_and_read_back(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "v")
    made = folder.create("a/b.md", b"one")
    done = folder.replace("a/b.md", b"two", made.digest)
    assert done is not None and folder.read("a/b.md").data == b"two"
    assert names(tmp_path) == ["v/a/b.md"]


def test_a_file_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.create("a.md", b"one")
    with pytest.raises(Conflict, match="there already"):
        folder.create("a.md", b"two")
    assert folder.read("a.md").data == b"one" and names(tmp_path) == ["a.md"]


def test_a_kill_at_any_call_of_a_write_leaves_the_old_or_the_new_and_the_sweep_leaves_nothing_else(tmp_path: Path) -> None:
    seen = set()
    for calls in count():
        root = tmp_path / str(calls)
        was = Folder(root).create("a/note.md", OLD).digest
        try:
            Folder(root, Dying(calls)).replace("a/note.md", NEW, was)
            ended = True
        except Killed:
            ended = False
        seen.add((root / "a/note.md").read_bytes())
        assert (root / "a/note.md").read_bytes() in (OLD, NEW)
        for name in names(root):
            if is_side_file(name.rpartition("/")[2]):
                assert Folder(root).sweep(name) is None
        assert names(root) == ["a/note.md"]
        if ended:
            break
    assert calls > 4 and seen == {OLD, NEW}


def test_a_kill_at_any_call_of_a_first_write_leaves_nothing_or_all(tmp_path: Path) -> None:
    for calls in count():
        root = tmp_path / str(calls)
        try:
            Folder(root, Dying(calls)).create("a/note.md", NEW)
            ended = True
        except Killed:
            ended = False
        for name in names(root) if root.exists() else []:
            if is_side_file(name.rpartition("/")[2]):
                Folder(root).sweep(name)
        if (root / "a/note.md").exists():
            assert (root / "a/note.md").read_bytes() == NEW
        if ended:
            break
    assert calls > 5 and (root / "a/note.md").read_bytes() == NEW


def test_a_kill_at_any_call_of_a_move_leaves_the_text_under_one_name_or_both(tmp_path: Path) -> None:
    for calls in count():
        root = tmp_path / str(calls)
        Folder(root).create("a/note.md", OLD)
        try:
            Folder(root, Dying(calls)).move("a/note.md", "b/other.md")
            ended = True
        except Killed:
            ended = False
        assert {(root / name).read_bytes() for name in names(root)} == {OLD}
        if ended:
            break
    assert names(root) == ["b/other.md"]


def test_a_full_disk_leaves_the_old_and_says_so(tmp_path: Path) -> None:
    was = Folder(tmp_path).create("note.md", OLD).digest
    for calls in (1, 2, 3):
        with pytest.raises(DiskFull, match="it is as it was"):
            Folder(tmp_path, Dying(calls, errno.ENOSPC)).replace("note.md", NEW, was)
        assert (tmp_path / "note.md").read_bytes() == OLD


def test_a_persons_save_in_between_stays_and_ours_is_written_beside(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    was = folder.create("note.md", b"one").digest
    (tmp_path / "note.md").write_bytes(b"a person's")
    path, _ = folder.put("note.md", b"ours", was)
    assert (tmp_path / "note.md").read_bytes() == b"a person's"
    assert path.startswith("note.conflict-") and (tmp_path / path).read_bytes() == b"ours"


def test_an_edit_is_applied_on_top_of_what_a_person_saved_meanwhile(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.create("note.md", b"one\n")

    def edit(data: bytes) -> bytes:
        if data == b"one\n":
            (tmp_path / "note.md").write_bytes(b"one\ntwo\n")
        return data + b"ours\n"

    folder.update("note.md", edit)
    assert names(tmp_path) == ["note.md"] and (tmp_path / "note.md").read_bytes() == b"one\ntwo\nours\n"


def test_an_editor_that_still_has_the_file_open_loses_nothing(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    was = folder.create("note.md", b"one\n").digest
    with open(tmp_path / "note.md", "r+b") as editor:
        folder.replace("note.md", b"ours\n", was)
        editor.write(b"late save\n")
    side = [name for name in names(tmp_path) if is_side_file(name)]
    kept = folder.sweep(side[0])
    assert kept is not None and (tmp_path / kept).read_bytes() == b"late save\n"
    assert (tmp_path / "note.md").read_bytes() == b"ours\n"


def test_a_hundred_saves_that_fall_into_our_writes_are_all_there_afterwards(tmp_path: Path) -> None:
    figures = Figures()
    interleave(tmp_path, 100, 7, figures)
    assert figures.lost == [] and figures.retried > 50 and figures.beside > 0


@pytest.mark.parametrize(
    "path", ["../a.md", "a/../../b.md", "/etc/passwd", "", ".", "a//b.md", "a/./b.md", "a\0b.md", "~/a.md", "a/"]
)
def test_a_path_that_would_leave_the_vault_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        contained(path)


def test_no_symlink_is_followed_and_no_fifo_is_waited_on(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "v"
    outside.mkdir()
    root.mkdir()
    (outside / "secret.md").write_text("secret")
    os.symlink(outside / "secret.md", root / "link.md")
    os.symlink(outside, root / "folder")
    os.mkfifo(root / "pipe.md")
    folder = Folder(root)
    for path in ("link.md", "pipe.md"):
        with pytest.raises(StoreError):
            folder.read(path)
    with pytest.raises(BadInput, match="no folder of the vault"):
        folder.create("folder/new.md", b"x")
    with pytest.raises(NotFound):
        folder.read("missing.md")
    assert os.listdir(outside) == ["secret.md"]


@pytest.mark.parametrize(
    ("title", "name"),
    [("Ada Lovelace", "Ada Lovelace"), ("a/b\\c: d?", "a b c d"), ("CON", "CON card"), ("[[x]]|#^", "x"), ("Ünï", "Ünï"),
     (" dots... ", "dots"), ("x" * 300, "x" * 200)],
)  # fmt: skip
def test_a_title_becomes_a_name_that_every_system_bears(title: str, name: str) -> None:
    assert file_name(title) == name


def test_a_title_without_a_letter_is_refused() -> None:
    with pytest.raises(BadInput, match="letter or a digit"):
        file_name("///")
