"""Rotations that get SIGKILL at their k-th write or sync: `python -m tests.lifecycle.killed [--again] [--timed] [EVERY]`.

For every k, or for every EVERYth. With --again what moves does so from the warm shelf. With --timed the parent sends the
signal from outside, EVERY tenths of a millisecond later each time, at whatever the rotation does by then. Prints one JSON object:
how many kills, and what was wrong after any of them. A program of its own because it forks.
"""

from __future__ import annotations

import json
import os
import select
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


def killed_after(folder: Path, seconds: float) -> bool:
    """Rotate in another process that is killed from outside so long after it began; whether that was before its end."""
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(told)
            memory = opened(folder)
            os.write(tells, b".")
            memory.rotate()
        finally:
            os._exit(0)
    os.close(tells)
    os.read(told, 1)
    select.select([told], [], [], seconds)  # readable once the child has ended
    os.kill(child, signal.SIGKILL)
    os.close(told)
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
                sql = "SELECT document FROM nodes UNION SELECT document FROM texts UNION SELECT document FROM messages"
                there = {number for (number,) in memory._store.shelf(name).rows(sql)}
                wanted = {d.id for d in memory._store.documents("default") if d.shelf == name}
                if there != wanted:
                    found.append(f"{turn}: the {name} shelf holds {there}, not {wanted}")
            if turn == "killed":
                memory.rotate()
        if [d.shelf for d in memory._store.documents("default")] != ["hot", "warm", "cold", "cold"]:
            found.append("repeated: not all stands where it belongs")
        found += entry_problems(memory)
        found += memory.doctor()["problems"]
    return found


def entry_problems(memory: Memory) -> list[str]:
    """What is wrong with where the ledger's entries stand, once the rotation is done."""
    found: list[str] = []
    hot, cold = ({row[0] for row in memory._store.shelf(name).rows("SELECT seq FROM ledger")} for name in ("hot", "cold"))
    if hot & cold:
        found.append(f"entries {hot & cold} stand twice")
    away = {f"document:{d.id}" for d in memory._store.documents("default") if d.shelf != "hot"}
    sql = "SELECT object FROM ledger WHERE seq<(SELECT max(seq) FROM ledger)"
    if stayed := away & {row[0] for row in memory._store.hot.rows(sql)}:
        found.append(f"entries about {stayed} stayed hot")
    if any(row["payload"] is None for row in memory.ledger_export()):
        found.append("the content of an entry is gone")
    return found


def main() -> None:
    timed = "--timed" in sys.argv
    if not timed:
        connection.VFS = install()
    wrong: dict[str, list[str]] = {}
    kills = {"time": 0} if timed else {"write": 0, "sync": 0}
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
                if not (killed_after(folder, k / 10_000) if timed else killed(folder, what, k)):
                    break
                kills[what] += 1
                if found := problems(folder, before):
                    wrong[f"{what} {k}"] = found
                shutil.rmtree(folder)
    print(json.dumps({"kills": kills, "wrong": wrong}))


if __name__ == "__main__":
    main()
