"""A dream that is killed, or meets a fault, at any write: vault and store are as before it or as after it."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import MnemicError
from mnemic.memory import Memory
from mnemic.vault.files import Folder
from tests.synthesis.homes import files, opened, talk
from tests.vault.homes import Dying, Killed


def rows(memory: Memory) -> dict[str, list[Any]]:
    return {name: list(memory._store.rows("default", name)) for name in ("chunks", "subjects", "routes", "dreams")}


def base(folder: Path) -> None:
    """A home with articles, and a session that waits."""
    with opened(folder) as memory:
        talk(memory, "spring-1", "spring-2")
        memory.dream()
        talk(memory, "summer-1")
        memory.vault.sync()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes], dict[str, bytes], int]:
    """The home, its files before and after a dream, and how many calls to the disk that takes."""
    folder = tmp_path_factory.mktemp("base")
    base(folder)
    copy = folder.parent / "counted"
    shutil.copytree(folder, copy)
    with opened(copy) as memory:
        before = files(memory)
        disk = Dying(10**6)
        memory.vault.folder = Folder(memory.vault.root, disk)
        memory.dream()
        return folder, before, files(memory), 10**6 - disk.left


def numberless(pages: dict[str, bytes]) -> dict[str, bytes]:
    """The pages without the numbers of dreams: one that was killed has had its own."""
    return {path: re.sub(rb"## Dream \d+", b"## Dream", data) for path, data in pages.items()}


def check(folder: Path, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    with opened(folder) as memory:
        memory.vault.sync()
        found, dreams = files(memory), len(rows(memory)["dreams"])
        assert found == (after if dreams == 2 else before)
        assert memory.verify().ok
        assert not memory.vault.together.interrupted
        memory.dream()
        assert numberless(files(memory)) == numberless(after)
        memory.undo("dream:" + str(memory.dreams()[0]["id"]))
        assert files(memory) == before


@pytest.mark.parametrize("share", [0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9])
def test_a_kill_at_any_write_leaves_before_or_after(
    prepared: tuple[Path, dict[str, bytes], dict[str, bytes], int], tmp_path: Path, share: float
) -> None:
    folder, before, after, calls = prepared
    home = tmp_path / "home"
    shutil.copytree(folder, home)
    with opened(home) as memory:
        memory.vault.folder = Folder(memory.vault.root, Dying(int(calls * share)))
        with pytest.raises(Killed):
            memory.dream()
    check(home, before, after)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_fault_at_any_write_leaves_before_or_after(
    prepared: tuple[Path, dict[str, bytes], dict[str, bytes], int], tmp_path: Path, share: float, error: int
) -> None:
    folder, before, after, calls = prepared
    home = tmp_path / "home"
    shutil.copytree(folder, home)
    with opened(home) as memory:
        memory.vault.folder = Folder(memory.vault.root, Dying(max(1, int(calls * share)), error))
        try:
            memory.dream()
        except (MnemicError, OSError):
            memory.vault.folder = Folder(memory.vault.root)
    check(home, before, after)


@pytest.mark.parametrize("place", ["journal", "commit", "committed", "kept"])
def test_a_kill_between_the_steps_leaves_before_or_after(
    prepared: tuple[Path, dict[str, bytes], dict[str, bytes], int], tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before, after, _ = prepared
    home = tmp_path / "home"
    shutil.copytree(folder, home)

    def die(*parts: Any, **more: Any) -> Any:
        raise Killed(place)

    with opened(home) as memory:
        target, name = {
            "journal": (memory.vault, "intend"), "commit": (memory._ledger, "record"), "committed": (memory._ledger, "committed"),
            "kept": (memory.vault, "read_back"),
        }[place]  # fmt: skip
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(type(target), name, die)
            memory.dream()
    check(home, before, after)


def test_a_page_that_a_person_saves_meanwhile_stops_the_dream(
    prepared: tuple[Path, dict[str, bytes], dict[str, bytes], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before, _, _ = prepared
    home = tmp_path / "home"
    shutil.copytree(folder, home)
    with opened(home) as memory:
        intend = type(memory.vault).intend
        file = memory.vault.root / "articles" / "Tomas.md"

        def saved(vault: Any, texts: Any) -> None:
            intend(vault, texts)
            if b"hello" not in file.read_bytes():
                file.write_bytes(file.read_bytes() + b"hello\n")

        with monkeypatch.context() as patch, pytest.raises(MnemicError, match="edited meanwhile"):
            patch.setattr(type(memory.vault), "intend", saved)
            memory.dream()
        assert files(memory) == {**before, "articles/Tomas.md": before["articles/Tomas.md"] + b"hello\n"}
        assert memory.verify().ok
