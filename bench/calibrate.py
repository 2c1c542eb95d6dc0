"""What cosines mean under an embedder, from pairs that people scored: `python -m bench.calibrate`.

    python -m bench.calibrate --stsb DIR --locomo FILE [--model DIR ...] [--reference DIR] [--json]

For each embedder (hashing, and each model folder), language and kind of cosine (raw, its level, centred): the
cosines of unrelated pairs, the rank correlation with the human scores, the cosine at which readers say as
much as they do where the reference embedder has 0.72 and 0.88, and the score at 0.72 and 0.88 of the level
and of the centred cosine. The reference is an English model whose unrelated pairs have cosine 0
(all-MiniLM-L6-v2); without one the scores that it gave are used. Constants come from the dev halves; the test
halves check them.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.embed import Embedder, calibrate, centred, open_embedder
from mnemic.embed.calibration import DUPLICATE, SIMILAR

Floats = NDArray[np.float32]
Numbers = NDArray[np.float64]

REFERENCE_SCORES = (2.99, 3.83)
"""Human scores (0..5) that all-MiniLM-L6-v2 (int8) stands for at cosine 0.72 and 0.88, STS-B English dev."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--stsb", type=Path, required=True, help="folder with stsb-en-dev.csv and so on")
    parser.add_argument("--locomo", type=Path, help="locomo JSON file")
    parser.add_argument("--model", action="append", default=[], help="model folder; may be repeated")
    parser.add_argument("--reference", help="model folder of the reference embedder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    scores = reference_scores(options.stsb, options.reference)
    embedders = [open_embedder("hashing"), *(open_embedder("onnx", model=model) for model in options.model)]
    report = {"scores": scores, "embedders": [measured(each, options, scores) for each in embedders]}
    print(json.dumps(report, indent=1) if options.json else render(report))


def reference_scores(stsb: Path, folder: str | None) -> list[float]:
    if folder is None:
        return list(REFERENCE_SCORES)
    one, other, scores = pairs(open_embedder("onnx", model=folder), stsb / "stsb-en-dev.csv")
    return [round(expected(cosines(one, other), scores, level), 2) for level in (SIMILAR, DUPLICATE)]


def measured(embedder: Embedder, options: argparse.Namespace, scores: list[float]) -> dict[str, Any]:
    out: dict[str, Any] = {"identity": embedder.identity, "stsb": {}}
    for path in sorted(options.stsb.glob("stsb-*.csv")):
        out["stsb"][path.stem.removeprefix("stsb-")] = on_pairs(*pairs(embedder, path), scores)
    if options.locomo:
        turns = embedder.embed(turn_texts(options.locomo)[:1500], "passage")
        out["locomo"] = unrelated(turns) | {"centred": unrelated(centred(turns, turns.mean(axis=0)))}
    return out


def on_pairs(one: Floats, other: Floats, scores: Numbers, wanted: list[float]) -> dict[str, Any]:
    both = np.concatenate([one, other])
    found, mean = calibrate(both), both.mean(axis=0)
    raw, moved = cosines(one, other), cosines(centred(one, mean), centred(other, mean))
    level = (raw - found.mean) / (1 - found.mean)
    return {
        "unrelated": unrelated(both) | {"centred": unrelated(centred(both, mean))},
        "spearman": {"raw": spearman(raw, scores), "centred": spearman(moved, scores)},
        "same_score_at": {
            name: [round(crossing(values, scores, score), 3) for score in wanted]
            for name, values in (("raw", raw), ("level", level), ("centred", moved))
        },
        "score_at_0.72_0.88": {
            name: [round(expected(values, scores, at), 2) for at in (SIMILAR, DUPLICATE)]
            for name, values in (("level", level), ("centred", moved))
        },
    }


def pairs(embedder: Embedder, path: Path) -> tuple[Floats, Floats, Numbers]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    one, other = (embedder.embed([row[side] for row in rows], "passage") for side in (0, 1))
    return one, other, np.array([float(row[2]) for row in rows])


def turn_texts(path: Path) -> list[str]:
    texts = []
    for talk in json.loads(path.read_text("utf-8")):
        for key, turns in talk["conversation"].items():
            if re.fullmatch(r"session_\d+", key):
                texts += [f"{turn['speaker']}: {turn['text']}" for turn in turns]
    return texts


def cosines(one: Floats, other: Floats) -> Numbers:
    return np.asarray((one * other).sum(axis=1), np.float64)


def unrelated(vectors: Floats) -> dict[str, Any]:
    """Mean, spread and upper quantiles of the cosines of pairs drawn at random."""
    draw = np.random.default_rng(0)
    one, other = draw.integers(len(vectors), size=(2, 50_000))
    values = cosines(vectors[one], vectors[other])[one != other]
    high = np.quantile(values, [0.99, 0.999])
    return {
        "mean": round(float(values.mean()), 3),
        "spread": round(float(values.std()), 3),
        "q99": round(float(high[0]), 3),
        "q99.9": round(float(high[1]), 3),
    }


def spearman(one: Numbers, other: Numbers) -> float:
    return round(float(np.corrcoef(ranks(one), ranks(other))[0, 1]), 3)


def ranks(values: Numbers) -> Numbers:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count + 1) / 2)[place], np.float64)


def isotonic(values: Numbers, scores: Numbers) -> tuple[Numbers, Numbers]:
    """The rising curve of scores over values with the least squared error (pool adjacent violators)."""
    order = np.argsort(values, kind="stable")
    means: list[float] = []
    sizes: list[int] = []
    for score in scores[order].tolist():
        means.append(score)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mean, size = means.pop(), sizes.pop()
            means[-1] = (means[-1] * sizes[-1] + mean * size) / (sizes[-1] + size)
            sizes[-1] += size
    return values[order], np.repeat(means, sizes)


def expected(values: Numbers, scores: Numbers, at: float) -> float:
    return float(np.interp(at, *isotonic(values, scores)))


def crossing(values: Numbers, scores: Numbers, score: float) -> float:
    """The lowest value at which the expected score reaches `score`; 1 if it never does."""
    ordered, curve = isotonic(values, scores)
    place = int(np.searchsorted(curve, score))
    return float(ordered[place]) if place < len(ordered) else 1.0


def render(report: dict[str, Any]) -> str:
    lines = [f"human scores at the reference's {SIMILAR} and {DUPLICATE}: {report['scores']}"]
    for each in report["embedders"]:
        lines.append(f"\n{each['identity']}")
        for name, found in each["stsb"].items():
            raw = found["unrelated"]
            lines.append(f"  {name:8} unrelated {numbers(raw)}; centred {numbers(raw['centred'])}")
            lines.append(f"           spearman {found['spearman']}")
            lines.append(f"           same score at {found['same_score_at']}")
            lines.append(f"           score at 0.72, 0.88 {found['score_at_0.72_0.88']}")
        if "locomo" in each:
            raw = each["locomo"]
            lines.append(f"  locomo   unrelated {numbers(raw)}; centred {numbers(raw['centred'])}")
    return "\n".join(lines)


def numbers(found: dict[str, Any]) -> Sequence[float]:
    return [found[key] for key in ("mean", "spread", "q99", "q99.9")]


if __name__ == "__main__":
    main()
