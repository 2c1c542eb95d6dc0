from __future__ import annotations

import os
from pathlib import Path

import pytest
from dulwich.repo import Repo

from mnemic.memory import Memory
from tests.vault.homes import note, opened


def log(root: Path) -> list[str]:
    with Repo(str(root)) as repository:
        return [entry.commit.message.decode() for entry in repository.get_walker()]


def files(root: Path) -> list[str]:
    with Repo(str(root)) as repository:
        return sorted(name.decode() for name in repository.open_index())


def test_each_sync_is_a_commit_with_the_ledgers_head(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    file = note(memory, "a/One.md", "one")
    memory.vault.sync()
    first = memory.ledger()[0]
    file.write_text("two")
    memory.vault.sync()
    assert log(memory.vault.root)[1] == f"sync: 1 new\n\nMnemic-Ledger-Head: {first['seq']} {first['hash']}\n"
    assert len(log(memory.vault.root)) == 2 and files(memory.vault.root) == ["a/One.md"]
    file.unlink()
    note(memory, "b/Two.md", "2")
    memory.vault.sync()
    assert files(memory.vault.root) == ["b/Two.md"]
    assert memory.vault.sync().commit is None and len(log(memory.vault.root)) == 3


@pytest.mark.parametrize("place", ["", "home", "home/vault"])
def test_a_users_own_repository_is_left_alone(tmp_path: Path, place: str) -> None:
    around = tmp_path / place
    around.mkdir(parents=True, exist_ok=True)
    Repo.init(str(around)).close()
    memory = opened(tmp_path)
    note(memory, "a/One.md", "one")
    report = memory.vault.sync()
    assert report.new == ["a/One.md"] and report.commit is None and memory.vault.status()["git"] == "foreign"
    assert (memory.vault.root / ".git").exists() == (place == "home/vault")
    with Repo(str(around)) as repository:
        assert list(repository.open_index()) == [] and not repository.get_refs()


def test_a_users_own_repository_is_committed_to_when_configured(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    Repo.init(str(tmp_path / "home")).close()
    memory = opened(tmp_path, git="any")
    note(memory, "a/One.md", "one")
    assert memory.vault.sync().commit is not None
    assert files(tmp_path / "home") == ["vault/a/One.md"] and not (memory.vault.root / ".git").exists()


def test_git_can_be_switched_off(tmp_path: Path) -> None:
    memory = opened(tmp_path, git="off")
    note(memory, "a/One.md", "one")
    assert memory.vault.sync().commit is None and not (memory.vault.root / ".git").exists()


def test_a_repository_that_is_locked_stops_no_sync_and_the_next_commits(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    note(memory, "a/One.md", "one")
    memory.vault.sync()
    lock = memory.vault.root / ".git/index.lock"
    lock.touch()
    note(memory, "a/Two.md", "two")
    report = memory.vault.sync()
    assert report.new == ["a/Two.md"] and ".git" in report.skipped and memory.vault.status()["uncommitted"] == 1
    os.unlink(lock)
    assert memory.vault.sync().commit is not None and files(memory.vault.root) == ["a/One.md", "a/Two.md"]


def test_no_link_out_of_the_vault_is_committed(tmp_path: Path) -> None:
    memory: Memory = opened(tmp_path)
    file = note(memory, "a/One.md", "one")
    memory.vault.sync()
    file.unlink()
    os.symlink("/etc/passwd", file)
    note(memory, "a/Two.md", "two")
    memory.vault.sync()
    assert files(memory.vault.root) == ["a/One.md", "a/Two.md"]


def test_a_broken_repository_in_the_vault_is_left_alone_and_stops_no_sync(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    note(memory, "a/One.md", "one")
    note(memory, ".git/config", "half of it")
    assert memory.vault.sync().new == ["a/One.md"] and memory.vault.status()["git"] == "foreign"
    assert os.listdir(memory.vault.root / ".git") == ["config"]


def test_a_commit_that_finds_another_ones_new_head_leaves_it_and_is_made_by_the_next_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(tmp_path)
    note(memory, "a/One.md", "one")
    memory.vault.sync()
    note(memory, "a/Two.md", "two")
    with monkeypatch.context() as patch:
        patch.setattr(Repo, "head", lambda self: b"0" * 40)
        patch.setattr(Repo, "__getitem__", lambda self, name: type("Commit", (), {"tree": None}))
        assert ".git" in memory.vault.sync().skipped and memory.vault.status()["uncommitted"] == 1
    assert memory.vault.sync().commit is not None and files(memory.vault.root) == ["a/One.md", "a/Two.md"]


def test_a_file_and_a_folder_can_take_each_others_name(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    file = note(memory, "a/x.md", "a file")
    memory.vault.sync()
    file.unlink()
    inner = note(memory, "a/x.md/y.md", "in a folder")
    memory.vault.sync()
    assert files(memory.vault.root) == ["a/x.md/y.md"]
    inner.unlink()
    inner.parent.rmdir()
    note(memory, "a/x.md", "a file again")
    memory.vault.sync()
    assert files(memory.vault.root) == ["a/x.md"]
    with Repo(str(memory.vault.root)) as repository:
        tree = repository[repository[repository.head()].tree]
        assert [name for name, _, _ in repository[tree[b"a"][1]].items()] == [b"x.md"]


def test_what_a_user_has_staged_in_their_own_repository_stays_staged_and_uncommitted(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    with Repo.init(str(tmp_path / "home")) as repository:
        (tmp_path / "home/mine.txt").write_text("mine")
        repository.get_worktree().stage(["mine.txt"])
    memory = opened(tmp_path, git="any")
    note(memory, "a/One.md", "one")
    memory.vault.sync()
    assert files(tmp_path / "home") == ["mine.txt", "vault/a/One.md"]
    with Repo(str(tmp_path / "home")) as repository:
        assert [name for name, _, _ in repository[repository[repository.head()].tree].items()] == [b"vault"]
