"""Nights that get SIGKILL at their n-th system call, or meet a fault at their n-th write: `python -m tests.synthesis.killed`.

    python -m tests.synthesis.killed [kill|write|sync|disk|full …] [EVERY]

kill: `mnemic dream`, in a process of its own, is killed at every call that may change a file, SQLite's, git's and ours alike.
write, sync: the store's n-th write or sync fails; disk, full: the vault's n-th call fails with EIO or ENOSPC, and so do all
after it. For every n, or for every EVERYth. After each: files, rows and what is recalled are all as before the night or all as
after it, the ledger and the doctor have nothing to say, the next night comes to the same, and its undo brings back every byte.
Prints one JSON object: how many of each, how many ended in the new state, and what was wrong. A program of its own: it forks.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from mnemic.context.summaries import Summary
from mnemic.errors import MnemicError
from mnemic.interfaces.cli.app import app
from mnemic.memory import Memory
from mnemic.store.sqlite import connection
from mnemic.vault import GONE
from mnemic.vault.files import Folder
from tests.homes import NOON
from tests.store.faults import DISK, broken, install
from tests.synthesis.homes import opened, talk
from tests.vault.homes import Dying
from tests.vault.traced import killed_at

KINDS = ("kill", "write", "sync", "disk", "full")
ROWS = ("chunks", "subjects", "routes", "visibility", "summaries")
State = dict[str, Any]


def fill(folder: Path) -> None:
    """Articles, and a night that has something to do in each of its stages."""
    with opened(folder, git="own") as memory:
        talk(memory, "spring-1", "spring-2")
        memory.dream()
        talk(memory, "summer-1")
        for text in ("The train to York leaves at 9:30.", "the train to York leaves at 9:30!"):
            memory.remember(text, index=False)
        for number in range(4):
            mid = Summary(id=0, session="s", level="mid", begins=f"b{number}", ends=f"e{number}", messages=3, replaced=90,
                          importance=0.6, origin="user", judge="rules", created_at=number, text="…")  # fmt: skip
            memory._pyramid("remove").add(mid, [mid], [])
        memory.vault.sync()


def seen(memory: Memory) -> State:
    """All that a night changes and a user can see, but for the day's log, which tells of attempts and undos too."""
    root = memory.vault.root
    found = [file for file in sorted(root.rglob("*")) if file.is_file() and not {".git", "daily"} & set(file.parts)]
    rows: dict[str, Any] = {str(file.relative_to(root)): _numberless(file.read_text("utf-8")) for file in found}
    for name in ROWS:
        for row in memory._store.rows("default", name):
            plain = {key: row[key] for key in row if key != "id" or not isinstance(row[key], int)}
            rows[f"{name} {plain}"] = ""
    hidden = {row["path"] for row in memory._store.rows("default", "visibility")}
    for document in memory._store.documents("default", limit=1_000):
        if document.path not in hidden and document.kind != "daily":
            rows[document.path] = _numberless(str(memory.show(document.path, touch=False)["text"]))
    gone = [row for row in rows if row.startswith("visibility") and GONE in row]  # what a page was that an undo took away
    return {"dreams": memory._store.count("default", "dreams", {}), **{row: rows[row] for row in rows if row not in gone}}


def _numberless(text: str) -> str:
    """A text without the numbers of dreams: one that was killed has had its own."""
    return re.sub(r"## Dream \d+", "## Dream", text)


def problems(folder: Path, before: State, after: State) -> tuple[list[str], bool]:
    """What is wrong after a kill or a fault, and whether the night counts as done."""
    found: list[str] = []
    with opened(folder) as memory:
        memory.vault.sync()
        now = seen(memory)
        done = now["dreams"] == after["dreams"]
        found += _differences("killed", now, after if done else before)
        if memory.vault.together.interrupted:
            found.append("killed: something is still begun")
        memory.dream()
        found += _differences("repeated", seen(memory), after)
        memory.undo(f"dream:{memory.dreams()[0]['id']}")
        found += _differences("undone", seen(memory), before)
        verdict = memory.verify()
        found += [] if verdict.ok else [f"ledger: {verdict.problem}"]
        found += memory.doctor()["problems"]
    return found, done


def _differences(when: str, now: State, wanted: State) -> list[str]:
    return [f"{when}: {part[:200]!r} is {str(now.get(part))[:300]!r}, not {str(wanted.get(part))[:300]!r}"
            for part in sorted(now.keys() | wanted.keys()) if now.get(part) != wanted.get(part)]  # fmt: skip


def command(folder: Path) -> Callable[[], object]:
    """`mnemic dream`, with nothing on stdout."""
    os.environ |= {"MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_NOW": NOON.isoformat()}
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return lambda: app(["--home", str(folder / "home"), "dream", "--json"], standalone_mode=False)


def faulty(folder: Path, what: str, n: int) -> bool:
    """A night whose n-th write, sync or call of the vault fails; whether it came so far."""
    with opened(folder) as memory:
        disk = Dying(n, errno.EIO if what == "disk" else errno.ENOSPC)
        if what in ("write", "sync"):
            DISK.arm(what, n, broken, lasting=False)
        else:
            memory.vault.folder = Folder(memory.vault.root, disk)
        with suppress(MnemicError, OSError):
            memory.dream()
        failed = DISK.failed > 0 if what in ("write", "sync") else disk.left <= 0
        DISK.calm()
        memory.vault.folder = Folder(memory.vault.root)
    return failed


def main() -> None:
    connection.VFS = install()
    every = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1
    kinds = [name for name in sys.argv[1:] if name in KINDS] or list(KINDS)
    points, new, wrong = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0), dict[str, list[str]]()
    memory_disk = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a kill needs no real disk
    with tempfile.TemporaryDirectory(dir=memory_disk) as name:
        place, seed = Path(name), Path(name) / "seed"
        seed.mkdir()
        fill(seed)
        before, after = _ends(place, seed)
        for kind in kinds:
            for n in range(1, 100_000, every):
                folder = place / f"{kind} {n}"
                shutil.copytree(seed, folder)
                came = killed_at(n, partial(command, folder)) if kind == "kill" else faulty(folder, kind, n)
                if not came:
                    break
                points[kind] += 1
                found, done = problems(folder, before, after)
                new[kind] += done
                if found:
                    wrong[f"{kind} {n}"] = found
                shutil.rmtree(folder)
    print(json.dumps({"points": points, "new": new, "wrong": wrong}, ensure_ascii=False))


def _ends(place: Path, seed: Path) -> tuple[State, State]:
    """How it looks before and after the night."""
    folder = place / "look"
    shutil.copytree(seed, folder)
    with opened(folder) as memory:
        before = seen(memory)
        memory.dream()
        return before, seen(memory)


if __name__ == "__main__":
    main()
