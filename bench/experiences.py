"""What a full library of experiences costs: `python -m bench.experiences [--experiences 10000] [--json]`.

Fills a temporary home through the public verbs: words drawn by Zipf's law from a vocabulary of 5,000, as lessons share
their common words and little else. Half of the experiences are live. Then situations made of the same words are
recalled, and reports given, in one warm process; each report moves the ledger's head, so the next recall catches up.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mnemic import Memory

WORDS = 5_000
FAMILY = 6
"""Experiences of a family, so that its cap does not archive them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--experiences", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.experiences, options.questions)
    print(json.dumps(report, indent=1) if options.json else "\n".join(f"{key:<22}{value}" for key, value in report.items()))


def measure(folder: Path, count: int, questions: int) -> dict[str, Any]:
    draw = random.Random(1)
    words = [f"word{place}" for place in range(WORDS)]
    weights = [1 / (place + 1) for place in range(WORDS)]

    def text(size: int) -> str:
        return " ".join(draw.choices(words, weights, k=size))

    with _opened(folder) as memory:
        filled = [_timed(partial(_handed_in, memory, place, text)) for place in range(count)]
        numbers = [row["id"] for row in memory.experiences.list()]
        for number in numbers[::2]:
            memory.experiences.report(number, "success")
    started = time.perf_counter()
    with _opened(folder) as memory:
        memory.experiences.recall(text(12))
        cold = time.perf_counter() - started
        recalls, reports = list[tuple[float, float]](), list[tuple[float, float]]()
        for _ in range(questions):
            recalls.append(_timed(lambda: memory.experiences.recall(text(12))))
            number = draw.choice(numbers)
            reports.append(_timed(partial(memory.experiences.report, number, "success", tokens_saved=100)))
        assert memory.verify().ok
    return {
        "experiences": len(numbers), "refine_ms": spread(filled), "recall_ms": spread(recalls),
        "report_ms": spread(reports), "first_recall_s": round(cold, 2), "disk_sync_ms": spread(_syncs(folder / "sync")),
    }  # fmt: skip


def _syncs(file: Path) -> list[tuple[float, float]]:
    """What this disk takes to make 8 kB durable, which every write waits for."""
    with open(file, "wb", buffering=0) as handle:

        def write() -> None:
            handle.write(bytes(8192))
            os.fsync(handle.fileno())

        return [_timed(write) for _ in range(200)]


def _handed_in(memory: Memory, place: int, text: Callable[[int], str]) -> None:
    memory.experiences.refine({
        "kind": "positive", "family": f"family-{place // FAMILY}", "gist": f"{text(10)} lesson{place}", "situation": text(15),
        "path": [text(8), text(8)], "reasoning": text(10), "limits": [text(4)], "evidence": {"note": f"run {place}"},
        "complexity": {"steps": 8},
    })  # fmt: skip


def _opened(folder: Path) -> Memory:
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")})


def _timed(act: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds by the clock, and of this process's own work: on a shared machine they differ widely."""
    before, worked = time.perf_counter(), time.process_time()
    act()
    return (time.perf_counter() - before) * 1000, (time.process_time() - worked) * 1000


def spread(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The median and the 95th of a hundred."""
    found = {}
    for name, values in zip(("", "cpu_"), zip(*times, strict=True), strict=True):
        ordered = sorted(values)
        found[f"{name}p50"] = round(ordered[len(ordered) // 2], 2)
        found[f"{name}p95"] = round(ordered[int(len(ordered) * 0.95)], 2)
    return found


if __name__ == "__main__":
    main()
