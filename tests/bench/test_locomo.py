from __future__ import annotations

import math
from typing import Any

import pytest

from bench.locomo import conversations, evidence, grade, measure
from mnemic.embed import HashingEmbedder

TALK: dict[str, Any] = {
    "sample_id": "tiny",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Grace",
        "session_2_date_time": "9:00 am on 10 May, 2023",
        "session_2": [
            {"speaker": "Grace", "dia_id": "D2:1", "text": "The violin lesson went well."},
            {"speaker": "Ada", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a photo of a lighthouse"},
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "My cat sleeps on the piano."},
            {"speaker": "Grace", "dia_id": "D1:2", "text": "Tomorrow we bake bread."},
        ],
    },
    "qa": [
        {"question": "Where does the cat sleep?", "answer": "piano", "evidence": ["D1:1"], "category": 4},
        {"question": "lighthouse zeppelin", "answer": "x", "evidence": ["D2:2; D1:2", "D:9:9"], "category": 1},
        {"question": "Who bakes bread?", "evidence": ["D1:2"], "category": 5},
        {"question": "What is lost?", "answer": "x", "evidence": ["D7:1"], "category": 2},
    ],
}


def test_a_file_gives_turns_in_order_and_only_the_questions_that_count() -> None:
    (talk,) = conversations([TALK])
    assert [each.dia for each in talk.said] == ["D1:1", "D1:2", "D2:1", "D2:2"]
    assert [each.turn.role for each in talk.said] == ["user", "assistant", "assistant", "user"]
    assert talk.said[1].turn.created_at == 1_683_554_220_000  # 2023-05-08 13:57 UTC
    assert talk.said[3].turn.content == "Look! [shares a photo: a photo of a lighthouse]"
    assert [each.evidence for each in talk.questions] == [{"D1:1"}, {"D2:2", "D1:2"}]


def test_malformed_evidence_is_split_and_what_names_no_turn_is_dropped() -> None:
    known = {"D8:6", "D9:17", "D1:1"}
    assert evidence(["D8:6; D9:17", "D:11:26", "D1:1 D4:4"], known) == known


def test_a_ranking_is_graded_as_by_hand() -> None:
    found = grade(["x", "a", "y", "z", "w", "b"], frozenset({"a", "b", "c"}))
    gain, ideal = 1 / math.log2(3) + 1 / math.log2(7), 1 + 1 / math.log2(3) + 0.5
    assert found == pytest.approx(
        {"recall@5": 1 / 3, "recall@10": 2 / 3, "any@5": 1, "any@10": 1, "mrr": 0.5, "ndcg@10": gain / ideal}
    )
    assert set(grade([], frozenset({"a"})).values()) == {0.0}


def test_the_report_has_its_shape_and_the_values_found_by_hand() -> None:
    report = measure(conversations([TALK]), scoring="structure", environ={})
    assert list(report) == ["questions", "turn", "by_category", "baseline", "embedder", "scoring"]
    assert (report["questions"], report["embedder"]) == (2, HashingEmbedder(256).identity)
    assert report["by_category"]["single-hop"]["mrr"] == 1.0
    assert report["by_category"]["multi-hop"]["mrr"] == 1.0
    # Plain words find the cat, and of the other two turns only the one with a shared word: (1 + 1/2) / 2.
    assert report["baseline"]["bm25"]["recall@5"] == 0.75
    assert report["baseline"]["bm25"]["mrr"] == 1.0
    assert "cosine" not in report["baseline"]
