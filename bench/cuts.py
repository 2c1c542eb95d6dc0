"""What a server that breaks off loses: `python -m bench.cuts`.

    python -m bench.cuts [--rounds 1000] [--writers 3] [--seed 1] [--json] [--keep]

Writers, each a process of its own, remember notes and capture exchanges in a few namespaces of one PostgreSQL home, and
say of every operation that they begin it and what came of it. In each round one fault strikes while they write: the
server ends a connection in the middle of its work, it is restarted (fast, or at once as in a crash), a proxy cuts a connection
as a write's COMMIT is about to reach the server or has just reached it, or a writer gets SIGKILL and another takes its place.
A round is over when two writes were acknowledged after its fault.

Now and then, and in the end, the writers rest and the tables are looked at by themselves: every acknowledged text must be
there once, none twice, none by half (a document without its text, its nodes or its entry in the ledger, or what belongs to
none), the ledgers without gaps and as the head noted outside says. Then every operation is done again: what was
acknowledged must be answered as before, and in the end all are there once, those that failed too.

The server has everything that keeps an acknowledged write. Operations of notes have an id; an exchange is known by its session.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.crash import text_of
from bench.scale import ROOT
from bench.shared import SURE
from mnemic import Memory
from mnemic.embed.hashing import HashingEmbedder
from mnemic.errors import MnemicError
from mnemic.models.document import Turn
from mnemic.models.receipt import Receipt
from tests.servers import Cutter, Server, serving

RESULTS = ROOT / "bench" / "results" / "cuts.json"
SPACES = ("one", "two", "three")
KINDS = {"connection ended": 40, "cut before COMMIT": 20, "cut after COMMIT": 20, "writer killed": 6, "restart fast": 6,
         "restart immediate": 8}  # fmt: skip
"""The faults, and how often each is drawn."""
REST = 250
"""After so many rounds the writers rest and all is looked at."""
PATIENCE = 120.0
"""Seconds that a fault or a write may take on a busy machine before the run gives up."""
LONGEST = 0.05
"""Seconds between the write that ended a round and the next fault, at most."""
EACH = 2
"""Writes that must be acknowledged after a fault before the next one."""


@dataclass(slots=True)
class Operation:
    """One that a writer began, and its receipt if it was acknowledged."""

    space: str
    receipt: dict[str, Any] | None = None
    fresh: bool = True
    """Whether it has not been repeated yet."""


@dataclass(slots=True)
class Tally:
    """What was done and found. Everything from `lost` on should be empty."""

    rounds: int = 0
    writers: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    operations: int = 0
    acknowledged: int = 0
    kept: int = 0
    """Operations without an acknowledgement that are there all the same: the answer was lost."""
    errors: Counter[str] = field(default_factory=Counter)
    """What the writers were told, by kind."""
    repeated: int = 0
    seconds: float = 0.0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)
    """Operations that were answered otherwise when they were repeated."""
    problems: list[str] = field(default_factory=list)
    """What the ledgers and the doctor complained about, and errors that mnemic does not mean."""

    @property
    def clean(self) -> bool:
        return not (self.lost or self.twice or self.half or self.otherwise or self.problems)


def opened(url: str, folder: str) -> Memory:
    environ = {"MNEMIC_CONFIG": f"{folder}/config", "MNEMIC_FILES": f"{folder}/files"}
    return Memory.open(url, environ=environ, embedder=HashingEmbedder(64))


def act(memory: Memory, word: str) -> Receipt:
    """The one operation that has a word: a note, or an exchange."""
    if word.endswith("a"):
        return memory.remember(text_of(word), title=word, op_id=word)
    turns = [Turn("user", text_of(word)), Turn("assistant", text_of(word).upper())]
    return memory.capture(turns, session=word).receipts[0]


# a writer


def write(url: str, folder: str, name: str) -> None:
    """Write until standard input ends, and say on standard output what was begun, acknowledged and refused."""
    logging.disable(logging.WARNING)  # the pool tells of each connection that broke
    draw, number, memory = random.Random(name), 0, None
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            memory = memory or opened(url, folder)
        except MnemicError as error:
            _say(error=f"at opening: {_told(error)}")
            time.sleep(LONGEST)
            continue
        number += 1
        word, space = f"w{name}x{number}x0{draw.choice('ab')}", draw.choice(SPACES)
        _say(begun=word, space=space)
        try:
            _say(done=word, receipt=act(memory.within(space), word).json())
        except MnemicError as error:
            _say(error=_told(error))
        except Exception as error:
            _say(fault=f"{word}: {type(error).__name__}: {error}")
    if memory is not None:
        memory.close()


def _told(error: MnemicError) -> str:
    """The kind of an error: what it says without the place, the server's own words and the advice."""
    said = re.sub(r"postgresql://\S+?:?(?= )", "", str(error)).strip()
    return f"{type(error).__name__}: {re.split(r': | [(]', said)[0]}"


def _say(**row: Any) -> None:
    os.write(1, (json.dumps(row) + "\n").encode())


class Writers:
    """The processes that write, and what they have said."""

    def __init__(self, url: str, folder: str, tally: Tally) -> None:
        self.url, self.folder, self.tally = url, folder, tally
        self.operations: dict[str, Operation] = {}
        self._changed = threading.Condition()
        self._running: list[tuple[subprocess.Popen[str], threading.Thread]] = []

    def start(self) -> None:
        self.tally.writers += 1
        command = [sys.executable, "-m", "bench.cuts", "--write", self.url, self.folder, str(self.tally.writers)]
        paths = os.pathsep.join(path for path in sys.path if path)
        made = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}
        )
        reader = threading.Thread(target=self._read, args=(made,), daemon=True)
        reader.start()
        self._running.append((made, reader))

    def _read(self, made: subprocess.Popen[str]) -> None:
        assert made.stdout is not None
        for line in made.stdout:
            if line.endswith("\n"):
                with self._changed:
                    self._take(json.loads(line))
                    self._changed.notify_all()

    def _take(self, row: dict[str, Any]) -> None:
        if "begun" in row:
            self.operations[row["begun"]] = Operation(row["space"])
            self.tally.operations += 1
        elif "done" in row:
            self.operations[row["done"]].receipt = row["receipt"]
            self.tally.acknowledged += 1
        elif "error" in row:
            self.tally.errors[row["error"]] += 1
        else:
            self.tally.problems.append(row["fault"])

    def progress(self, count: int) -> None:
        """Wait for so many writes to be acknowledged. Raises TimeoutError."""
        with self._changed:
            wanted = self.tally.acknowledged + count
            if not self._changed.wait_for(lambda: self.tally.acknowledged >= wanted, PATIENCE):
                raise TimeoutError(f"no write was acknowledged in {PATIENCE} s")

    def kill(self, draw: random.Random) -> None:
        """Kill one, and start another in its place."""
        made, reader = self._running.pop(draw.randrange(len(self._running)))
        made.kill()
        _ended(made, reader)
        self.start()

    def rest(self) -> None:
        """Let all finish what they are at."""
        for made, _ in self._running:
            assert made.stdin is not None
            made.stdin.close()
        for made, reader in self._running:
            _ended(made, reader)
        self._running.clear()

    def end(self) -> None:
        for made, reader in self._running:
            made.kill()
            _ended(made, reader)


def _ended(made: subprocess.Popen[str], reader: threading.Thread) -> None:
    made.wait(PATIENCE)
    reader.join()
    for pipe in (made.stdin, made.stdout):
        assert pipe is not None
        pipe.close()


# faults


def strike(kind: str, server: Server, cutter: Cutter, writers: Writers, draw: random.Random, url: str) -> None:
    """One fault; returns when it has struck."""
    time.sleep(draw.random() * LONGEST)
    if kind == "connection ended":
        _until(lambda: end_one(url), kind)
    elif kind.startswith("cut"):
        cutter.armed = kind.split()[1]
        _until(lambda: cutter.armed is None, kind)
    elif kind == "writer killed":
        writers.kill(draw)
    else:
        server.stop(kind.split()[1])
        server.start()


def end_one(url: str) -> bool:
    """End one connection that is at work; whether there was one."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as admin:
        found = admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname=current_database() AND pid<>pg_backend_pid()"
            " AND state IN ('active', 'idle in transaction') AND backend_type='client backend' ORDER BY random() LIMIT 1"
        ).fetchone()
    return found is not None


def _until(struck: Callable[[], bool], kind: str) -> None:
    until = time.monotonic() + PATIENCE
    while not struck():
        if time.monotonic() > until:
            raise TimeoutError(f"{kind}: nothing to strike in {PATIENCE} s")
        time.sleep(0.002)


# looking


def check(url: str, folder: str, operations: dict[str, Operation], tally: Tally) -> set[str]:
    """Compare the tables with what was acknowledged; returns the operations that are there."""
    import psycopg

    with psycopg.connect(url, autocommit=True, options="-c search_path=mnemic,public") as db:
        there: Counter[str] = Counter()
        for space, number, kind, title, bodies in db.execute(DOCUMENTS).fetchall():
            word = title.split()[0] if kind == "note" else bodies[0].split()[0]
            there[word] += 1
            known = operations.get(word)
            whole = [text_of(word)] if kind == "note" else [text_of(word), text_of(word).upper()]
            if bodies != whole or known is None or known.space != space:
                tally.half.append(f"document {number} of {space!r} is not what was written: {bodies[0][:100]!r}")
        for what, query in HALVES.items():
            tally.half += [f"{what}: {row}" for row in db.execute(query).fetchall()]
        for space, first, last, count in db.execute(LEDGERS).fetchall():
            if (first, last) != (1, count):
                tally.problems.append(f"the ledger of {space!r} has {count} entries from {first} to {last}")
    tally.twice += sorted(word for word, count in there.items() if count > 1)
    tally.lost += sorted(word for word, one in operations.items() if one.receipt and word not in there)
    with opened(url, folder) as memory:
        for name in SPACES:
            memory.within(name).index()
        tally.problems += memory.doctor()["problems"]
    return set(there)


DOCUMENTS = """
SELECT n.name, d.id, d.kind, d.title, array_agg(t.body ORDER BY t.id)
  FROM documents d JOIN namespaces n ON n.id=d.ns LEFT JOIN texts t ON t.ns=d.ns AND t.document=d.id
  GROUP BY n.name, d.id, d.kind, d.title ORDER BY d.id
"""
LEDGERS = "SELECT n.name, min(seq), max(seq), count(*) FROM ledger l JOIN namespaces n ON n.id=l.ns GROUP BY n.name"
HALVES = {
    "a document without nodes": "SELECT ns, id FROM documents d WHERE NOT EXISTS"
    " (SELECT 1 FROM nodes x WHERE x.ns=d.ns AND x.document=d.id)",
    "a document without one entry": "SELECT ns, id FROM documents d WHERE 1<>"
    " (SELECT count(*) FROM ledger l JOIN payloads p USING (ns, seq) WHERE l.ns=d.ns AND l.object='document:'||d.id)",
    "an exchange without two messages": "SELECT ns, id FROM documents d WHERE kind='exchange' AND 2<>"
    " (SELECT count(*) FROM messages m WHERE m.ns=d.ns AND m.document=d.id)",
    "a note without its operation": "SELECT ns, id FROM documents d WHERE kind='note' AND 1<>"
    " (SELECT count(*) FROM operations o WHERE o.ns=d.ns AND o.document=d.id)",
    "an entry without what it tells of": "SELECT ns, seq FROM ledger l WHERE NOT EXISTS"
    " (SELECT 1 FROM documents d WHERE d.ns=l.ns AND l.object='document:'||d.id)",
    **{
        f"a row of {table} without its document": f"SELECT ns, document FROM {table} x WHERE document IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM documents d WHERE d.ns=x.ns AND d.id=x.document)"
        for table in ("texts", "messages", "nodes", "operations", "queue")
    },
    "full text without its node": "SELECT ns, node FROM fulltext f WHERE NOT EXISTS"
    " (SELECT 1 FROM nodes x WHERE x.ns=f.ns AND x.id=f.node)",
    "a vector without its node": "SELECT ns, node FROM vectors v WHERE NOT EXISTS"
    " (SELECT 1 FROM nodes x WHERE x.ns=v.ns AND x.id=v.node)",
}
"""What half of a write would look like: queries that must find nothing."""


def repeat(url: str, folder: str, operations: dict[str, Operation], there: set[str], tally: Tally) -> None:
    """Do every operation again that was not repeated yet."""
    with opened(url, folder) as memory:
        spaces = {name: memory.within(name) for name in SPACES}
        for word, one in operations.items():
            if one.fresh:
                one.fresh, tally.repeated = False, tally.repeated + 1
                again = act(spaces[one.space], word).json()
                tally.kept += one.receipt is None and word in there
                if not _same(one.receipt, again, word in there):
                    tally.otherwise.append(f"{word}: {one.receipt} and then {again}")
                one.receipt = one.receipt or again


def _same(first: dict[str, Any] | None, again: dict[str, Any], there: bool) -> bool:
    """Whether a repetition tells what the first answer told; or, where there was none, the truth."""
    if first is None:
        return bool(again["status"] == ("duplicate" if there else "stored"))
    names = ("path", "nodes", "op_id", *(("seq",) if first["op_id"] else ()))
    return bool(again["status"] == "duplicate" and all(first[name] == again[name] for name in names))


def looked(url: str, folder: str, operations: dict[str, Operation], tally: Tally) -> None:
    """Check, repeat, and check again: then all is there that was ever begun."""
    there = check(url, folder, operations, tally)
    repeat(url, folder, operations, there, tally)
    check(url, folder, operations, tally)


def measure(server: Server, url: str, folder: Path, rounds: int, count: int, seed: int) -> Tally:
    """Strike so often at a home in an empty database."""
    draw, tally, cutter, began = random.Random(seed), Tally(), Cutter(server), time.monotonic()
    writers = Writers(cutter.through(url), str(folder), tally)
    try:
        for number in range(rounds):
            if number % REST == 0:
                for _ in range(count):
                    writers.start()
                writers.progress(EACH)
            kind = draw.choices(list(KINDS), list(KINDS.values()))[0] if number >= len(KINDS) else list(KINDS)[number]
            strike(kind, server, cutter, writers, draw, url)
            writers.progress(EACH)
            tally.faults[kind] += 1
            tally.rounds += 1
            if number % REST == REST - 1 or number == rounds - 1:
                writers.rest()
                looked(url, str(folder), writers.operations, tally)
    except TimeoutError as error:
        tally.problems.append(str(error))
    finally:
        writers.end()
        cutter.close()
    tally.seconds = round(time.monotonic() - began, 1)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--writers", type=int, default=3, help="processes that write at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the figures")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(*options.write)
        return
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, serving(SURE) as server:
        tally = measure(server, server.fresh("cuts"), Path(folder), options.rounds, options.writers, options.seed)
    report = {**asdict(tally), "faults": dict(tally.faults), "errors": dict(tally.errors), "ok": tally.clean}
    if options.keep:
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(json.dumps(report, indent=1) if options.json else "\n".join(f"{name:13} {value}" for name, value in report.items()))
    raise SystemExit(not tally.clean)


if __name__ == "__main__":
    main()
