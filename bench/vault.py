"""What a vault costs and whether it loses anything: `python -m bench.vault`.

    python -m bench.vault [--notes 10000] [--folder DIR] [--rounds 1000] [--seed 1] [--part sync …] [--json]

Three parts. *Sync*: a copy of `--folder`, or a generated vault with hostile names, is synced twice, decayed, a note is
edited, one is renamed, and every byte that was not meant to change is compared. *Links*: as many cards, all links and
maps made anew, then one card changed. *Interleavings*: a person's saves (in place, atomic, renamed, deleted) fall between and
into our writes, at a random call to the disk; every text that a person saved last must be there afterwards, in its
place or beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mnemic.errors import MnemicError
from mnemic.memory import Memory
from mnemic.vault.files import Disk, Folder, is_side_file, sha256
from mnemic.vault.history import History
from mnemic.vault.vault import document_path

PARTS = ("sync", "links", "interleavings")
HOSTILE = ("Zoe\u0308", "CON", "a b  c", "emoji 🧠", "quote'\"s", "semi;colon", "hash#tag", "tab\tname", "line\nbreak", "x" * 180,
           "-dash", "~tilde", "$HOME", "%41", "中文笔记", "עברית", "trailing ", "dots...", "[brackets]", "pipe|name")  # fmt: skip


@dataclass(slots=True)
class Figures:
    """What was measured; seconds. Everything from `changed_bytes` on should be empty."""

    notes: int = 0
    first: float = 0.0
    second: float = 0.0
    second_did: int = 0
    """What a sync did of which nothing was to be done: should be 0."""
    decay: float = 0.0
    one_edit: float = 0.0
    rename: float = 0.0
    rewritten: int = 0
    cards: int = 0
    cards_unchanged: float = 0.0
    """A sync of that many cards of which none has changed."""
    rebuild: float = 0.0
    """All links and maps made anew."""
    one_card: float = 0.0
    """One card taken in: its text and its links; without git."""
    one_card_map: float = 0.0
    """The same where its map shows something else, and is written too."""
    one_card_commit: float = 0.0
    """That with the commit."""
    one_card_links: float = 0.0
    """Links and backlinks of one card."""
    rounds: int = 0
    retried: int = 0
    """Writes of ours that met a person's save."""
    beside: int = 0
    card_rounds: int = 0
    card_saves: int = 0
    """Saves of a person that fell into a whole write of a card: log, set, link, rename."""
    changed_bytes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


HEADS = (
    "",
    "---\n# a comment\ntype: contact\ndescription: about {0}\ntags: [a, b]\nodd:  'kept'\n---\n",
    "---\nZeta: 1\nalpha:   {{a: [1, 2], b: c}}  # mine\nnested:\n  - x: 1\n    y: |\n      two\n      lines\n\n---\n",
    "---\ntype: note\ntype: twice\n---\n",
    "---\nbroken: [1\n---\n",
    "---\nalias: &a 1\nother: *a\n---\n",
    "---\nstatus: active\n...\n",
    "---   \ntitle: \"Note {0}\"\ncreated: 2020-01-01\nlast_accessed: 2020-01-01\ntier: cold\nrelevance: 0.1\n---\n",
)
"""Frontmatter of every kind: none, with comments, nested, with a key twice, broken, with an alias, ended by dots, ours."""
FADING = re.compile(rb"(?m)^(?:last_accessed|relevance|tier|access_count):.*\r?\n")
"""What decay writes into the heads of cards, and all that it may."""
DEEP = "ideas/" + "/".join(f"level {number}" for number in range(20))


def generate(root: Path, count: int, seed: int) -> None:
    """Notes with frontmatter of every kind, links of every kind, CRLF, BOM, names that break tools, and what is no note."""
    dice = random.Random(seed)
    for number in range(count):
        lead = HOSTILE[number] if number < len(HOSTILE) else f"Note {number}"
        if number % 50 == 49:
            lead = f"nOTE {number - 1}"  # its twin but for the case
        folder = root / dice.choice(("cards/people", "cards/projects", "ideas", "ideas/deep/er", "articles", DEEP, "日記/ünï"))
        folder.mkdir(parents=True, exist_ok=True)
        newline = dice.choice(("\n", "\n", "\r\n"))
        near = [dice.randrange(count) for _ in range(3)]
        text = HEADS[number % len(HEADS)].format(number) + (
            f"# {lead.split(chr(10))[0]}\n\nText {number} of word{number} and [[Note {near[0]}|shown]].\n"
            f"See [[Note {near[1]}#Heading]] `[[Note 1]]` and [it](Note%20{near[2]}.md).\n"
        )
        data = (b"\xef\xbb\xbf" if number % 11 == 0 else b"") + text.replace("\n", newline).encode()
        (folder / f"{lead}.md").write_bytes(data[: -len(newline)] if number % 7 == 0 else data)
    (root / "ideas" / "long line.md").write_text("word " * min(1_000_000, count * 1_000) + "[[Note 1]]")
    (root / "ideas" / "latin.md").write_bytes(b"caf\xe9")
    (root / "ideas" / "image.png").write_bytes(bytes(range(256)))
    os.symlink("/etc/passwd", root / "ideas" / "link.md")
    os.symlink("/etc", root / "ideas" / "etc")
    os.symlink("..", root / "ideas" / "loop")
    os.mkfifo(root / "ideas" / "pipe.md")


def snapshot(root: Path, without: re.Pattern[bytes] | None = None) -> dict[str, str]:
    """Digests of every regular file that is the user's, without the lines that match."""
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            file = Path(folder) / name
            if file.is_file() and not file.is_symlink():
                data = file.read_bytes()
                found[str(file.relative_to(root))] = sha256(without.sub(b"", data) if without else data)
    return found


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = act()
    return time.perf_counter() - start, result


class Unindexed(Memory):
    """Without vectors and similar edges, which `bench.scale` measures: what is left is the vault's own cost."""

    def _drain(self) -> None:
        return None


def _open(work: Path) -> Memory:
    return Unindexed.open(work / "home", environ={"MNEMIC_CONFIG": str(work / "config")})


def sync(work: Path, source: Path | None, count: int, seed: int, figures: Figures) -> None:
    """Sync a vault twice, change one note, rename one, and compare all bytes."""
    root = work / "home" / "vault"
    root.parent.mkdir(parents=True)
    if source:
        shutil.copytree(source, root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    else:
        root.mkdir()
        generate(root, count, seed)
    before = snapshot(root)
    with _open(work) as memory:
        figures.first, report = timed(memory.vault.sync)
        figures.notes = len(report.new)
        expected = ("symlink", "regular", "UTF-8")
        figures.problems += [f"{path}: {why}" for path, why in report.skipped.items() if not any(map(why.count, expected))]
        settle = memory.vault.sync()  # what was written just before the first sync is read once more
        figures.problems += [f"second sync: {path}" for path in settle.new + settle.edited]
        figures.second, report = timed(memory.vault.sync)
        figures.second_did = len(report.new) + len(report.edited) + len(report.moved) + len(report.deleted)
        _compare(before, snapshot(root), set(), figures)
        before = snapshot(root, without=FADING)
        figures.decay, _ = timed(memory.decay)
        _compare(before, snapshot(root, without=FADING), set(), figures)
        target = _linked(memory)
        with open(root / target, "ab") as handle:
            handle.write(b"\none more line")
        figures.one_edit, _ = timed(memory.vault.sync)
        before = snapshot(root)
        figures.rename, done = timed(lambda: memory.cards.rename(target, "A Name Of Its Own"))
        figures.rewritten = len(done["rewritten"])
        _compare(before, snapshot(root), {target, done["path"], *done["rewritten"]}, figures)
        again = memory.vault.sync()
        figures.second_did += len(again.new) + len(again.edited) + len(again.moved) + len(again.deleted)
        if not memory.verify().ok:
            figures.problems.append("the ledger does not verify")


def _linked(memory: Memory) -> str:
    """The note that most others link to."""
    graph, paths = memory.vault.graph(), [row.path for row in memory.vault.known()]
    return max(paths, key=lambda path: len(graph.back.get(path, ())))


def _compare(before: dict[str, str], after: dict[str, str], meant: set[str], figures: Figures) -> None:
    for path, digest in before.items():
        if path not in meant and not path.startswith("moc/") and after.get(path) != digest:
            figures.changed_bytes.append(path)


def links(work: Path, count: int, figures: Figures) -> None:
    """Make all links and maps of `count` cards anew, then those of one."""
    root = work / "home" / "vault"
    for number in range(count):
        file = root / f"cards/{('people', 'projects', 'places')[number % 3]}/Card {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        near = " ".join(f"[[Card {(number * 7 + step) % count}]]" for step in range(5))
        file.write_text(f"---\ntype: contact\ndescription: card {number}\ntags: [a, b]\nstatus: active\n---\n{near}\n")
    with _open(work) as memory:
        figures.cards = len(memory.vault.sync().new)
        figures.rebuild, done = timed(memory.vault.rebuild)
        if done["links"] != count * 5:
            figures.problems.append(f"{done['links']} links instead of {count * 5}")
        memory.vault.sync()
        figures.cards_unchanged, _ = timed(memory.vault.sync)
        figures.one_card_commit = _one_card(memory, root, range(9), shown=True)
        memory.vault.history = History(memory.vault.root, "off")
        figures.one_card_map = _one_card(memory, root, range(9, 18), shown=True)
        figures.one_card = _one_card(memory, root, range(18, 27), shown=False)
        figures.one_card_links, _ = timed(lambda: memory.vault.links_of("cards/people/Card 3.md"))


def _one_card(memory: Memory, root: Path, numbers: Sequence[int], *, shown: bool) -> float:
    """The median over some cards, each saved with one link more and taken in: text, links, map."""
    times = []
    for number in numbers:
        path = f"cards/people/Card {number * 3}.md"
        text = (root / path).read_text() + f"now to [[Card {number + 50}]]"
        (root / path).write_text(text.replace("description: card", "description: the card") if shown else text)
        with memory.vault.alone() as tick:
            start = time.perf_counter()
            memory.vault.read_back([path], tick, "one")
            times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


class Meddling(Disk):
    """A disk on which a person saves at the n-th call of ours."""

    def __init__(self) -> None:
        self.calls = -1
        self.act: Callable[[], None] = lambda: None

    def _step(self) -> None:
        if self.calls == 0:
            self.act()
        self.calls -= 1

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name in ("make", "write", "fsync", "link", "rename", "exchange", "unlink"):
            object.__getattribute__(self, "_step")()
        return found


def interleave(work: Path, rounds: int, seed: int, figures: Figures) -> None:
    """A person's saves fall into our writes: what they saved last must be there, in its place or beside it."""
    dice = random.Random(seed)
    disk = Meddling()
    folder = Folder(work / "meddled", disk)
    file = folder.root / "note.md"
    for number in range(rounds):
        figures.rounds += 1
        disk.calls = -1
        shutil.rmtree(folder.root, ignore_errors=True)
        base = f"base {number}\n".encode()
        was = folder.create("note.md", base).digest
        theirs = f"a person's text {number}\n".encode()
        way = dice.choice(("in place", "append", "atomic", "renamed", "deleted"))
        saved: dict[str, bytes] = {}
        disk.calls, disk.act = dice.randrange(9), _save(way, file, theirs, base, saved)
        try:
            if dice.random() < 0.5:
                folder.update("note.md", lambda data: data + b"ours\n")
            else:
                folder.put("note.md", b"ours, whole\n", was)
        except MnemicError:
            pass
        disk.calls = -1
        for name in os.listdir(folder.root):
            if is_side_file(name):
                folder.sweep(name)
        texts = [(folder.root / name).read_bytes() for name in os.listdir(folder.root)]
        if saved:
            figures.retried += 1
            wanted = saved["text"]
            if not any(text.startswith(wanted) for text in texts) and way != "deleted":
                figures.lost.append(f"round {number}: {way}: {texts}")
            figures.beside += len(texts) > 1
        elif not texts:
            figures.lost.append(f"round {number}: nothing is there")


def _save(way: str, file: Path, theirs: bytes, base: bytes, saved: dict[str, bytes]) -> Callable[[], None]:
    def act() -> None:
        try:
            if way == "append":
                with open(file, "ab") as handle:
                    handle.write(theirs)
                saved["text"] = file.read_bytes()
            elif way == "in place":
                with open(file, "r+b") as handle:
                    handle.truncate()
                    handle.write(theirs)
                saved["text"] = theirs
            elif way == "atomic":
                side = file.with_name("editor.tmp")
                side.write_bytes(theirs)
                os.replace(side, file)
                saved["text"] = theirs
            elif way == "renamed":
                held = file.read_bytes()
                os.rename(file, file.with_name("moved.md"))
                saved["text"] = held
            else:
                file.unlink()
                saved["text"] = b""
        except FileNotFoundError:
            return

    return act


def interleave_cards(work: Path, rounds: int, seed: int, figures: Figures) -> None:
    """The same one storey up: cards are logged to, set, linked and renamed while a person saves one of them.

    Every line that a person added must be in a note afterwards, and memory must hold what the notes hold.
    """
    dice, disk = random.Random(seed), Meddling()
    with _open(work) as memory:
        root = memory.vault.root
        memory.vault.history = History(root, "off")
        for number in range(rounds):
            if number % 50 == 0:  # a fresh pair, so that they stay small
                paths = [str(memory.cards.new(f"{name} {number}", "contact", body=f"[[Eve {number}]]", origin="agent")["path"])
                         for name in ("Ada", "Eve")]  # fmt: skip
                marks: list[str] = []
                memory.vault.folder = Folder(root, disk)
            figures.card_rounds += 1
            index = dice.randrange(2)
            mark, way = f"a person's line {number}.", dice.choice(("append", "in place", "atomic"))
            stale = (root / paths[index]).read_bytes() + b"\n" + mark.encode() + b"\n"
            saved: dict[str, bytes] = {}
            save = _save(way, root / paths[index], mark.encode() + b"\n" if way == "append" else stale, b"", saved)
            disk.calls, disk.act = dice.randrange(9), save
            with suppress(MnemicError):
                _our_act(memory, dice, number, paths)
            disk.calls = -1
            for _ in range(4):  # what was saved while it was read is taken in later
                report = memory.vault.sync()
                if not (report.new or report.edited or report.moved or report.deleted or report.waiting):
                    break
            now = [row.path for row in memory.vault.known() if row.kind == "card" and _round(row.path) >= number // 50 * 50]
            paths = [next(path for path in now if Path(path).name.startswith(name)) for name in ("Ada", "Eve")]
            there = {path: (root / path).read_text() for path in now}
            if saved:
                figures.card_saves += 1
                marks.append(mark)
            everything = "".join([*there.values(), *(file.read_text() for file in root.rglob("*.conflict-*"))])
            figures.lost += [f"card round {number}: {gone}" for gone in marks if gone not in everything]
            for path, text in there.items():
                kept = memory.show(document_path(path), touch=False)["text"]
                if any(line in text and line not in kept for line in marks):
                    figures.lost.append(f"card round {number}: memory does not have what {path} says")
        if not memory.verify().ok:
            figures.problems.append("the ledger does not verify")


def _our_act(memory: Memory, dice: random.Random, number: int, paths: Sequence[str]) -> None:
    act = dice.choice(("log", "set", "link", "rename"))
    if act == "log":
        memory.cards.log(dice.choice(paths), f"thing {number}", by="wren")
    elif act == "set":
        memory.cards.set(dice.choice(paths), {"mood": f"{number}"})
    elif act == "link":
        memory.cards.link(paths[1], paths[0])
    else:
        memory.cards.rename(paths[0], f"Ada {number}")


def _round(path: str) -> int:
    """The round that gave a card its name."""
    return int(Path(path).stem.split()[1].split(".")[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="a vault to copy instead of generating one")
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if "sync" in options.part:
            sync(work / "sync", options.folder, options.notes, options.seed, figures)
        if "links" in options.part:
            links(work / "links", options.notes, figures)
        if "interleavings" in options.part:
            interleave(work, options.rounds, options.seed, figures)
            interleave_cards(work / "cards", options.rounds, options.seed, figures)
    if options.json:
        print(json.dumps(asdict(figures), ensure_ascii=False))
    else:
        for name, value in asdict(figures).items():
            print(f"{name:15} {value if not isinstance(value, float) else round(value, 4)}")


if __name__ == "__main__":
    main()
