from __future__ import annotations

from typing import Any

from bench.locomo import conversations, evidence
from bench.retrieval import Kept, filled, measure
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
    assert [item.id for item in talk.items] == ["D1:1", "D1:2", "D2:1", "D2:2"]
    assert [item.turn.role for item in talk.items] == ["user", "assistant", "assistant", "user"]
    assert talk.items[1].turn.created_at == 1_683_554_220_000  # 2023-05-08 13:57 UTC
    assert talk.items[3].turn.content == "Look! [shares a photo: a photo of a lighthouse]"
    assert [(each.evidence, each.category) for each in talk.questions] == [
        ({"D1:1"}, "single-hop"),
        ({"D2:2", "D1:2"}, "multi-hop"),
    ]
    assert talk.unanswerable == ("Who bakes bread?",)


def test_malformed_evidence_is_split_and_what_names_no_turn_is_dropped() -> None:
    known = {"D8:6", "D9:17", "D1:1"}
    assert evidence(["D8:6; D9:17", "D:11:26", "D1:1 D4:4"], known) == known


def test_the_report_has_the_values_found_by_hand() -> None:
    embedder = Kept(HashingEmbedder())
    with filled(conversations([TALK]), embedder) as homes:
        report = measure(homes, embedder)
    assert report["questions"] == 2
    assert report["by_category"]["single-hop"]["mrr"] == 1.0
    assert report["by_category"]["multi-hop"]["mrr"] == 1.0
    # Plain words find the cat, and of the other two turns only the one with a shared word: (1 + 1/2) / 2.
    assert report["baseline"]["bm25"]["recall@5"] == 0.75
    assert report["baseline"]["bm25"]["mrr"] == 1.0
