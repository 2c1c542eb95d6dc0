"""A dream that is killed, or meets a fault, at any write: vault and store are as before it or as after it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import MnemicError
from mnemic.memory import Memory
from tests.synthesis.homes import files, opened, talk
from tests.vault.homes import Killed
from tests.vault.traced import killed_at

Prepared = tuple[Path, dict[str, bytes], dict[str, bytes]]


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
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """The home, and its files before and after a dream."""
    folder = tmp_path_factory.mktemp("base")
    base(folder)
    copy = folder.parent / "counted"
    shutil.copytree(folder, copy)
    with opened(copy) as memory:
        before = files(memory)
        memory.dream()
        return folder, before, files(memory)


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


def _may_trace() -> bool:
    try:
        return killed_at(1, lambda: lambda: os.mkdir("/nowhere/at/all"))
    except PermissionError:
        return False


@pytest.mark.parametrize("kinds", [["kill", "131"], ["write", "sync", "disk", "full", "97"]], ids=["SIGKILL", "faults"])
def test_a_night_that_is_killed_or_meets_a_fault_at_any_write_leaves_before_or_after_and_is_undone(kinds: list[str]) -> None:
    if "kill" in kinds and not (sys.platform.startswith("linux") and _may_trace()):
        pytest.skip("no process may be traced here")
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "tests.synthesis.killed", *kinds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths})
    report = json.loads(done.stdout)
    assert report["wrong"] == {}
    assert min(report["points"].values()) >= 1 and sum(report["points"].values()) > 5
    if "kill" in kinds:
        assert 0 < report["new"]["kill"] < report["points"]["kill"]


@pytest.mark.parametrize("place", ["journal", "commit", "committed", "kept"])
def test_a_kill_between_the_steps_leaves_before_or_after(
    prepared: Prepared, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before, after = prepared
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
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before, _ = prepared
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
