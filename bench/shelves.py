"""How far the hot file shrinks when nearly all of it is rotated away: `python -m bench.shelves`.

    python -m bench.shelves [--documents 400] [--share 0.96] [--chars 1500 300] [--kind exchange|note] [--json] [--keep]

For each length fills a temporary home with exchanges of about so many characters, of this project's own sentences with
names among them (as bench.scale), the oldest 96 % of them 400 days old. Shrinks the files, rotates, shrinks again, and
asks the same questions before and after: how often the document that the words are of is found, how far scores are from
those before times the weight of the shelf (each shelf gives its own candidates, and some terms look at all of them), and,
with all weights equal, how often the first six paths are the same in the same order.
Tells what the hot file still holds, by table. `--keep` stores the figures in bench/results/shelves.json.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.scale import names, sentences
from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.lifecycle.behind import document_at
from mnemic.models.answer import Budget
from mnemic.models.document import Turn
from mnemic.recall import engine
from mnemic.recall.score import SHELF_WEIGHT

RESULTS = Path(__file__).resolve().parent / "results" / "shelves.json"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
OLD = 400
"""Days."""
WIDE = Budget(nodes=30, chars=99_999)
QUESTIONS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--share", type=float, default=0.96, help="how much of it is rotated away")
    parser.add_argument("--chars", type=int, nargs="+", default=[1_500, 300])
    parser.add_argument("--kind", choices=("exchange", "note"), default="exchange")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the figures")
    options = parser.parse_args()
    reports = []
    for chars in options.chars:
        with tempfile.TemporaryDirectory() as folder:
            reports.append(measure(Path(folder), options.documents, options.share, chars, options.kind))
    if options.keep:
        RESULTS.write_text(json.dumps(reports, indent=1) + "\n", "utf-8")
    print(json.dumps(reports, indent=1) if options.json else "\n\n".join(map(render, reports)))


def measure(folder: Path, documents: int, share: float, chars: int, kind: str) -> dict[str, Any]:
    """Fill a home, rotate a share of it away, and compare."""
    draw = random.Random(1)
    environ = {"MNEMIC_CONFIG": str(folder / "config")}
    with Memory.open(folder / "home", environ=environ, clock=FixedClock(NOON)) as memory:
        said = texts(draw, chars)
        asked = fill(memory, documents, share, kind, said)
        memory.vacuum()
        before, stood = memory._store.sizes(), tables(memory)
        found, even = answers(memory, asked), evenly(memory, asked)
        started = time.perf_counter()
        moved = memory.rotate()["moved"]
        seconds = time.perf_counter() - started
        shrunk = memory.vacuum()["shrunk"]
        after, left = memory._store.sizes(), tables(memory)
        again, even_again = answers(memory, asked), evenly(memory, asked)
        shelves = {document.path: document.shelf for document in memory._store.documents("default", limit=documents)}
        verdict = memory.verify()
    hot = (before["memory.db"], after["memory.db"])
    return {
        "chars": chars,
        "kind": kind,
        "documents": documents,
        "moved": moved,
        "hot_before": hot[0],
        "hot_after": hot[1],
        "smaller_by": round(1 - hot[1] / hot[0], 4),
        "bytes_left_per_moved": round((hot[1] - hot[0] * (1 - share)) / max(1, sum(moved.values()))),
        "shrunk": shrunk,
        "all_before": sum(before.values()),
        "all_after": sum(after.values()),
        "ms_per_document": round(seconds * 1000 / max(1, sum(moved.values())), 1),
        "questions": len(asked),
        "found_before": sum(path in answer for answer, (_, path) in zip(found, asked, strict=True)),
        "found_after": sum(path in answer for answer, (_, path) in zip(again, asked, strict=True)),
        "score_off_by_at_most": round(max(off for pair in zip(found, again, strict=True) for off in offsets(shelves, *pair)), 4),
        "first_six_same": sum(list(one)[:6] == list(other)[:6] for one, other in zip(even, even_again, strict=True)),
        "verified": verdict.ok,
        "tables": {name: [stood.get(name, 0), left.get(name, 0)] for name in sorted(stood, key=lambda name: -left.get(name, 0))},
    }


def texts(draw: random.Random, chars: int) -> Iterator[str]:
    """Texts of about so many characters, each with a name of its own."""
    known, named = sentences(), names(draw)
    while True:
        parts = [f"{next(named)} was there."]
        while sum(map(len, parts)) < chars:
            parts.append(draw.choice(known))
        draw.shuffle(parts)
        yield " ".join(parts)[: chars + 100]


def fill(memory: Memory, documents: int, share: float, kind: str, said: Iterator[str]) -> list[tuple[str, str]]:
    """Put documents in, the oldest first; returns questions in words of some of them, with the paths of these."""
    asked: list[tuple[str, str]] = []
    old = round(documents * share)
    for number in range(documents):
        at = NOON - timedelta(days=OLD if number < old else 0) + timedelta(minutes=number % 900)
        text = next(said)
        if kind == "note":
            path = memory.remember(text, at=at, index=False).path
        else:
            half, moment = text.find(" ", len(text) // 3), int(at.timestamp() * 1000)
            turns = [Turn("user", text[:half], "Ada", moment), Turn("assistant", text[half:].strip(), "Grace", moment + 1)]
            path = memory.capture(turns, session=f"session_{number // 20}", index=False).receipts[0].path
        if number % max(1, documents // QUESTIONS) == 0:
            asked.append((" ".join(text.split()[4:16]), path or ""))
    memory.index()
    return asked


def answers(memory: Memory, asked: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
    """The documents that answer each question, best first, with the score of their best part."""
    found = []
    for question, _ in asked:
        scores: dict[str, float] = {}
        for hit in memory.recall(question, mode="deep", budget=WIDE).hits:
            scores.setdefault(document_of(memory, hit.path), hit.score)
        found.append(scores)
    return found


def evenly(memory: Memory, asked: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
    """The same, with no shelf weighing less than another."""
    kept = engine.SHELF_WEIGHT
    engine.SHELF_WEIGHT = dict.fromkeys(kept, 1.0)
    try:
        return answers(memory, asked)
    finally:
        engine.SHELF_WEIGHT = kept


def document_of(memory: Memory, path: str) -> str:
    found = document_at(memory._store, memory.namespace, path)
    return found.path if found else path


def offsets(shelves: Mapping[str, str], before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[float]:
    """How far the scores of what both answers hold are from those before times the weight of the shelf, as shares."""
    for path in before.keys() & after.keys():
        yield abs(after[path] / (before[path] * SHELF_WEIGHT[shelves[path]]) - 1)


def tables(memory: Memory) -> dict[str, int]:
    """Bytes of the hot file by table and index."""
    sql = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name HAVING sum(pgsize) > 4096"
    return {str(name): int(size) for name, size in memory._store.hot.rows(sql)}


def render(report: dict[str, Any]) -> str:
    lines = [f"{name:22} {value}" for name, value in report.items() if name != "tables"]
    lines += [f"  {name:30} {was:>10,} {now:>10,}" for name, (was, now) in report["tables"].items() if now > 8192 or was > 65_536]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
