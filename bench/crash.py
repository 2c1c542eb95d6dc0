"""What a kill loses: `python -m bench.crash`.

    python -m bench.crash [--rounds 1000] [--writers 2] [--seed 1] [--json]

In each round writers open a home, remember and capture through `Memory`, and put every receipt into a pipe as soon
as they hold it; at a random moment, the opening of the home included, all of them get SIGKILL. Then the home is
opened again: every acknowledged text must be there, whole, and found by its words; a text that was not acknowledged
must be there whole or not at all; the ledger and the doctor must find nothing. Every text has a word that no other
has, and can be made again from it, so both can be told from the home alone.

The writers are forks of this process, which has loaded the code but opens no home while one lives.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mnemic.errors import MnemicError
from mnemic.memory import Memory
from mnemic.models.answer import Budget
from mnemic.models.document import Turn

FRESH = 20
"""After so many rounds a new home is begun: checking one again and again would take all the time."""
LONGEST = 0.2
"""Seconds that writers may live: in every fourth round from their start on, else from the first receipt of one."""
PATIENCE = 30.0
"""Seconds to wait for that receipt; a busy machine is no reason to kill a writer that has done nothing yet."""
WORD = re.compile(r"\bw\d+x\d+x\d+[abc]\b")


@dataclass(slots=True)
class Tally:
    """What the rounds did and found. Everything from `lost` on should be empty."""

    rounds: int = 0
    killed: int = 0
    early: int = 0
    """Writers that were killed before their first receipt."""
    acknowledged: int = 0
    """Texts whose receipt was out before the kill."""
    indeterminate: int = 0
    """Texts that are there although their receipt never came out: the kill fell between the commit and the pipe."""
    lost: list[str] = field(default_factory=list)
    not_found: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """What a writer was refused, or the ledger and the doctor complained about."""

    @property
    def clean(self) -> bool:
        return not (self.lost or self.not_found or self.half or self.errors)


def text_of(word: str) -> str:
    """The one text that has a word: several paragraphs, so that half of it would show."""
    return "\n\n".join(f"{word} part {part}: the walrus keeps its promise in the {word} harbour." for part in range(3))


def write(home: Path, name: str, pipe: int) -> None:
    """Remember and capture until killed; each acknowledged word goes into the pipe, and so does a refusal."""
    try:
        with opened(home) as memory:
            for number in range(10_000):
                a, b, c = (f"w{name}x{number}{letter}" for letter in "abc")
                memory.remember(text_of(a), title=a)
                os.write(pipe, f"{a}\n".encode())
                turns = [Turn("user", text_of(b)), Turn("assistant", text_of(c))]
                memory.capture(turns, session=f"session-{name}")
                os.write(pipe, f"{b}\n{c}\n".encode())
    except MnemicError as error:
        os.write(pipe, f"! {' '.join(str(error).split())[:400]}\n".encode())


def opened(home: Path) -> Memory:
    return Memory.open(home / "home", environ={"MNEMIC_CONFIG": str(home / "config")})


def fork(home: Path, name: str) -> tuple[int, int]:
    """A writer's process id, and where to read what it acknowledges."""
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        return child, out
    try:
        os.close(out)
        write(home, name, into)
    finally:
        os._exit(0)


def kill(writers: Sequence[tuple[int, int]], seconds: float, *, at_once: bool) -> list[list[str]]:
    """Let the writers live so long, kill them, and return what each had put into its pipe."""
    outs = [out for _, out in writers]
    if not at_once:
        select.select(outs, [], [], PATIENCE)
    end, said = time.monotonic() + seconds, dict.fromkeys(outs, b"")
    while (left := end - time.monotonic()) > 0:
        for out in select.select(outs, [], [], left)[0]:
            said[out] += os.read(out, 65_536)
    for child, _ in writers:
        os.kill(child, signal.SIGKILL)
    for child, out in writers:
        os.waitpid(child, 0)
        while more := os.read(out, 65_536):
            said[out] += more
        os.close(out)
    return [data.decode().splitlines() for data in said.values()]


def check(home: Path, acknowledged: set[str], fresh: set[str], tally: Tally) -> None:
    """Open the home again and compare it with what was acknowledged; `fresh` words are asked for as well."""
    with opened(home) as memory:
        found = memory.doctor()
        tally.errors += found["problems"]
        documents = [row["path"] for row in memory.tree(depth=3) if row["kind"] in ("note", "exchange")]
        texts = [memory.show(path, touch=False)["text"] for path in documents]
        there: set[str] = set()
        for text in texts:
            words = sorted(set(WORD.findall(text)))
            said = [text] if len(words) == 1 else re.split(r"(?:^|\n\n)(?:user|assistant): ", text)[1:]
            if said != [text_of(word) for word in words]:
                tally.half.append(text[:200])
            there |= set(words)
        tally.lost += sorted(acknowledged - there - set(tally.lost))
        for word in sorted(fresh & there):
            hits = memory.recall(word, budget=Budget(nodes=1)).hits
            if not hits or word not in hits[0].text:
                tally.not_found.append(word)


def measure(folder: Path, rounds: int, writers: int, seed: int) -> Tally:
    """Kill so many rounds of writers in homes below a folder."""
    draw, tally = random.Random(seed), Tally()
    acknowledged: set[str] = set()
    for number in range(rounds):
        home = folder / str(number // FRESH)
        if number % FRESH == 0:
            acknowledged = set()
            home.mkdir()
        children = [fork(home, f"{number}x{n}") for n in range(writers)]
        fresh: set[str] = set()
        for said in kill(children, draw.random() * LONGEST, at_once=number % 4 == 0):
            tally.errors += [line for line in said if line.startswith("!")]
            fresh |= {line for line in said if WORD.fullmatch(line)}
            tally.early += not said
        acknowledged |= fresh
        tally.acknowledged += len(fresh)
        tally.rounds, tally.killed = tally.rounds + 1, tally.killed + writers
        check(home, acknowledged, fresh, tally)
        if number % FRESH == FRESH - 1 or number == rounds - 1:
            tally.indeterminate += stored(home) - len(acknowledged)
    return tally


def stored(home: Path) -> int:
    """How many texts a home has."""
    with opened(home) as memory:
        notes = [row for row in memory.tree(depth=2) if row["kind"] == "note"]
        return int(memory.status()["messages"]) + len(notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=2, help="processes that write at once and are killed together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = measure(Path(folder), options.rounds, options.writers, options.seed)
    report = {**asdict(tally), "ok": tally.clean, "seconds": round(time.monotonic() - started, 1)}
    print(json.dumps(report, indent=1) if options.json else "\n".join(f"{k:14} {v}" for k, v in report.items()))
    raise SystemExit(not tally.clean)


if __name__ == "__main__":
    main()
