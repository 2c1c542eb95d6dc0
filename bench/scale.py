"""What a full home costs: `python -m bench.scale`.

    python -m bench.scale [--data FILE] [--nodes 10000] [--questions 100] [--json] [--keep]

Fills a temporary home with messages and asks it questions. A message is made of real sentences put together anew (of
LoCoMo where `--data` names its file, else of this project's own documents) and, every other time, of a name from a
list that grows as new names do in real text: random letters would give the index words that no language has, and
sentences alone would give it no rare ones. Vectors come from a fake embedder that costs next to nothing: points
between the hashing vectors of a text and of one of a few hundred topics, as no random vectors lie where a model puts
them. So the figures are those of the store and of recall, embedding aside; how good the answers are is the matter of
the retrieval benches.

No question is asked twice. Warm is a process that has answered 300 others: one that serves an agent, not one that was just
started, and not one that is asked the same again.

In the same run, on the same texts and vectors: plain SQLite FTS5 (BM25, any word) with a numpy matrix product, fused by
ranks, all in memory. Recall is measured in a process of its own, cold and then warm. `--keep` stores the figures in
bench/results/scale.json and writes docs/scale.md from them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.locomo import conversations
from bench.retrieval import RRF_K, STOP, WORD
from mnemic import Memory
from mnemic.embed import HashingEmbedder
from mnemic.embed.base import Kind, Vectors, unit
from mnemic.models.document import Turn

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "scale.json"
PAGE = ROOT / "docs" / "scale.md"
DIM = 384
SESSION = 40
"""Messages a session has; a write is one exchange of two."""
START = 1_680_000_000_000
TOPICS = 300
WARM = 300
"""Questions that are asked before those whose time counts; none of them is asked again."""
LAST = 1_000
"""The writes at the end, when the home is full, whose acknowledgement is timed."""
GROWTH = 0.6
"""Heaps' exponent: how many names there are grows with this power of how often one is named."""


@dataclass(slots=True)
class Between:
    """Points between a text's hashing vector and that of its topic."""

    topics: Sequence[str]
    identity: str = f"fake/between@{DIM}+none"
    dim: int = DIM
    inner: HashingEmbedder = field(default_factory=lambda: HashingEmbedder(DIM))

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        topics = [self.topics[zlib.crc32(text.encode()) % len(self.topics)] for text in texts]
        return unit(0.6 * self.inner.embed(texts, kind) + 0.4 * self.inner.embed(topics, kind), DIM)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, help="LoCoMo JSON file; without, the project's own documents")
    parser.add_argument("--nodes", type=int, default=10_000, help="message nodes")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the figures and write the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(sentences(options.data), Path(folder), options.nodes, options.questions)
    if options.keep:
        keep(report)
    print(json.dumps(report, indent=1) if options.json else render(report))


def measure(said: Sequence[str], folder: Path, nodes: int, questions: int) -> dict[str, Any]:
    draw = random.Random(1)
    embedder = Between(draw.sample(list(said), min(TOPICS, len(said))))
    (folder / "topics.json").write_text(json.dumps(embedder.topics), "utf-8")
    with opened(folder, embedder) as memory:
        acks, seconds = fill(memory, said, nodes, draw)
        asked = list(dict.fromkeys(question(text, draw) for text in _drawn(memory, WARM + questions, draw)))
        baseline = plain(memory, embedder, asked[-questions:])
    (folder / "asked.json").write_text(json.dumps(asked), "utf-8")
    found = json.loads(_child("probe", folder, questions))
    return {
        "nodes": nodes,
        "capture_per_second": round(nodes / seconds, 1),
        "write_ack_ms": spread(acks),
        **found,
        "baseline_ms": spread(baseline),
        "disk_bytes": sum(path.stat().st_size for path in (folder / "home").rglob("*") if path.is_file()),
        "embedder": embedder.identity,
    }


# the text


def sentences(data: Path | None = None) -> Sequence[str]:
    """Real sentences: of the conversations in a LoCoMo file, or of the project's documents."""
    if data is not None:
        talks = conversations(json.loads(data.read_text("utf-8")))
        texts = [each.turn.content for talk in talks for each in talk.items]
    else:
        texts = [page.read_text("utf-8") for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))]
    found = [each.strip() for text in texts for each in re.split(r"(?<=[.!?])\s+|\n\n", text)]
    return [each for each in found if 2 < len(each) < 300]


def names(draw: random.Random) -> Iterator[str]:
    """Names without end: fewer and fewer are new, the others come as often as they came before."""
    known: list[str] = []
    while True:
        if draw.random() < (len(known) + 1) ** (1 - 1 / GROWTH):
            known.append("".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(draw.randint(2, 4))))
        else:
            known.append(draw.choice(known))
        yield known[-1].title()


def message(said: Sequence[str], named: Iterator[str], draw: random.Random) -> str:
    parts = draw.choices(said, k=draw.randint(1, 4))
    if draw.random() < 0.5:
        parts.insert(draw.randint(0, len(parts)), f"{next(named)} was there.")
    return " ".join(parts)


def question(text: str, draw: random.Random) -> str:
    """A question in words of a message: a run of eight, and what it is asked with."""
    words = text.split()
    at = draw.randint(0, max(0, len(words) - 8))
    return f"What was it about {' '.join(words[at : at + 8])}?"


# the run


def fill(memory: Memory, said: Sequence[str], nodes: int, draw: random.Random) -> tuple[list[float], float]:
    """Milliseconds that each of the last writes took to be durable, and seconds for all of it, indexing included."""
    acks: list[float] = []
    named = names(draw)
    started = time.perf_counter()
    for at in range(0, nodes, 2):
        pair = [
            Turn(role, message(said, named, draw), name, START + (at + place) * 60_000)
            for place, (role, name) in enumerate((("user", "Ada"), ("assistant", "Grace")))
        ]
        before = time.perf_counter()
        memory.capture(pair[: nodes - at], session=f"session_{at // SESSION}", index=False)
        acks.append((time.perf_counter() - before) * 1000)
    memory.index()
    return acks[-LAST:], time.perf_counter() - started


def ask(memory: Memory, questions: Sequence[str]) -> tuple[list[float], dict[str, list[float]]]:
    """Milliseconds a question took, embedding aside, and by stage ("candidates" holds "prepare", "find" and "widen")."""
    times: list[float] = []
    stages: dict[str, list[float]] = {}
    for each in questions:
        before = time.perf_counter()
        answer = memory.recall(each)
        whole = (time.perf_counter() - before) * 1000
        times.append(whole - answer.timings.get("embed", 0.0))
        for name, value in answer.timings.items():
            stages.setdefault(name, []).append(value)
    return times, stages


def _drawn(memory: Memory, count: int, draw: random.Random) -> list[str]:
    """Texts of messages from all over the home."""
    last = memory.status()["texts"]
    found = memory._store.texts(memory.namespace, draw.sample(range(1, last + 1), min(count, last)))
    return list(found.values())


def plain(memory: Memory, embedder: Between, questions: Sequence[str]) -> list[float]:
    """Milliseconds that full-text search and a matrix product in memory take for the same questions, embedding aside."""
    import apsw

    store, ns = memory._store, memory.namespace
    base = apsw.Connection(":memory:")
    base.execute("CREATE VIRTUAL TABLE said USING fts5(body, tokenize='porter unicode61')")
    row = store.embedder(embedder.identity, embedder.dim)
    ids: list[int] = []
    vectors: list[bytes] = []
    stamp = 0
    while batch := store.vectors_since(ns, row.id, stamp, 20_000):
        stamp = batch[-1][0]
        ids += [node for _, node, _ in batch]
        vectors += [vector for _, _, vector in batch]
        found = store.found(ns, [node for _, node, _ in batch])
        bodies = store.texts(ns, sorted({item.text_id for item in found if item.text_id is not None}))
        rows = [(item.id, bodies[item.text_id or 0][item.start : item.reach]) for item in found]
        with base:
            base.executemany("INSERT INTO said(rowid, body) VALUES(?,?)", rows)
    matrix = np.frombuffer(b"".join(vectors), dtype=np.float16).reshape(-1, embedder.dim).astype(np.float32)
    return [_timed(_plainly(base, np.array(ids), matrix, embedder, each)) for each in questions]


def _plainly(base: Any, ids: Any, matrix: Vectors, embedder: Between, asked: str) -> Callable[[], Any]:
    vector = embedder.embed([asked], "query")[0]
    words = dict.fromkeys(word for word in WORD.findall(asked.lower()) if word not in STOP)
    match = " OR ".join(f'"{word}"' for word in words) or '""'

    def answer() -> list[int]:
        sql = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT 100"
        lexical = [number for (number,) in base.execute(sql, (match,))]
        scores = matrix @ vector
        near = np.argpartition(-scores, min(100, len(scores) - 1))[:100]
        nearest = ids[near[np.argsort(-scores[near])]].tolist()
        fused: dict[int, float] = {}
        for ranking in (lexical, nearest):
            for place, number in enumerate(ranking, 1):
                fused[number] = fused.get(number, 0.0) + 1 / (RRF_K + place)
        return sorted(fused, key=lambda number: -fused[number])[:6]

    return answer


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def probe(folder: str, questions: str) -> None:
    """In a process of its own: seconds to open and to the first answer, then milliseconds of the last questions, when it is
    warm by the others, and megabytes."""
    topics, asked = (json.loads((Path(folder) / f"{name}.json").read_text("utf-8")) for name in ("topics", "asked"))
    started = time.perf_counter()
    with opened(Path(folder), Between(topics)) as memory:
        opening = time.perf_counter() - started
        memory.recall(asked[0])
        first = time.perf_counter() - started
        cold = _peak_bytes()
        ask(memory, asked[1 : -int(questions)])
        times, stages = ask(memory, asked[-int(questions) :])
    found = {
        "recall_ms": spread(times),
        "stages_ms": {name: spread(values) for name, values in stages.items()},
        "startup_s": {"open": round(opening, 3), "first_answer": round(first, 3)},
        "memory_mb": {"first_answer": round(cold / 1e6), "warm": round(_peak_bytes() / 1e6)},
    }
    print(json.dumps(found))


def _child(name: str, *words: object) -> str:
    code = f"import sys; from bench.scale import {name}; {name}(*sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def spread(values: Sequence[float]) -> dict[str, float]:
    middle, high = np.quantile(np.array(values), [0.5, 0.95])
    return {"p50": round(float(middle), 2), "p95": round(float(high), 2)}


def opened(folder: Path, embedder: Between) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}, embedder=embedder)


def _peak_bytes() -> int:
    """The most memory this process had; not what its parent had when it was started, as getrusage tells on Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text("ascii"))[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# the page


def keep(report: dict[str, Any]) -> None:
    """Store the figures of a run in place of those of the same size, and write the page."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    kept = sorted([*(row for row in known if row["nodes"] != report["nodes"]), report], key=lambda row: row["nodes"])
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(kept), "utf-8")


def page(reports: Sequence[dict[str, Any]]) -> str:
    """docs/scale.md."""
    rows: dict[str, Callable[[dict[str, Any]], str]] = {
        "captured and indexed, messages a second": lambda r: f"{r['capture_per_second']:,.0f}",
        "a write acknowledged, p50 / p95 ms": lambda r: _pair(r["write_ack_ms"]),
        "**recall, p50 / p95 ms**": lambda r: f"**{_pair(r['recall_ms'])}**",
        "FTS5 + numpy fused, in memory, p50 / p95 ms": lambda r: _pair(r["baseline_ms"]),
        "· finding (vectors and words)": lambda r: _pair(r["stages_ms"]["find"]),
        "· widening (neighbours)": lambda r: _pair(r["stages_ms"]["widen"]),
        "· scoring": lambda r: _pair(r["stages_ms"]["score"]),
        "· selecting": lambda r: _pair(r["stages_ms"]["select"]),
        "cold process: home open, s": lambda r: f"{r['startup_s']['open']:.2f}",
        "cold process: first answer, s": lambda r: f"{r['startup_s']['first_answer']:.2f}",
        "memory after the first answer / when warm, MB": lambda r: " / ".join(str(mb) for mb in r["memory_mb"].values()),
        "on disk, MB": lambda r: f"{r['disk_bytes'] / 1e6:,.0f}",
    }
    lines = [PREFACE, "", "| nodes | " + " | ".join(f"{r['nodes']:,}" for r in reports) + " |",
             "|---|" + "---|" * len(reports)]  # fmt: skip
    lines += [f"| {name} | " + " | ".join(cell(r) for r in reports) + " |" for name, cell in rows.items()]
    return "\n".join(lines) + "\n"


PREFACE = """# What a full home costs

Written by `python -m bench.scale --nodes N --keep`, once for each size, on two cores shared with other work. Real
sentences put together anew with names that grow as in real text, a fake 384-dimension embedder whose vectors lie in a
cone as a model's do; embedding aside. The baseline has all texts and vectors in memory and no ledger, scopes,
neighbours or explanations.

The million was filled beside much other work, which is seen in its rate and in its baseline. Questions of all sizes were
timed anew later, in homes filled before; the first answers beside much other work. So the rates of capture, the
acknowledgement of writes and the room on disk are older than the questions, and than what capture does now.

Warm is a process that has answered 300 other questions; none is asked twice.

**How it grows.** Scanning the signs of all vectors is the one part that grows with them, 48 bytes each: some 2 ms for every
100,000. The word index is read up to 30,000 entries a question whatever the size, the candidates are as many, and so are
their neighbours: widening and scoring stay as they are. A first answer reads the codes, 96 bytes a vector, and memory holds
them. Of a shelf a process also keeps what it has read, up to 120,000 nodes (25 MB) until one is removed there, a million
entries of the word index (8 MB) until something is written, and 20,000 full vectors (15 MB): in a home much larger than that,
most nodes that a question weighs are read for it."""


def _pair(value: dict[str, float]) -> str:
    return f"{value['p50']:.1f} / {value['p95']:.1f}"


def render(report: dict[str, Any]) -> str:
    return "\n".join(f"{name:20} {value}" for name, value in report.items())


if __name__ == "__main__":
    main()
