"""Disks that are full or fail at the k-th write or sync, for every k of one remember and one capture."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.errors import DiskFull, StoreError
from mnemic.models.document import Turn
from mnemic.store.sqlite import connection
from tests.store.faults import DISK, broken, full, install

NOON = FixedClock(datetime(2026, 3, 10, 12, tzinfo=UTC))
TURNS = [Turn("user", "Where does the quokka live?"), Turn("assistant", "On an island.\n\nThe quokka likes it.")]
Act = Callable[[Memory], object]


def remember(memory: Memory) -> object:
    return memory.remember("The quokka smiles.\n\nIt lives on an island.", title="Quokka", op_id="op-1")


def capture(memory: Memory) -> object:
    return memory.capture(TURNS, session="zoo")


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home with something in it, on a disk that can fail."""
    monkeypatch.setattr(connection, "VFS", install())
    with opened(tmp_path / "seed") as memory:
        memory.remember("The walrus naps.", title="Walrus")
        memory.capture([Turn("user", "Hello"), Turn("assistant", "Hi")], session="zoo")
    yield tmp_path / "seed"
    DISK.calm()


def opened(folder: Path) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}, clock=NOON)


@pytest.mark.parametrize("act", [remember, capture])
@pytest.mark.parametrize(
    ("what", "make", "lasting", "advice"),
    [
        ("write", full, True, "free some space and repeat"),
        ("write", broken, False, "open the home again and repeat"),
        ("sync", broken, False, "open the home again and repeat"),
        ("sync", full, True, "free some space and repeat"),
    ],
    ids=["full", "write-error", "sync-error", "full-at-sync"],
)
def test_a_disk_that_fails_leaves_all_or_nothing_and_the_repetition_one_copy(
    seed: Path, act: Act, what: str, make: Callable[[], apsw.Error], lasting: bool, advice: str
) -> None:
    for k in range(1, 200):
        folder = seed.with_name(f"k{k}")
        shutil.copytree(seed, folder, ignore=shutil.ignore_patterns("reserve"))
        memory = opened(folder)
        DISK.arm(what, k, make, lasting=lasting)
        try:
            act(memory)
            acknowledged = True
        except StoreError as error:
            acknowledged = False
            assert advice in str(error)
        struck = DISK.failed
        DISK.calm()  # closing ignores a failing disk, but an exception of the layer would pass through it
        memory.close()
        with opened(folder) as memory:
            assert memory.verify().ok
            there = memory.status()["documents"]
            assert there in ((3,) if acknowledged else (2, 3))
            act(memory)
            assert memory.verify().ok
            assert (memory.status()["documents"], memory.doctor()["problems"]) == (3, [])
            assert memory.recall("quokka island").hits
        shutil.rmtree(folder)
        if not struck:
            break
    assert not struck and k > 2


@pytest.mark.parametrize("erase", [False, True])
def test_on_a_full_disk_a_note_can_still_be_forgotten_and_erased(seed: Path, erase: bool) -> None:
    held = seed / "home" / "reserve"
    with opened(seed) as memory:
        DISK.held = held
        with pytest.raises(DiskFull):
            memory.remember("The quokka smiles.")
        assert memory.recall("walrus").hits
        assert memory.forget("/notes/walrus", erase=erase).documents == 1
        assert not held.exists()
        DISK.calm()
        assert memory.recall("walrus").hits == ()
        assert memory.verify().ok
    with opened(seed):
        assert held.stat().st_size == 2 << 20
