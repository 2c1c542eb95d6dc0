"""What a shared home costs beside a folder: `python -m bench.shared`.

    python -m bench.shared [--url URL] [--namespaces 50] [--nodes 10000] [--clients 8] [--seconds 10] [--json] [--keep]

Fills both with the same messages (those of bench.scale, and its embedder that costs next to nothing), over many namespaces;
then so many clients, each a process of its own, ask questions of one namespace after the other for some seconds, and then
write exchanges. Recall is timed embedding aside, once each client has opened its namespaces. Without `--url` the wheel's
PostgreSQL runs on a socket with everything that keeps an acknowledged write; the folder is on the same disk. The clients
and the server share the machine.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.scale import ROOT, START, TOPICS, Between, message, names, question, sentences
from mnemic import Memory
from mnemic.errors import MnemicError
from mnemic.models.document import Turn
from tests.servers import serving

RESULTS = ROOT / "bench" / "results" / "shared.json"
SURE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "on", "shared_buffers": "512MB",
        "max_connections": "200"}  # fmt: skip
BATCH = 60
"""Messages that one capture of the filling brings."""
WARM = 3
"""Questions to each namespace before the clock runs."""
EACH = 8
"""Namespaces that one client looks after."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a client is to do, in a process of its own."""

    home: str
    folder: str
    topics: tuple[str, ...]
    spaces: tuple[str, ...]
    seconds: float
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--url", help="an empty database; without, a server of its own")
    parser.add_argument("--namespaces", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=10_000, help="message nodes, over all namespaces")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.url:
            report = measure(options, Path(folder), options.url)
        else:
            with serving(SURE) as server:
                report = measure(options, Path(folder), server.fresh("bench"))
    if options.keep:
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(json.dumps(report, indent=1) if options.json else render(report))


def measure(options: argparse.Namespace, folder: Path, url: str) -> dict[str, Any]:
    """The figures of both homes, one after the other."""
    said = sentences()
    topics = tuple(random.Random(1).sample(list(said), min(TOPICS, len(said))))
    found = []
    for home in (str(folder / "home"), url):
        spaces = [f"user-{number}" for number in range(options.namespaces)]
        job = Job(home, str(folder), topics, tuple(spaces), options.seconds, 0)
        filled = fill(job, options.nodes // options.namespaces)
        jobs = [
            Job(home, str(folder), topics, tuple(spaces[(client * EACH + place) % len(spaces)] for place in range(EACH)),
                options.seconds, client)
            for client in range(options.clients)
        ]  # fmt: skip
        with ProcessPoolExecutor(options.clients) as pool:
            asked = list(pool.map(ask, jobs))
            wrote = list(pool.map(write, jobs))
        times = np.concatenate([times for times, _ in asked])
        found.append({
            "namespaces": options.namespaces, "nodes": options.nodes, "clients": options.clients,
            "filled_per_s": round(options.nodes / filled, 1),
            "recall": {"p50_ms": round(float(np.percentile(times, 50)), 2), "p95_ms": round(float(np.percentile(times, 95)), 2),
                       "per_s": round(len(times) / options.seconds, 1)},
            "capture_per_s": round(sum(count for count, _ in wrote) / options.seconds, 1),
            "errors": sum(errors for _, errors in (*asked, *wrote)),
        })  # fmt: skip
    return {**found[1], "sqlite": found[0]}


def opened(job: Job) -> Memory:
    environ = {"MNEMIC_CONFIG": f"{job.folder}/config-{job.seed}", "MNEMIC_FILES": f"{job.folder}/files-{job.seed}"}
    return Memory.open(job.home, environ=environ, embedder=Between(job.topics))


def fill(job: Job, each: int) -> float:
    """Seconds that filling all namespaces took, indexing included."""
    said, draw = sentences(), random.Random(2)
    named, started = names(draw), time.perf_counter()
    with opened(job) as memory:
        for name in job.spaces:
            space = memory.within(name)
            for at in range(0, each, BATCH):
                turns = [
                    Turn("user" if place % 2 == 0 else "assistant", message(said, named, draw), created_at=START + place * 60_000)
                    for place in range(at, min(at + BATCH, each))
                ]
                space.capture(turns, session=f"session_{at // BATCH}", index=False)
            space.index()
    return time.perf_counter() - started


def ask(job: Job) -> tuple[list[float], int]:
    """Milliseconds of each question, embedding aside, and how many failed."""
    draw, times, errors = random.Random(job.seed), list[float](), 0
    with opened(job) as memory:
        spaces = [memory.within(name) for name in job.spaces]
        texts = {space.namespace: _texts(space) for space in spaces}
        for space in spaces:
            for _ in range(WARM):
                space.recall(question(draw.choice(texts[space.namespace]), draw))
        until = time.perf_counter() + job.seconds
        while time.perf_counter() < until:
            space = draw.choice(spaces)
            asked = question(draw.choice(texts[space.namespace]), draw)
            before = time.perf_counter()
            answer = space.recall(asked)
            times.append((time.perf_counter() - before) * 1000 - answer.timings.get("embed", 0.0))
            errors += bool(answer.degraded)
    return times, errors


def _texts(memory: Memory) -> list[str]:
    """Some texts of a namespace."""
    store, ns = memory._store, memory.namespace
    documents = store.documents(ns, limit=50)
    return [body for document in documents for body in store.document_texts(ns, document.id, document.shelf).values()]


def write(job: Job) -> tuple[int, int]:
    """How many exchanges were acknowledged, and how many failed."""
    said, draw = sentences(), random.Random(1_000 + job.seed)
    named, done, errors = names(draw), 0, 0
    with opened(job) as memory:
        spaces = [memory.within(name) for name in job.spaces]
        until = time.perf_counter() + job.seconds
        while time.perf_counter() < until:
            turns = [Turn("user", message(said, named, draw)), Turn("assistant", message(said, named, draw))]
            try:
                draw.choice(spaces).capture(turns, session=f"live-{job.seed}", index=False)
                done += 1
            except MnemicError:
                errors += 1
    return done, errors


def render(report: dict[str, Any]) -> str:
    """A Markdown table."""
    head = f"{report['nodes']:,} messages in {report['namespaces']} namespaces, {report['clients']} clients"
    columns = ("", "recall p50", "recall p95", "questions a second", "writes a second", "errors")
    rows = [head, "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for name, row in (("PostgreSQL", report), ("SQLite", report["sqlite"])):
        recall = row["recall"]
        times = f"{recall['p50_ms']} ms | {recall['p95_ms']} ms | {recall['per_s']:,}"
        rows.append(f"| {name} | {times} | {row['capture_per_s']:,} | {row['errors']} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
