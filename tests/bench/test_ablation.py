from __future__ import annotations

import numpy as np
import pytest

from bench.ablation import PARTS, ablate, lacking, without
from bench.retrieval import Collection, Home, Item, Question, filled
from mnemic.embed import HashingEmbedder
from mnemic.models.document import Turn
from mnemic.recall import engine
from mnemic.recall.score import Corpus, Pool, structure

ZERO = np.zeros(2)
POOL = Pool(
    tf=np.array([[1.0], [0.0]]), length=np.array([3.0, 3.0]), cos=np.array([0.5, 0.1]), group=np.array([0, 0]),
    place=np.array([1, 2]), group_size=np.ones(2), speaker=np.array([1.0, 0.0]), role=ZERO, when=ZERO, phrase=ZERO,
    weight=np.array([1.0, 0.5]),
)  # fmt: skip
CORPUS = Corpus(100, 3.0, np.array([1.0]))


@pytest.mark.parametrize("part", PARTS)
def test_a_score_lacks_exactly_the_part_that_is_left_out(part: str) -> None:
    total, parts = structure(POOL, CORPUS)
    less, rest = lacking(part, structure)(POOL, CORPUS)
    assert np.allclose(less, total - parts[part] * POOL.weight)
    assert not rest[part].any()
    assert all(np.array_equal(rest[name], parts[name]) for name in parts if name != part)


def test_every_part_of_the_sum_is_in_the_ablation() -> None:
    total, parts = structure(POOL, CORPUS)
    assert np.allclose(total, sum(parts[name] for name in PARTS) * POOL.weight)


def conversation() -> Collection:
    said = ("The kiln fires at noon.", "At noon the kiln fires, Ada says.")
    items = tuple(Item(str(n), "s", Turn("user", text, f"Ada{n}", 60_000 * n)) for n, text in enumerate(said))
    return Collection("c", items, (Question("When does the kiln of Ada1 fire?", frozenset({"1"})),))


def asked(home: Home) -> dict[str, float]:
    (first, *_) = home.memory.recall("When does the kiln of Ada1 fire?").hits
    return dict(first.signals)


def test_recall_is_without_a_part_only_inside_the_block() -> None:
    with filled([conversation()], HashingEmbedder()) as (home,):
        with without("speaker"):
            assert asked(home)["speaker"] == 0.0
        assert asked(home)["speaker"] == 1.5
        assert list(ablate([home]))[:3] == ["all", "no floor", "no diversity"]
    assert engine.FLOOR["words"] > 0
