"""Whether the server alone keeps namespaces apart: `python -m bench.guards`.

    python -m bench.guards [--operations 10000] [--seed 1] [--json] [--keep]

A test build of the PostgreSQL store: on its way to the server every statement loses its conditions on the namespace, in
SELECT, UPDATE and DELETE and in the joins between tables. `ns=%s` becomes `(%s::bigint IS NOT NULL)`, so that the parameters
keep their places, and `a.ns=b.ns` becomes `true`. What is left to keep ten namespaces apart is row-level security. Random
operations go through `Memory` and the store below it, half of what they name belongs to others, and identifiers are drawn from
those of the whole home. No answer may hold another namespace's secret.

The same operations, by the same dice, clock and ids, then go through the build as it is, in a copy of the same empty
database: every answer, and in the end every row of every table, must be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import psycopg

from bench.isolation import NAMES, TOPICS, Act, Space, World, _text, heavy, of_memory
from bench.scale import ROOT
from mnemic import Memory
from mnemic.clock import CountingIds, FixedClock
from mnemic.embed.hashing import HashingEmbedder
from mnemic.errors import MnemicError
from mnemic.store import CodeBlock, VaultFile, VectorRow
from mnemic.store.postgres import migrations, open_postgres
from mnemic.store.schema import TRUTH
from tests.servers import Server, serving

RESULTS = ROOT / "bench" / "results" / "guards.json"
CONDITION = re.compile(r"\b(?:\w+\.)?ns=%s")
JOIN = re.compile(r"\b\w+\.ns=\w+\.ns\b")
REST = re.compile(r"\b(?:\w+\.)?ns\s*(?:=|<|>|!|\bIN\b|\bBETWEEN\b)[^ ,)]*|[\w.]+\s*=\s*\w+\.ns\b", re.IGNORECASE)
"""Conditions on a namespace in whatever form, to see what was left."""
THREADED = ("observe", "flush", "window", "windows")
"""Operations that leave work to threads: their order, and so what the dice make of it, would differ from run to run."""
TIMED = ("dream", "card new", "state")
"""Operations whose rows tell how long they took, or when a file was written."""
HEAVY_EVERY, MINUTES = 200, 7
"""One operation in so many reads or writes all of a namespace; and so long after each the next one follows."""
ON_DISK = {"vault_files": ["mtime_ns", "ctime_ns", "inode", "size"]}
"""Columns that tell of a file on this disk: its size is left open where it was written in the moment it was read."""
OTHER, DIM = 2, 4
"""An embedder that no recall asks, with vectors and codes that mean nothing."""
SPENT = re.compile(r'"(?:timings|bytes|seconds|took)": (?:\{[^}]*\}|[\d.]+)|/tmp\w{8}/')
"""What differs from run to run: times, sizes on disk, and the names of folders for a moment."""
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@dataclass(slots=True)
class Statements:
    """What went to the server, by the first word of it."""

    rewritten: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    """Those that have no such condition: inserts, which name the namespace as a value and a key, and what is the home's."""
    texts: dict[str, str] = field(default_factory=dict)
    """Each statement that was sent, and how."""
    remaining: Counter[str] = field(default_factory=Counter)
    """Conditions on a namespace of another form, in what was sent."""

    def bare(self, query: Any) -> Any:
        """A statement without its conditions on the namespace."""
        if not isinstance(query, str):
            self.left["composed"] += 1
            return query
        sent = self.texts.get(query)
        if sent is None:
            sent = self.texts[query] = JOIN.sub("true", CONDITION.sub("(%s::bigint IS NOT NULL)", query))
            self.remaining.update(REST.findall(sent))
        (self.left if sent == query else self.rewritten)[_kind(query)] += 1
        return sent


def _kind(query: str) -> str:
    word = query.split(None, 1)[0].upper().rstrip(";")
    if word == "SELECT" and " FROM " not in query:
        return "SELECT of no table"
    return word


@contextmanager
def unguarded(statements: Statements) -> Iterator[None]:
    """The test build: meanwhile no statement of this process leaves the driver with a condition on the namespace."""
    execute, executemany = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def bare(self: psycopg.Cursor[Any], query: Any, *arguments: Any, **more: Any) -> psycopg.Cursor[Any]:
        return execute(self, statements.bare(query), *arguments, **more)

    def bare_many(self: psycopg.Cursor[Any], query: Any, *arguments: Any, **more: Any) -> None:
        executemany(self, statements.bare(query), *arguments, **more)

    with patch.multiple(psycopg.Cursor, execute=bare, executemany=bare_many):
        yield


@dataclass(slots=True)
class Report:
    """What was done and found. Everything from `crossings` on should be empty."""

    operations: int = 0
    namespaces: int = len(NAMES)
    acts: int = 0
    """Different operations."""
    refused: int = 0
    own: int = 0
    """Operations that showed a secret of the namespace itself: so much was there to be seen."""
    rewritten: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    texts: int = 0
    """Different statements."""
    remaining: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    """Rows that the namespaces have in the end, all compared."""
    seconds: float = 0.0
    crossings: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    """Answers and rows that are not those of the build as it is."""
    faults: list[str] = field(default_factory=list)
    """Errors that mnemic does not mean, and ledgers that do not verify."""

    @property
    def ok(self) -> bool:
        """Whether statements were laid bare, and nothing came of it."""
        return bool(self.rewritten) and not (self.crossings or self.differences or self.faults)


def below_memory() -> dict[str, Act]:
    """The store's own reads and writes, asked for identifiers of the whole home."""

    def ids(w: World) -> list[int]:
        return [w.dice.randint(1, 3_000) for _ in range(40)]

    def put_codes(w: World) -> None:
        first = w.dice.randint(1, 50)
        nodes = b"".join(number.to_bytes(8, "little") for number in ids(w)[:10])
        block = CodeBlock(first, first + 9, nodes, (w.me.secret * 40).encode())
        vectors = [VectorRow(number, w.me.secret.encode(), bytes(w.dice.randbytes(2 * DIM))) for number in ids(w)]
        with w.me.memory._store.write(w.me.name) as tx:
            tx.put_vectors(OTHER, vectors)
            tx.put_codes(OTHER, [block])
            tx.put_coder(OTHER, first, w.me.secret.encode())

    def drop_codes(w: World) -> None:
        with w.me.memory._store.write(w.me.name) as tx:
            tx.drop_codes(OTHER)
            tx.drop_vectors(OTHER, 5)

    def put_edges(w: World) -> None:
        some = ids(w)
        with w.me.memory._store.write(w.me.name) as tx:
            tx.put_edges([(one, other, "similar", 0.5) for one, other in zip(some, some[1:], strict=False)])
            tx.drop_edges([(one, other, "similar") for one, other in zip(some[20:], some[21:], strict=False)])

    def put_links(w: World) -> None:
        rows = [(f"note {number}", w.name, w.me.secret, "") for number in range(w.dice.randint(0, 3))]
        with w.me.memory._store.write(w.me.name) as tx:
            tx.put_vault_links(w.name, rows)
            tx.put_vault_rename(w.name, w.dice.choice([None, w.me.secret]))
            tx.put_vault_file(VaultFile(f"cards/{w.name}.md", w.name, "kept", 1, 1, 1, 1, "", "", "user", "card", "", w.me.secret,
                                        "", w.dice.randint(0, 1), ""))  # fmt: skip

    def drop_file(w: World) -> None:
        with w.me.memory._store.write(w.me.name) as tx:
            tx.drop_vault_file(f"cards/{w.name}.md")

    def read(ask: Callable[[Any, str, World], Any]) -> Act:
        return lambda w: ask(w.me.memory._store, w.me.name, w)

    return {
        "codes": read(lambda s, ns, w: (s.codes(ns, OTHER), s.codes_last(ns, OTHER), s.coder(ns, OTHER))),
        "other vectors": read(lambda s, ns, w: (s.vectors_since(ns, OTHER, 0, 99), s.vector_count(ns, OTHER), sorted(
            s.digests(ns, OTHER, ids(w)).items()), s.vectors_after(ns, OTHER, 0, 99), s.vectors_before(ns, OTHER, 2_000, 99))),
        "put codes": put_codes, "drop codes": drop_codes, "put edges": put_edges, "put links": put_links,
        "links": read(lambda s, ns, w: (s.vault_links(ns), s.vault_renames(ns), s.vault_listed(ns, "cards"), s.vault_named(
            ns, w.name), s.vault_uncommitted(ns), [(one.path, one.description) for one in s.vault_files(ns)])),
        "drop file": drop_file,
        "found": read(lambda s, ns, w: sorted(s.found(ns, ids(w)), key=repr)),
        "texts": read(lambda s, ns, w: (sorted(s.texts(ns, ids(w)).items()), s.left_texts(ns), sorted(
            s.text_digests(ns, ids(w)).items(), key=repr))),
        "vectors": read(lambda s, ns, w: (sorted(s.vectors(ns, 1, ids(w)).items()), sorted(s.digests(ns, 1, ids(w)).items()))),
        "vectors since": read(lambda s, ns, w: (s.vectors_since(ns, 1, w.dice.randrange(500), 50), s.vectors_last(ns, 1))),
        "edges": read(lambda s, ns, w: s.edges(ns, ids(w), "similar")),
        "queue": read(lambda s, ns, w: (s.queue(ns), s.waiting(ns))), "whole queue": read(lambda s, ns, w: s.queue(None)),
        "counts": read(lambda s, ns, w: (dict(s.counts(ns)), s.sequences(ns), s.erased(ns), s.forgotten(ns), s.lexicon(ns))),
        "words": read(lambda s, ns, w: (s.document_frequencies(ns, [w.other.mark, *TOPICS]), s.phrase(ns, ["window", "seat"], 99),
                                        sorted(s.postings(ns, ["piano"])["piano"].tolist()))),
        "documents": read(lambda s, ns, w: ([s.document_by_id(ns, one) for one in ids(w)[:8]], s.documents(ns, limit=50))),
        "operations": read(lambda s, ns, w: (s.operations(ns), s.operation(ns, w.name))),
        "rows": read(lambda s, ns, w: list(map(dict, s.rows(ns, w.dice.choice(sorted(TRUTH)))))),
        "messages": read(lambda s, ns, w: (s.messages(ns, session=w.name), s.session_documents(ns, w.name, 5))),
        "wait": lambda w: w.me.memory.capture([], session=w.name) if w.dice.random() < 0.1 else w.me.memory.remember(
            w.text, index=False),
        "index": lambda w: w.me.memory.index(),
    }  # fmt: skip


class Run:
    """The operations on one home."""

    def __init__(self, url: str, folder: Path, seed: int, report: Report) -> None:
        self.report, self.dice, self.clock = report, random.Random(seed), FixedClock(NOON)
        self.answers: list[str] = []
        """A digest of each."""
        self.hidden = (str(folder), url.partition("?")[0])
        folder.mkdir()
        self.memory = Memory.open(
            url, environ={"MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_FILES": str(folder / "files")},
            clock=self.clock, ids=CountingIds(), embedder=HashingEmbedder(64),
        )  # fmt: skip
        self.spaces = [self._space(place, name) for place, name in enumerate(NAMES)]
        assert self.memory._store.embedder("fake/other", DIM).id == OTHER
        self.world = World(self.dice, folder, self.spaces, httpx.AsyncClient(), self.spaces[0], self.spaces[1])

    def _space(self, place: int, name: str) -> Space:
        mark, secret = (f"{word}{self.dice.getrandbits(48):012x}" for word in ("mark", "canary"))
        made = Space(place, name, self.memory.within(name), mark, secret, {})
        for _ in range(5):
            made.paths.append(str(made.memory.remember(made.text(self.dice), title=self.dice.choice(TOPICS)).path))
        return made

    def run(self, operations: int) -> None:
        light = {name: act for name, act in {**of_memory(), **below_memory()}.items() if name not in (*THREADED, *TIMED)}
        slow = {name: act for name, act in heavy().items() if name not in TIMED}
        self.report.acts = len(light) + len(slow)
        for number in range(operations):
            self.world.me, self.world.other = self.dice.sample(self.spaces, 2)
            acts = slow if number % HEAVY_EVERY == HEAVY_EVERY - 1 else light
            name = self.dice.choice(sorted(acts))
            self._one(f"{number} {name}", acts[name])
            self.clock.advance(minutes=MINUTES)
        for space in self.spaces:
            if not (verdict := space.memory.verify()).ok:
                self.report.faults.append(f"the ledger of {space.name!r}: {verdict.problem}")

    def _one(self, what: str, act: Act) -> None:
        me = self.world.me
        self.report.operations += 1
        try:
            said = _text(act(self.world))
        except MnemicError as error:
            self.report.refused += 1
            said = str(error)
        except Exception as error:
            self.report.faults.append(f"{what} in {me.name!r}: {type(error).__name__}: {str(error)[:300]}")
            said = str(error)
        self.report.own += me.secret in said
        for space in self.spaces:
            if space is not me and space.secret in said:
                self.report.crossings.append(f"{what} in {me.name!r} shows {space.name!r}")
        found = re.findall(r"/(?:notes|sessions|records|cards)/[\w/.-]+", said)
        me.paths += [path for path in found if "canary" not in path][:5]  # or asking for it would be an echo
        del me.paths[:-200]
        for hidden in self.hidden:
            said = said.replace(hidden, "")
        self.answers.append(f"{what}: {hashlib.sha256(SPENT.sub('', said).encode()).hexdigest()}")

    def close(self) -> None:
        for space in self.spaces:
            space.memory.close()
        self.memory.close()


def rows(url: str) -> dict[tuple[str, str], Counter[str]]:
    """Every row of every namespace, by namespace and table."""
    found: dict[tuple[str, str], Counter[str]] = {}
    with psycopg.connect(url, autocommit=True, options="-c search_path=mnemic,public") as db:
        for table in migrations.TABLES:
            query = f"SELECT n.name, (to_jsonb(t) - %s::text[])::text FROM {table} t JOIN namespaces n ON n.id=t.ns"
            for name, row in db.execute(query.encode(), (ON_DISK.get(table, []),)).fetchall():
                found.setdefault((name, table), Counter())[row] += 1
    return found


def measure(server: Server, folder: Path, operations: int, seed: int, *, guarded: bool = True) -> Report:
    """The operations on both builds. Without `guarded` the server guards nothing: so much would come out then."""
    report, statements, began = Report(), Statements(), time.monotonic()
    server.execute("CREATE DATABASE guards_new")
    open_postgres(server.url("guards_new"), partitions=4).close()
    for name in ("guards_bare", "guards_whole"):
        server.execute(f"CREATE DATABASE {name} TEMPLATE guards_new")
    try:
        bare, whole = server.url("guards_bare"), server.url("guards_whole")
        if not guarded:
            server.execute(UNGUARD, "guards_bare")
        with unguarded(statements):
            first = Run(bare, folder / "bare", seed, report)
            first.run(operations)
            first.close()
        second = Run(whole, folder / "whole", seed, Report())
        second.run(operations)
        second.close()
        report.faults += [f"the build as it is: {fault}" for fault in second.report.faults]
        report.crossings += [f"the build as it is: {crossing}" for crossing in second.report.crossings]
        _compared(report, first.answers, second.answers, rows(bare), rows(whole))
    finally:
        for name in ("guards_bare", "guards_whole", "guards_new"):
            server.drop(name)
    report.rewritten, report.left = dict(statements.rewritten), dict(statements.left)
    report.texts, report.remaining = len(statements.texts), dict(statements.remaining)
    report.seconds = round(time.monotonic() - began, 1)
    return report


UNGUARD = """
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT relname FROM pg_class WHERE relnamespace='mnemic'::regnamespace AND relrowsecurity
  LOOP EXECUTE format('ALTER TABLE mnemic.%I DISABLE ROW LEVEL SECURITY', name); END LOOP;
END $$
"""


def _compared(
    report: Report, first: Sequence[str], second: Sequence[str], bare: dict[tuple[str, str], Counter[str]],
    whole: dict[tuple[str, str], Counter[str]],
) -> None:  # fmt: skip
    differing = [one.rpartition(":")[0] for one, other in zip(first, second, strict=True) if one != other]
    report.differences += [f"answer of {what}" for what in differing]
    report.rows = sum(sum(rows.values()) for rows in bare.values())
    for key in sorted({*bare, *whole}):
        here, there = bare.get(key, Counter()), whole.get(key, Counter())
        if here != there:
            name, table = key
            more, less = (here - there), (there - here)
            some = next(iter([*more, *less]))[:200]
            report.differences.append(f"{table} of {name!r}: {more.total()} rows more and {less.total()} less, e.g. {some}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the figures")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    for name in [name for name in os.environ if name.startswith("MNEMIC_")]:
        del os.environ[name]  # nobody's own settings
    with tempfile.TemporaryDirectory() as folder, serving({"shared_buffers": "256MB", "autovacuum": "on"}) as server:
        report = measure(server, Path(folder), options.operations, options.seed)
    row = {**asdict(report), "ok": report.ok}
    if options.keep:
        RESULTS.write_text(json.dumps(row, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(json.dumps(row, ensure_ascii=False, indent=1) if options.json else "\n".join(f"{k:12} {v}" for k, v in row.items()))
    raise SystemExit(not report.ok)


if __name__ == "__main__":
    main()
