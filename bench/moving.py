"""What a move of a namespace between two servers costs, and whether it loses anything: `python -m bench.moving`.

    python -m bench.moving [--nodes 100000] [--writers 2] [--readers 2] [--bare] [--json] [--keep]

Two servers of the wheel's PostgreSQL, each in a folder of its own with everything on that keeps an acknowledged write. A
namespace is filled; then it moves to the other server while processes write exchanges to it and ask questions of it, and when
they have ended back again without them. Told are how long writers had to wait, the longest single write and question,
acknowledged writes that are not there or there twice, what failed, whether the ledger proves itself, and whether a hundred
questions are answered the same before and after the second move, scores included. Ends with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from bench.scale import ROOT, TOPICS, message, names, question, sentences
from bench.shared import SURE, Job, _texts, fill, opened
from mnemic import Memory
from mnemic.errors import MnemicError
from mnemic.models.document import Turn
from tests.servers import serving

RESULTS = ROOT / "bench" / "results" / "moving.json"
SPACE = "team"
ASKED = 100


@dataclass(slots=True)
class Done:
    """What one process did meanwhile."""

    ms: list[float] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--nodes", type=int, default=100_000, help="messages in the namespace")
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--bare", action="store_true", help="leave the vectors out: filling takes a third of the time")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(SURE) as one, serving(SURE) as two:
        report = measure(options, Path(folder), one.fresh("bench"), two.fresh("bench"))
    if options.keep:
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(json.dumps(report, indent=1) if options.json else render(report))
    sys.exit(not report["ok"])


def measure(options: argparse.Namespace, folder: Path, one: str, two: str) -> dict[str, Any]:
    """Fill, move under load, move back."""
    said = sentences()
    topics = tuple(random.Random(1).sample(list(said), min(TOPICS, len(said))))
    job = Job(one, str(folder), topics, (SPACE,), 0, 0)
    began = time.perf_counter()
    fill(job, options.nodes, indexed=not options.bare)
    filled = time.perf_counter() - began
    with opened(job) as memory:
        memory.shards.add("two", two)
        busy, done = _busily(options, job, memory)
        space = memory.within(SPACE)
        if not options.bare:
            space.index()
        draw = random.Random(9)
        texts = _texts(space)
        asked = [question(draw.choice(texts), draw) for _ in range(ASKED)]
        before = [_answer(space, one_) for one_ in asked]
        back = memory.shards.move(SPACE, "home")
        same = [_answer(space, one_) for one_ in asked] == before
        lost, twice = _counted(space, [mark for one_ in done["writers"] for mark in one_.kept])
        verdict = space.verify()
        nodes = space._store.counts(SPACE)["nodes"]
    writes, reads = ([ms for one_ in done[kind] for ms in one_.ms] for kind in ("writers", "readers"))
    errors = [error for kind in done.values() for one_ in kind for error in one_.errors]
    return {
        "nodes": nodes, "filled_s": round(filled, 1), "under_load": busy, "back": back,
        "writes": {"acknowledged": len(writes), "lost": lost, "twice": twice, **_times(writes)},
        "questions": {"asked": len(reads), **_times(reads)}, "errors": errors[:20], "ledger": verdict.ok,
        "answers_equal": same, "ok": not (lost or twice or errors) and verdict.ok and same,
    }  # fmt: skip


def _busily(options: argparse.Namespace, job: Job, memory: Memory) -> tuple[dict[str, Any], dict[str, list[Done]]]:
    """Move while others work; what was told of the move, and what they did."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(options.writers + options.readers) as pool:
        ready, ended = manager.Semaphore(0), manager.Event()
        acts = {"writers": (_write, options.writers), "readers": (_read, options.readers)}
        under_way = {
            kind: [pool.apply_async(act, (job, number, ready, ended)) for number in range(count)]
            for kind, (act, count) in acts.items()
        }
        for _ in range(options.writers + options.readers):
            ready.acquire()
        try:
            told = memory.shards.move(SPACE, "two")
        finally:
            ended.set()
        return told, {kind: [one.get() for one in each] for kind, each in under_way.items()}


def _write(job: Job, number: int, ready: Any, ended: Event) -> Done:
    said, draw, done = sentences(), random.Random(number), Done()
    named = names(draw)
    with opened(Job(job.home, job.folder, job.topics, job.spaces, 0, 100 + number)) as memory:
        space = memory.within(SPACE)
        while not ended.is_set():
            mark = f"({number}/{len(done.kept)})"
            text = f"{message(said, named, draw)} {mark}"
            before = time.perf_counter()
            try:
                space.capture([Turn("user", text), Turn("assistant", "Noted.")], session=f"live-{number}", index=False)
                done.kept.append(mark)
                done.ms.append((time.perf_counter() - before) * 1000)
            except MnemicError as error:
                done.errors.append(f"write: {type(error).__name__}: {error}")
            if len(done.kept) == 1:
                ready.release()
    return done


def _read(job: Job, number: int, ready: Any, ended: Event) -> Done:
    draw, done = random.Random(50 + number), Done()
    with opened(Job(job.home, job.folder, job.topics, job.spaces, 0, 200 + number)) as memory:
        space = memory.within(SPACE)
        texts = _texts(space)
        while not ended.is_set():
            before = time.perf_counter()
            answer = space.recall(question(draw.choice(texts), draw))
            done.ms.append((time.perf_counter() - before) * 1000)
            done.errors += [f"recall: {why}" for why in answer.degraded if "not embedded yet" not in why]
            if len(done.ms) == 1:
                ready.release()
    return done


def _answer(space: Memory, asked: str) -> list[tuple[str, float]]:
    return [(hit.path, hit.score) for hit in space.recall(asked).hits]


def _counted(space: Memory, kept: list[str]) -> tuple[int, int]:
    """How many acknowledged texts are not there, and how many more than once."""
    store, found = space._store, dict[str, int]()
    for one in store.documents(SPACE, below="/sessions", limit=10_000_000):
        if one.session and one.session.startswith("live-"):
            for body in store.document_texts(SPACE, one.id, one.shelf).values():
                mark = body[body.rfind("(") :]  # the text before it may have been redacted
                found[mark] = found.get(mark, 0) + 1
    return sum(mark not in found for mark in kept), sum(found.get(mark, 0) > 1 for mark in kept)


def _times(ms: list[float]) -> dict[str, float]:
    if not ms:
        return {}
    return {"p50_ms": round(float(np.percentile(ms, 50)), 1), "longest_ms": round(max(ms), 1)}


def render(report: dict[str, Any]) -> str:
    """A few lines."""
    lines = [f"{report['nodes']:,} nodes"]
    for name in ("under_load", "back"):
        row = report[name]
        lines.append(f"{name}: {row['rows']:,} rows in {row['seconds']} s, writers waited {row['paused_ms']} ms")
    lines += [f"{name}: {report[name]}" for name in ("writes", "questions", "errors", "ledger", "answers_equal")]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
