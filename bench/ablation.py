"""What every part of the default scoring is worth: `python -m bench.ablation`.

    python -m bench.ablation [--locomo F] [--longmemeval F [--haystacks F]] [--beam F] [--cmrc F] [--json]

Every set is captured once, and its questions are asked again with one part left out. The scoring is the product's own:
each part that `structure` reports is taken off its sum. The floor was set for the whole sum, so that a smaller one would
be refused more often: the parts are taken off with the floor open, and compared with the row "no floor".
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.retrieval import Home, Metrics, filled, grades, mean, opened
from bench.sets import arguments, chosen
from mnemic.recall import engine
from mnemic.recall.score import Array, Corpus, Pool, structure

PARTS = ("lexical", "vector", "reply", "window", "session", "speaker", "role", "time", "phrase")
"""By the names of a hit's signals; `lexical` is the turn's own words."""
SAMPLE = 1_000
"""Questions that are asked of a collection at most, drawn evenly."""
OPEN = dict.fromkeys(engine.FLOOR, -np.inf)
Rows = dict[str, Metrics]


def main() -> None:
    options = arguments(__doc__).parse_args()
    embedder = opened(os.environ, options.vectors)
    report: dict[str, Any] = {"embedder": embedder.identity, "sets": {}}
    for name, collections in chosen(options).items():
        with filled(collections, embedder) as homes:
            report["sets"][name] = ablate(homes)
        embedder.keep()
    print(json.dumps(report, indent=1) if options.json else render(report["sets"]))


def ablate(homes: Sequence[Home]) -> Rows:
    """The metrics as they are, without the floor, and without the floor and one thing more."""
    ways: dict[str, AbstractContextManager[None]] = {
        "all": nullcontext(),
        "no floor": without_floor(),
        "no diversity": without_diversity(),
    }
    ways |= {f"no {part}": without(part) for part in PARTS}
    rows = {}
    for name, way in ways.items():
        with way:
            rows[name] = mean([each for home in homes for each in grades(home.collection, home.ask, most=SAMPLE)])
    return rows


@contextmanager
def without_floor() -> Iterator[None]:
    with patch.object(engine, "FLOOR", OPEN):
        yield


@contextmanager
def without_diversity() -> Iterator[None]:
    with without_floor(), patch.object(engine.Recall, "_same", lambda *_: False):
        yield


@contextmanager
def without(part: str) -> Iterator[None]:
    """Inside, the default scoring lacks a part, and so does what is judged by the floor."""
    with without_floor(), patch.object(engine, "structure", lacking(part, structure)):
        yield


def lacking(part: str, score: Callable[..., tuple[Array, dict[str, Array]]]) -> Callable[..., Any]:
    def scored(pool: Pool, corpus: Corpus, **options: Any) -> tuple[Array, dict[str, Array]]:
        total, parts = score(pool, corpus, **options)
        return total - parts[part] * pool.weight, {**parts, part: np.zeros(len(total))}

    return scored


def render(sets: Mapping[str, Rows]) -> str:
    names = list(next(iter(sets.values())))
    lines = ["R@5/R@10".ljust(14) + "".join(f"{name:>14}" for name in sets)]
    for name in names:
        cells = [f"{rows[name]['recall@5']:.3f}/{rows[name]['recall@10']:.3f}" for rows in sets.values()]
        lines.append(name.ljust(14) + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
