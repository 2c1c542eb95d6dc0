"""What many facts cost: `python -m bench.knowledge [--facts 10000] [--json]`.

Fills a temporary home with current facts, a tenth of them superseded once and a tenth corroborated, and times what an
agent does: the profile, one key, one fact, an entry of the diary, an extraction of one proposal. Figures are
milliseconds of one process, by the clock and by the processor (the first suffers from what else runs); a write
includes its commit to the disk.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mnemic import Memory
from mnemic.embed import HashingEmbedder
from mnemic.models.semantic import CATEGORIES

ROUNDS = 100
BATCH = 500


def fill(memory: Memory, count: int) -> None:
    """`count` current facts, with some history."""
    for start in range(0, count, BATCH):
        source = memory.diary.add(f"batch {start}")["id"]
        memory.extract({"proposals": [_proposal(number, f"value {number}", source) for number in range(start, start + BATCH)]})
    for start in range(0, count // 10, BATCH):
        source = memory.diary.add(f"again {start}")["id"]
        numbers = range(start, min(start + BATCH, count // 10))
        memory.extract({"proposals": [_proposal(number * 10, f"newer {number}", source) for number in numbers]})
        source = memory.diary.add(f"confirmed {start}")["id"]
        memory.extract({"proposals": [_proposal(number * 10 + 1, f"value {number * 10 + 1}", source) for number in numbers]})
    memory.extract({"concerns": [{"title": f"matter {n}", "source_diary_ids": [memory.diary.add("m")["id"]]} for n in range(20)]})


def _proposal(number: int, value: str, source: int) -> dict[str, Any]:
    category = CATEGORIES[number % 8]
    return {"category": category, "key": f"key {number}", "value": value, "source_diary_ids": [source]}


def measure(memory: Memory, count: int) -> dict[str, Any]:
    """Median and 95th percentile of each act, in ms."""

    def learn(place: int) -> None:
        source = memory.diary.add(f"learn {place}")["id"]
        timed["extract"].append(_timed(lambda: memory.extract({"proposals": [_proposal(place, f"latest {place}", source)]})))

    timed: dict[str, list[tuple[float, float]]] = {"extract": []}
    acts: dict[str, Callable[[int], Any]] = {
        "profile": lambda place: memory.profile(),
        "fact list --key": lambda place: memory.facts.list(key=f"key {place}"),
        "fact show": lambda place: memory.facts.show(1 + place),
        "fact list --due": lambda place: memory.facts.list(due=True),
        "diary add": lambda place: memory.diary.add(f"entry {place}"),
    }
    for name, act in acts.items():
        act(0)
        timed[name] = [_timed(lambda act=act, place=place: act(place)) for place in _spread(count)]  # type: ignore[misc]
    for place in _spread(count):
        learn(place)
    started = time.perf_counter()
    memory.facts.list()
    whole = time.perf_counter() - started
    return {
        "facts": memory.status()["facts"], "current": memory.facts.count(), "ledger": memory.status()["ledger"],
        **{name: _row(values) for name, values in sorted(timed.items())},
        "fact list (all, once)": round(1000 * whole, 1), "verified": memory.verify().ok,
    }  # fmt: skip


def _spread(count: int) -> range:
    return range(0, count, max(1, count // ROUNDS))


def _timed(act: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of the clock and of the processor."""
    wall, work = time.perf_counter(), time.process_time()
    act()
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - work)


def _row(values: list[tuple[float, float]]) -> dict[str, float]:
    wall, work = (sorted(column) for column in zip(*values, strict=True))
    last = int(len(values) * 0.95)
    return {
        "p50": round(wall[len(wall) // 2], 2),
        "p95": round(wall[last], 2),
        "cpu_p50": round(work[len(work) // 2], 2),
        "cpu_p95": round(work[last], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environ = {"MNEMIC_CONFIG": f"{folder}/config"}
        with Memory.open(Path(folder) / "home", environ=environ, embedder=HashingEmbedder(64)) as memory:
            fill(memory, options.facts)
            report = measure(memory, options.facts)
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        for name, value in report.items():
            shown = "   ".join(f"{key} {ms:7.2f} ms" for key, ms in value.items()) if isinstance(value, dict) else value
            print(f"{name:<24}{shown}")


if __name__ == "__main__":
    main()
