"""The doctor looks at everything, tells all it finds and what to do next, and never falls over what it finds."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.errors import Damaged, StoreError
from mnemic.models.document import Turn
from mnemic.text.tokens import tokenizer

NAMES = ("memory.db", "memory-warm.db", "memory-cold.db")


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home in `home` with two namespaces, and a backup of it in `b.zip`."""
    folder = tmp_path_factory.mktemp("seed")
    with opened(folder) as memory:
        for number in range(40):
            memory.remember(f"The walrus number {number} naps.\n\n" + "It naps long. " * 60, title=f"Walrus {number}")
        memory.capture([Turn("user", "Who naps?"), Turn("assistant", "The walrus")], session="zoo")
        memory.within("other").remember("A seal.")
        memory.backup(folder / "b.zip")
    return folder


@pytest.fixture
def folder(seed: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(seed, tmp_path, dirs_exist_ok=True)
    return tmp_path


def environ(folder: Path) -> dict[str, str]:
    return {"MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_NOW": "2026-03-10T12:00:00Z"}


def opened(folder: Path) -> Memory:
    return Memory.open(folder / "home", environ=environ(folder))


def examined(folder: Path) -> dict[str, Any]:
    """What the doctor says; every problem must tell what to do, and not to ask the doctor."""
    found = Memory.examine(folder / "home", environ=environ(folder))
    assert found["ok"] is (found["problems"] == [])
    for problem in found["problems"]:
        assert "mnemic doctor" not in problem
        assert any(advice in problem for advice in ("mnemic restore FILE", "mnemic reindex", "put it back")), problem
    return found


def flip(file: Path, *places: int) -> None:
    data = bytearray(file.read_bytes())
    for place in places:
        data[place] ^= 0x10
    file.write_bytes(data)


def restored(folder: Path) -> bool:
    Memory.recover(folder / "b.zip", folder / "home", environ=environ(folder))
    with opened(folder) as memory:
        return bool(memory.doctor()["ok"]) and memory.status()["documents"] == 41


def test_a_sound_home_has_no_problem(folder: Path) -> None:
    assert examined(folder)["problems"] == []


def test_damage_in_several_tables_and_the_ledgers_is_told_at_once(folder: Path) -> None:
    file = folder / "home" / "memory.db"
    data = file.read_bytes()
    places = [data.index(b"It naps long. " * 20), data.index(b'{"changes":[["documents"')]
    flip(file, *places)
    flip(folder / "home" / "memory-cold.db", 3 * 4096 + 4000)
    problems = examined(folder)["problems"]
    assert any(problem.startswith("memory.db: table texts has a damaged page") for problem in problems)
    assert any(problem.startswith("memory.db: table payloads has a damaged page") for problem in problems)
    assert any(problem.startswith("memory-cold.db") for problem in problems)
    assert any(problem.startswith("ledger of 'default' cannot be read") for problem in problems)
    assert not any("'other'" in problem for problem in problems)
    assert restored(folder)


def test_the_ledgers_of_all_namespaces_are_told(folder: Path) -> None:
    from mnemic.store.sqlite.connection import connect

    db = connect(folder / "home" / "memory.db")
    db.execute("UPDATE documents SET title='x'")
    db.execute("UPDATE meta SET value='old' WHERE key='tokenizer'")
    db.close()
    problems = examined(folder)["problems"]
    assert [problem.split(":")[0] for problem in problems] == [
        "ledger of 'default'", "ledger of 'other'", f"the full text was made by 'old', this is {tokenizer()!r}",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_gone_is_not_replaced_by_an_empty_one(folder: Path, name: str) -> None:
    for end in ("", "-wal", "-shm"):
        (folder / "home" / (name + end)).unlink(missing_ok=True)
    with pytest.raises(Damaged, match=f"{name} is missing or empty"):
        opened(folder)
    assert not (folder / "home" / name).exists()
    assert examined(folder)["problems"] == [f"{name} is missing: put it back, or restore a backup with `mnemic restore FILE`"]
    assert restored(folder)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 100, 8192, -1, -4096])
def test_a_file_that_was_cut_off_is_told_and_never_served_as_an_empty_one(folder: Path, name: str, size: int) -> None:
    file = folder / "home" / name
    file.write_bytes(file.read_bytes()[:size])
    problems = examined(folder)["problems"]
    assert problems and all(name in problem for problem in problems if not problem.startswith("ledger"))
    assert restored(folder)


@pytest.mark.parametrize("name", NAMES)
def test_garbage_in_place_of_a_file_is_told(folder: Path, name: str) -> None:
    (folder / "home" / name).write_bytes(random.Random(1).randbytes(20_000))
    with pytest.raises(StoreError):
        opened(folder)
    problems = examined(folder)["problems"]
    assert [problem.split()[0] for problem in problems] == [name]
    assert restored(folder)


def test_no_flipped_byte_makes_the_doctor_fall(folder: Path) -> None:
    draw = random.Random(7)
    whole = folder / "whole"
    shutil.copytree(folder / "home", whole)
    silent = 0
    for _ in range(30):
        shutil.rmtree(folder / "home")
        shutil.copytree(whole, folder / "home")
        file = folder / "home" / draw.choice(NAMES)
        flip(file, *(draw.randrange(file.stat().st_size) for _ in range(draw.choice((1, 40)))))
        silent += examined(folder)["ok"]
    assert silent <= 3  # a byte of a page that nothing uses


def test_a_home_that_was_never_finished_is_finished(tmp_path: Path) -> None:
    opened(tmp_path).close()
    shutil.copytree(tmp_path / "home", tmp_path / "whole")
    for kept in ((), NAMES[:1], NAMES[:2]):
        shutil.rmtree(tmp_path / "home")
        (tmp_path / "home").mkdir()
        for name in kept:
            shutil.copy(tmp_path / "whole" / name, tmp_path / "home" / name)
        if kept:
            from mnemic.store.sqlite.connection import connect

            db = connect(tmp_path / "home" / "memory.db")
            db.execute("DELETE FROM meta")
            db.close()
        with opened(tmp_path) as memory:
            assert memory.doctor()["ok"]
