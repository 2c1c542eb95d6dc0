"""What a full home costs: `python -m bench.scale`.

    python -m bench.scale --data FILE [--nodes 10000] [--questions 50] [--json]

Fills a temporary home with messages made of real sentences put together anew (random letters would give the
full-text index words that no language has), and asks it questions from the same file. Vectors come from a fake
embedder that costs next to nothing: points between the hashing vectors of a text and of one of a few hundred
topics, as no random vectors lie where a model puts them. So the figures are those of the store and of recall,
embedding aside; how good the answers are is the matter of `bench.locomo`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.locomo import conversations
from bench.retrieval import Collection
from mnemic import Memory
from mnemic.embed import HashingEmbedder
from mnemic.embed.base import Kind, Vectors, unit
from mnemic.models.answer import Scope
from mnemic.models.document import Turn

DIM = 384
SESSION = 40
"""Messages a session has; a write is one exchange of two."""
START = 1_680_000_000_000
TOPICS = 300


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
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo JSON file")
    parser.add_argument("--nodes", type=int, default=10_000, help="message nodes")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    talks = conversations(json.loads(options.data.read_text("utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        report = measure(talks, Path(folder), options.nodes, options.questions)
    print(json.dumps(report, indent=1) if options.json else render(report))


def measure(talks: Sequence[Collection], folder: Path, nodes: int, questions: int) -> dict[str, Any]:
    draw = random.Random(1)
    sentences = [s for talk in talks for each in talk.items for s in re.split(r"(?<=[.!?])\s+", each.turn.content) if s]
    embedder = Between(draw.sample(sentences, min(TOPICS, len(sentences))))
    asked = draw.choices([each.text for talk in talks for each in talk.questions], k=questions)
    with _opened(folder, embedder) as memory:
        acks, seconds = fill(memory, sentences, nodes, draw)
    started = time.perf_counter()
    with _opened(folder, embedder) as memory:
        opening = time.perf_counter() - started
        memory.recall(asked[0])
        first = time.perf_counter() - started
        times, stages = ask(memory, asked)
    return {
        "nodes": nodes,
        "capture_per_second": round(nodes / seconds, 1),
        "write_ack_ms": spread(acks),
        "recall_ms": spread(times),
        "stages_ms": {name: spread(values) for name, values in stages.items()},
        "startup_s": {"open": round(opening, 3), "first_answer": round(first, 3)},
        "disk_bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        "peak_rss_mb": round(_peak_bytes() / 1e6),
        "embedder": embedder.identity,
    }


def fill(memory: Memory, sentences: Sequence[str], nodes: int, draw: random.Random) -> tuple[list[float], float]:
    """Milliseconds that each write took to be durable, and seconds for all of it, indexing included."""
    acks: list[float] = []
    started = time.perf_counter()
    for at in range(0, nodes, 2):
        pair = [
            Turn(role, " ".join(draw.choices(sentences, k=draw.randint(1, 4))), name, START + (at + place) * 60_000)
            for place, (role, name) in enumerate((("user", "Ada"), ("assistant", "Grace")))
        ]
        before = time.perf_counter()
        memory.capture(pair[: nodes - at], session=f"session_{at // SESSION}", index=False)
        acks.append((time.perf_counter() - before) * 1000)
    memory.index()
    return acks, time.perf_counter() - started


def ask(memory: Memory, questions: Sequence[str]) -> tuple[list[float], dict[str, list[float]]]:
    """Milliseconds a question took, embedding aside, and by stage ("candidates" holds "find" and "widen")."""
    times: list[float] = []
    stages: dict[str, list[float]] = {}
    for question in questions:
        before = time.perf_counter()
        answer = memory.recall(question, scope=Scope(kinds=("message",)))
        whole = (time.perf_counter() - before) * 1000
        times.append(whole - answer.timings.get("embed", 0.0))
        for name, value in answer.timings.items():
            stages.setdefault(name, []).append(value)
    return times, stages


def spread(values: Sequence[float]) -> dict[str, float]:
    middle, high = np.quantile(np.array(values), [0.5, 0.95])
    return {"p50": round(float(middle), 2), "p95": round(float(high), 2)}


def render(report: dict[str, Any]) -> str:
    return "\n".join(f"{name:20} {value}" for name, value in report.items())


def _opened(folder: Path, embedder: Between) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}, embedder=embedder)


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main()
