"""Rotations that get SIGKILL at their k-th write or sync: `python -m tests.lifecycle.killed [--again] [EVERY]`.

For every k, or for every EVERYth. With --again what moves does so from the warm shelf. Prints one JSON object: how many
kills, and what was wrong after any of them. A program of its own because it forks.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.models.answer import Budget
from mnemic.models.document import Turn
from mnemic.store.sqlite import connection
from tests.store.faults import DISK, install

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
WIDE = Budget(nodes=50, chars=99_999)


def opened(folder: Path) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}, clock=FixedClock(NOON))


def fill(folder: Path) -> None:
    with opened(folder) as memory:
        for name, days in (("young", 1), ("warm", 90), ("cold", 400)):
            memory.remember(f"The {name} walrus.\n\nIt naps by the kiln.", title=name, at=NOON - timedelta(days=days))
        said = int((NOON - timedelta(days=200)).timestamp() * 1000)
        memory.capture([Turn("user", "Where is the walrus?", created_at=said), Turn("assistant", "By the kiln.")], session="s")
        if "--again" in sys.argv:  # what is to move stands on the warm shelf already
            memory._rotation._move("default", [(d, "warm") for d in memory._store.documents("default")][1:])


def seen(memory: Memory) -> dict[str, Any]:
    """All that a user can see, but for the shelf and the history."""
    rows = [row["path"] for row in memory.tree(depth=9) if row["kind"] != "folder"]
    pages = {path: memory.show(path, touch=False) for path in rows}
    texts = {path: {key: page[key] for key in page if key not in ("shelf", "history")} for path, page in pages.items()}
    hits = sorted(hit.path for hit in memory.recall("walrus kiln", budget=WIDE).hits)
    return {"texts": texts, "hits": hits}


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit


def killed(folder: Path, what: str, k: int) -> bool:
    """Rotate in another process that dies at its k-th write or sync; whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            memory = opened(folder)
            DISK.arm(what, k, die, lasting=False)
            memory.rotate()
            DISK.calm()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def problems(folder: Path, before: dict[str, Any]) -> list[str]:
    """What is wrong after a kill: before anything is done, and after the rotation was done again."""
    found: list[str] = []
    with opened(folder) as memory:
        for turn in ("killed", "repeated"):
            if seen(memory) != before:
                found.append(f"{turn}: what is seen has changed")
            verdict = memory.verify()
            found += [] if verdict.ok else [f"{turn}: {verdict.problem}"]
            for name in ("hot", "warm", "cold"):
                sql = "SELECT document FROM nodes UNION SELECT document FROM texts"
                there = {number for (number,) in memory._store.shelf(name).rows(sql)}
                wanted = {d.id for d in memory._store.documents("default") if d.shelf == name}
                if there != wanted:
                    found.append(f"{turn}: the {name} shelf holds {there}, not {wanted}")
            if turn == "killed":
                memory.rotate()
        if [d.shelf for d in memory._store.documents("default")] != ["hot", "warm", "cold", "cold"]:
            found.append("repeated: not all stands where it belongs")
        found += memory.doctor()["problems"]
    return found


def main() -> None:
    connection.VFS = install()
    wrong: dict[str, list[str]] = {}
    kills = {"write": 0, "sync": 0}
    every = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1
    memory_disk = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a kill needs no real disk
    with tempfile.TemporaryDirectory(dir=memory_disk) as name:
        seed = Path(name) / "seed"
        fill(seed)
        shutil.copytree(seed, Path(name) / "look")
        with opened(Path(name) / "look") as memory:
            before = seen(memory)
        for what in kills:
            for k in range(1, 5_000, every):
                folder = Path(name) / f"{what}{k}"
                shutil.copytree(seed, folder)
                if not killed(folder, what, k):
                    break
                kills[what] += 1
                if found := problems(folder, before):
                    wrong[f"{what} {k}"] = found
                shutil.rmtree(folder)
    print(json.dumps({"kills": kills, "wrong": wrong}))


if __name__ == "__main__":
    main()
