from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.abstention import halves, refusals
from bench.retrieval import Collection, Item, Kept, Question, bm25, cosine, filled, grade, measure, paired, rrf
from mnemic.embed import HashingEmbedder
from mnemic.embed.base import Kind, Vectors
from mnemic.models.document import Turn


class Counting:
    """A hashing embedder under another name that counts the texts it embeds."""

    identity = "fake/counting@8+none"
    dim = 8

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        self.texts += texts
        return HashingEmbedder(8).embed(texts, kind)


def collection(session: str | None, *texts: str, asked: Sequence[tuple[str, str]] = ()) -> Collection:
    items = tuple(
        Item(str(place), session, Turn("user", text, created_at=60_000 * place)) for place, text in enumerate(texts)
    )
    return Collection("c", items, tuple(Question(text, frozenset(ids.split())) for text, ids in asked))


CAT = "My cat sleeps on the piano."
BREAD = "Tomorrow we bake bread."


def test_a_ranking_is_graded_as_by_hand() -> None:
    found = grade(["x", "a", "y", "z", "w", "b"], frozenset({"a", "b", "c"}))
    gain, ideal = 1 / math.log2(3) + 1 / math.log2(7), 1 + 1 / math.log2(3) + 0.5
    assert found == pytest.approx(
        {"recall@5": 1 / 3, "recall@10": 2 / 3, "any@5": 1, "any@10": 1, "mrr": 0.5, "ndcg@10": gain / ideal}
    )
    assert set(grade([], frozenset({"a"})).values()) == {0.0}


@pytest.mark.parametrize("session", ["s", None])
def test_turns_and_passages_come_back_by_their_ids(session: str | None) -> None:
    made = collection(session, CAT, BREAD, asked=[("Where does the cat sleep?", "0"), ("Who bakes bread?", "1")])
    embedder = Kept(HashingEmbedder())
    with filled([made], embedder) as homes:
        report = measure(homes, embedder)
    assert list(report) == ["questions", "turn", "by_category", "baseline", "embedder", "scoring"]
    assert (report["questions"], report["embedder"], report["scoring"]) == (2, HashingEmbedder().identity, "structure")
    assert report["turn"]["mrr"] == 1.0
    assert report["by_category"] == {}
    assert list(report["baseline"]) == ["bm25"]


def test_an_embedder_that_knows_meaning_is_measured_alone_and_fused() -> None:
    made, embedder = collection("s", CAT, BREAD, asked=[("cat", "0")]), Kept(Counting())
    with filled([made], embedder) as homes:
        report = measure(homes, embedder)
    assert list(report["baseline"]) == ["bm25", "cosine", "rrf60"]


def test_no_text_is_embedded_twice_in_the_runs_that_share_a_file(tmp_path: Path) -> None:
    first = Kept(Counting(), tmp_path / "vectors.npz")
    told = first.embed([CAT, BREAD, CAT], "passage")
    first.keep()
    inner = Counting()
    second = Kept(inner, tmp_path / "vectors.npz")
    assert np.array_equal(second.embed([CAT, BREAD, CAT], "passage"), told)
    second.embed([CAT], "query")
    assert inner.texts == [CAT]  # only as a question it is new


def test_bm25_ranks_by_shared_words_without_stop_words_and_chinese_by_pairs() -> None:
    ask = bm25(collection("s", BREAD, CAT, "我们明天烤面包").items)
    assert ask("Where is the cats' piano?") == ["1"]
    assert ask("where is the") == []
    assert ask("谁烤面包？") == ["2"]
    assert paired("烤面包 ok 我").split() == ["烤面", "面包", "ok", "我"]


def test_cosine_ranks_every_item_and_fusion_sums_reciprocal_ranks() -> None:
    items = collection("s", BREAD, CAT).items
    assert cosine(items, HashingEmbedder())("cat piano") == ["1", "0"]
    # a: 1/61 + 1/63, b: 1/62 + 1/61, c: 1/63 + 1/62
    ranked = rrf([lambda _: ["a", "b", "c"], lambda _: ["b", "c", "a"]], "anything")
    assert ranked == ["b", "a", "c"]


def test_halves_ask_only_what_lies_in_them_and_strangers_get_no_hits() -> None:
    asked = [("Where does the cat sleep?", "0"), ("Who bakes bread?", "1"), ("cat bread", "0 1")]
    first, second = halves(collection(None, CAT, BREAD, asked=asked))
    assert [item.id for item in first.items] == ["0"]
    assert [question.text for question in second.questions] == ["Who bakes bread?"]
    with filled([first, second], HashingEmbedder()) as homes:
        shares = refusals(homes, [collection("s", "x", asked=[("quantum zeppelin tariffs", "0")])])
    assert shares == {"answerable": 0.0, "next": 1.0, "elsewhere": 1.0, "unanswerable": None}
