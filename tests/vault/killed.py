"""Writes to a vault that get SIGKILL at their n-th system call: `python -m tests.vault.killed [ACT …] [EVERY]`.

For every n, or for every EVERYth. After each kill: every file is old or new; then one sync, after which files, memory,
links, maps and git are all as before the act or all as after it, and a second sync has nothing to do. Prints one JSON
object: how many kills, how many of them ended in the new state, and what was wrong. A program of its own: it forks.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dulwich.object_store import iter_tree_contents
from dulwich.repo import Repo

from mnemic.memory import Memory
from mnemic.vault.files import is_side_file
from mnemic.vault.history import FRESH
from tests.vault.homes import opened
from tests.vault.traced import killed_at

Act = Callable[[Memory], object]
Files = dict[str, bytes]


def _human(memory: Memory) -> object:
    """What a person did since the last sync, taken in."""
    return memory.vault.sync()


ACTS: dict[str, Act] = {
    "new": lambda memory: memory.cards.new("Eve", "contact", description="a spy", body="Knows [[Ada]].", origin="agent"),
    "revise": lambda memory: memory.cards.link("Engine", "Ada"),
    "rename": lambda memory: memory.cards.rename("Ada", "Countess"),
    "retire": lambda memory: memory.cards.retire("Ada"),
    "sync": _human,
    "first": _human,
}


def fill(folder: Path, name: str) -> None:
    """A vault with links, maps and git; for "sync" a person then adds, edits, moves and deletes; for "first" it is new."""
    with opened(folder) as memory:
        root = memory.vault.root
        if name != "first":
            memory.cards.new("Ada", "contact", description="likes tea", body="Of [[Engine]] and [[Ada]].", origin="agent")
            memory.cards.new("Engine", "project", body="By [her](../people/Ada.md).\n", origin="agent")
        for path, text in {"a/One.md": b"by [[Ada]]\r\n", "a/Two.md": b"two herons", "a/Three.md": b"three"}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text)
        if name == "first":
            return
        memory.vault.sync()
        if name == "sync":
            (root / "a/New.md").write_text("new, to [[Two]]")
            (root / "a/One.md").write_bytes(b"by [[Ada]] and more\r\n")
            os.rename(root / "a/Two.md", root / "a/Moved.md")
            (root / "a/Three.md").unlink()
            with open(root / "cards/people/Ada.md", "a") as handle:
                handle.write("by hand\n")


def files(root: Path) -> Files:
    """The notes of a vault, and what else lies there."""
    found = {}
    for folder, names, here in os.walk(root):
        names[:] = [name for name in names if name not in (".git", FRESH)]
        found.update({str((Path(folder) / name).relative_to(root)): (Path(folder) / name).read_bytes() for name in here})
    return found


def seen(memory: Memory) -> dict[str, Any]:
    """All that a user can see of a vault."""
    rows = [row["path"] for row in memory.tree(depth=9) if row["kind"] != "folder"]
    pages = {path: memory.show(path, touch=False) for path in rows}
    known = memory.vault.known()
    return {
        "files": {path: data.decode() for path, data in files(memory.vault.root).items()},
        "texts": {path: page["text"] for path, page in pages.items()},
        "hits": sorted(hit.path for hit in memory.recall("tea spy herons new hand").hits),
        "links": {row.path: memory.vault.links_of(row.path) for row in known},
        "listed": [(row.path, row.kind, row.type, row.origin, row.status, row.state) for row in known],
        "hidden": [row[0] for row in memory._store.hot.rows("SELECT path FROM visibility ORDER BY path")],
        "git": committed(memory.vault.root),
    }


def committed(root: Path) -> list[str]:
    with Repo(str(root)) as repository:
        tree = repository[repository.head()].tree
        wrong = [name.decode() for name in repository.open_index() if repository.open_index()[name].sha !=
                 tree_entry(repository, tree, name)]  # fmt: skip
        return [*wrong, *sorted(item.path.decode() for item in iter_tree_contents(repository.object_store, tree))]


def tree_entry(repository: Repo, tree: Any, name: bytes) -> Any:
    return next((item.sha for item in iter_tree_contents(repository.object_store, tree) if item.path == name), None)


def problems(folder: Path, before: dict[str, Any], after: dict[str, Any]) -> tuple[list[str], bool]:
    """What is wrong after a kill, and whether the act counts as done."""
    found: list[str] = []
    old, new = before["files"], after["files"]
    there = {path: data.decode() for path, data in files(folder / "home/vault").items() if not is_side_file(Path(path).name)}
    found += [f"killed: {path} is neither old nor new" for path, text in there.items()
              if text not in (old.get(path), new.get(path)) and not (path.startswith("moc/") or path == "cards/people/Ada.md")]
    found += [f"killed: {path} is gone" for path in old if path in new and path not in there]
    with opened(folder) as memory:
        memory.vault.sync()
        now = seen(memory)
        done = now == after
        if now not in (before, after):
            found += [f"healed: {part} is {now[part]}, not {after[part]}" for part in now if now[part] != after[part]]
        report = memory.vault.sync()
        if report.new or report.edited or report.moved or report.deleted or report.waiting or report.skipped:
            found.append(f"a second sync did {report.json()}")
        status = memory.vault.status()
        if status["uncommitted"] or status["git_problem"]:
            found.append(f"git: {status['uncommitted']} uncommitted, {status['git_problem']}")
        verdict = memory.verify()
        found += [] if verdict.ok else [f"ledger: {verdict.problem}"]
        found += memory.doctor()["problems"]
        left = [name for name in os.listdir(memory.vault.root / ".git") if "lock" in name or "mnemic" in name]
        left += [FRESH] if (memory.vault.root / FRESH).exists() else []
        found += [f"left over: {name}" for name in left]
    return found, done


def ready(folder: Path, act: Act) -> Callable[[], Callable[[], object]]:
    def prepare() -> Callable[[], object]:
        memory = opened(folder)
        return lambda: act(memory)

    return prepare


def main() -> None:
    every = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1
    acts = [name for name in sys.argv[1:] if name in ACTS] or list(ACTS)
    kills, new, wrong = dict.fromkeys(acts, 0), dict.fromkeys(acts, 0), dict[str, list[str]]()
    memory_disk = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a kill needs no real disk
    with tempfile.TemporaryDirectory(dir=memory_disk) as place:
        for name in acts:
            seed = Path(place) / f"seed {name}"
            seed.mkdir()
            fill(seed, name)
            before, after = _ends(Path(place), seed, name)
            for n in range(1, 10_000, every):
                folder = Path(place) / f"{name} {n}"
                shutil.copytree(seed, folder)
                if not killed_at(n, ready(folder, ACTS[name])):
                    break
                kills[name] += 1
                found, done = problems(folder, before, after)
                new[name] += done
                if found:
                    wrong[f"{name} {n}"] = found
                shutil.rmtree(folder)
    print(json.dumps({"kills": kills, "new": new, "wrong": wrong}, ensure_ascii=False))


def _ends(place: Path, seed: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """How it looks before and after the act, each after a sync; a person's changes are taken in either way."""
    states = []
    for act in (_human, ACTS[name]):
        folder = place / "look"
        shutil.copytree(seed, folder)
        with opened(folder) as memory:
            act(memory)
            memory.vault.sync()
            states.append(seen(memory))
        shutil.rmtree(folder)
    return states[0], states[1]


if __name__ == "__main__":
    main()
