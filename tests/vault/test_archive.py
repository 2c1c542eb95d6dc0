from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from mnemic.errors import BadInput, Damaged
from mnemic.memory import Memory
from mnemic.vault import archive
from tests.vault.homes import note, opened
from tests.vault.killed import files

HOSTILE = {
    "cards/people/Zoe\u0308.md": b"decomposed", "a/Zo\u00eb.md": b"composed", "a/case.md": b"lower", "a/CASE.md": b"upper",
    "a/tab\tline\n.md": b"odd", "a/bom.md": b"\xef\xbb\xbfBOM\r\n", "a/image.png": bytes(range(256)), ".obsidian/app.json": b"{}",
    "a/emoji 🧠 \\ back.md": b"x", "a/con.md": b"", "a/~tilde.md": b"t", "a/dots...md": b"d",
}  # fmt: skip


def recovered(folder: Path, source: Path) -> Memory:
    environ = {"MNEMIC_CONFIG": str(folder / "config")}
    (folder / "home").mkdir(parents=True, exist_ok=True)
    Memory.recover(source, folder / "home", environ=environ)
    return opened(folder)


def test_a_home_with_a_vault_comes_back_whole_with_its_git_history(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for path, data in HOSTILE.items():
            note(memory, path, data)
        os.utime(memory.vault.root / "a/case.md", ns=(1_000_000_000_123_456_700, 1_000_000_000_123_456_700))
        memory.cards.new("Ada", "contact", description="likes tea")
        memory.vault.sync()
        note(memory, "a/later.md", "saved after the last sync")
        other = memory.within("work")
        note(other, "Note.md", "the heron of work")
        other.vault.sync()
        done = memory.backup(tmp_path / "b.zip")
        wanted, times = files(memory.vault.root), (memory.vault.root / "a/case.md").stat().st_mtime_ns
        head = (memory.vault.root / ".git/refs/heads/master").read_text()
    assert done["skipped"] == {}
    with recovered(tmp_path / "new", tmp_path / "b.zip") as back:
        assert files(back.vault.root) == wanted and HOSTILE.items() <= files(back.vault.root).items()
        assert (back.vault.root / "a/case.md").stat().st_mtime_ns == times
        assert (back.vault.root / ".git/refs/heads/master").read_text() == head and back.vault.status()["git"] == "own"
        report = back.vault.sync()
        assert (report.new, report.edited, report.deleted, report.moved) == (["a/later.md"], [], [], [])
        assert back.within("work").recall("heron").hits and back.within("work").vault.sync().edited == []
        assert back.verify().ok and back.cards.show("Ada")["frontmatter"]["description"] == "likes tea"


def test_what_stood_there_is_kept_beside(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        note(memory, "a/Note.md", "then")
        memory.backup(tmp_path / "b.zip")
        note(memory, "a/Note.md", "now")
        note(memory, "a/New.md", "new")
        done = memory.restore(tmp_path / "b.zip")
    assert files(tmp_path / "home/vault") == {"a/Note.md": b"then"}
    assert files(Path(done["kept"]) / "vault")["a/Note.md"] == b"now"
    assert done["vaults"] == [str(tmp_path / "home/vault")]


def test_a_folder_outside_of_the_home_that_is_in_use_stays_and_the_backups_is_put_beside(tmp_path: Path) -> None:
    with opened(tmp_path, folder=str(tmp_path / "Notes")) as memory:
        note(memory, "a/Note.md", "then")
        memory.backup(tmp_path / "b.zip")
        note(memory, "a/Note.md", "now")
        done = memory.restore(tmp_path / "b.zip")
    assert files(tmp_path / "Notes") == {"a/Note.md": b"now"}
    assert [files(Path(place)) for place in done["vaults"]] == [{"a/Note.md": b"then"}]
    (tmp_path / "Notes/a/Note.md").unlink()
    (tmp_path / "Notes/a").rmdir()
    with opened(tmp_path, folder=str(tmp_path / "Notes")) as memory:
        assert memory.restore(tmp_path / "b.zip")["vaults"] == [str(tmp_path / "Notes")]
    assert files(tmp_path / "Notes") == {"a/Note.md": b"then"}


def test_a_link_from_the_home_to_a_folder_in_use_is_followed_and_that_folder_stays(tmp_path: Path) -> None:
    note_at = tmp_path / "Obsidian"
    note_at.mkdir()
    (tmp_path / "home").mkdir()
    os.symlink(note_at, tmp_path / "home/vault")
    with opened(tmp_path) as memory:
        note(memory, "Note.md", "then")
        memory.backup(tmp_path / "b.zip")
        note(memory, "Note.md", "now")
        (place,) = memory.restore(tmp_path / "b.zip")["vaults"]
    assert os.readlink(tmp_path / "home/vault") == str(note_at)
    assert (files(note_at), files(Path(place))) == ({"Note.md": b"now"}, {"Note.md": b"then"})


def test_a_backup_without_a_vault_leaves_the_one_that_is_there(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.backup(tmp_path / "b.zip")
        note(memory, "a/Note.md", "here")
        assert memory.restore(tmp_path / "b.zip")["vaults"] == []
    assert files(tmp_path / "home/vault") == {"a/Note.md": b"here"}


def test_links_fifos_and_another_repository_are_left_out_and_told(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        note(memory, "a/Note.md", "here")
        note(memory, "project/.git/config", "theirs")
        os.symlink("/etc/passwd", memory.vault.root / "a/link.md")
        os.symlink("/etc", memory.vault.root / "etc")
        os.mkfifo(memory.vault.root / "a/pipe.md")
        done = memory.backup(memory.vault.root / "b.zip")
    assert done["skipped"] == {
        "vault/a/link.md": "it is a symlink", "vault/etc": "it is a symlink", "vault/a/pipe.md": "it is no regular file",
        "vault/project/.git": "it is a repository of yours",
    }  # fmt: skip
    with zipfile.ZipFile(tmp_path / "home/vault/b.zip") as packed:
        names = {name for name in packed.namelist() if not name.endswith("/")}
    assert names == {"memory.db", "memory-warm.db", "memory-cold.db", "vault/a/Note.md"}


def test_no_live_database_is_read_where_the_vault_lies_around_the_home(tmp_path: Path) -> None:
    with opened(tmp_path, folder="..") as memory:
        note(memory, "Note.md", "here")
        memory.backup(tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as packed:
        assert sum("memory.db" in name for name in packed.namelist()) == 1 and "vault/Note.md" in packed.namelist()


@pytest.mark.parametrize(
    "name",
    ["../evil.md", "vault/../../evil.md", "/evil.md", "vault//evil.md", "vault/./evil.md", "vault/a/..", "other/evil.md", "vault",
     "evil.md", "~/evil.md", "vault/..", "vaults/../vault/x.md"],
)  # fmt: skip
def test_a_name_that_would_lead_out_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with opened(tmp_path) as memory:
        note(memory, "a/Note.md", "here")
        memory.backup(tmp_path / "b.zip")
        with zipfile.ZipFile(tmp_path / "b.zip", "a") as packed:
            packed.writestr(zipfile.ZipInfo(name), b"evil")
        before = sorted(path for path in tmp_path.rglob("*") if ".git" not in path.parts)
        with pytest.raises(BadInput):
            memory.restore(tmp_path / "b.zip")
        assert sorted(path for path in tmp_path.rglob("*") if ".git" not in path.parts) == before
        assert memory.verify().ok


def test_a_link_in_a_backup_is_refused_and_so_is_a_name_that_is_there_twice(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as packed:
        link = zipfile.ZipInfo("vault/link")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "/etc")
    with zipfile.ZipFile(tmp_path / "b.zip") as packed, pytest.raises(BadInput, match="no regular file"):
        archive.unpack(packed, packed.infolist(), tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("vault/a.md", "one")
        packed.writestr("vault/a.md", "two")
    with zipfile.ZipFile(tmp_path / "c.zip") as packed, pytest.raises(Damaged, match="twice"):
        archive.unpack(packed, packed.infolist(), tmp_path / "out")
    assert (tmp_path / "out/vault/a.md").read_text() == "one"
