from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

from bench import beam, cmrc, longmemeval
from bench.sets import arguments, chosen


def turn(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def row(name: str, question: str, *turns: dict[str, Any]) -> dict[str, Any]:
    sessions = [{"date": "2023/05/21 (Sun) 19:50", "evidence_turns": list(turns)}]
    return {"question_id": name, "question_type": "multi-session", "question": question, "sessions": sessions}


HAYSTACK: dict[str, Any] = {
    "haystack_session_ids": ["h1", "h2"],
    "haystack_dates": ["2023/06/01 (Thu) 08:00", "2023/06/02 (Fri) 08:00"],
    "haystack_sessions": [
        [turn("user", "Hello."), turn("user", "I sold the boat.", has_answer=True)],
        [turn("assistant", "Rain is expected.")],
    ],
    "questions": ["What did I sell?", "What is expected?"],
    "answer_session_ids": [["h1"], ["h2"]],
}


def test_longmemeval_pools_all_evidence_and_keeps_a_turn_once() -> None:
    boat, bike = turn("user", "I sold the boat."), turn("user", "I ride a bike.")
    rows = [row("q1", "What did I sell?", boat), row("q2", "What is mine?", boat, bike), row("q3_abs", "Which car?", bike)]
    pool = longmemeval.collection(rows)
    assert [(item.id, item.session) for item in pool.items] == [("q1/0/0", "q1/0"), ("q2/0/1", "q2/0")]
    assert pool.items[1].turn.created_at == 1_684_698_660_000  # 2023-05-21 19:51 UTC, the second turn
    assert [each.evidence for each in pool.questions] == [{"q1/0/0"}, {"q1/0/0", "q2/0/1"}]
    assert pool.unanswerable == ("Which car?",)


def test_longmemeval_haystacks_add_filler_and_the_questions_whose_turns_are_marked() -> None:
    pool = longmemeval.collection([row("q1", "Which boat?", turn("user", "I sold the boat."))], [HAYSTACK])
    assert [item.id for item in pool.items] == ["h1/0", "h1/1", "h2/0"]
    assert [(each.text, each.evidence) for each in pool.questions] == [
        ("What did I sell?", {"h1/1"}),
        ("Which boat?", {"h1/1"}),
    ]


def test_beam_is_read_from_its_archive_with_chats_by_number(tmp_path: Path) -> None:
    chat = [
        {
            "batch_number": 1,
            "turns": [
                [turn("user", "Plan my week. ->-> 1,1", id=0, time_anchor="March-15-2024"), turn("assistant", "Gladly.", id=1)],
                [turn("user", "I moved to Oslo.", id=2)],
            ],
        }
    ]
    probes = {
        "knowledge_update": [{"question": "Where do I live?", "source_chat_ids": {"old": [0], "new": [2, 99]}}],
        "abstention": [{"question": "Who is my dentist?"}],
        "summarization": [{"question": "Sum up.", "source_chat_ids": []}],
    }
    file = tmp_path / "beam.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        for number in (10, 9):
            for name, content in (("chat.json", chat), ("probing_questions/probing_questions.json", probes)):
                data = json.dumps(content).encode()
                info = tarfile.TarInfo(f"beam/{number}/{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    nine, ten = beam.read(file)
    assert (nine.name, ten.name) == ("beam-9", "beam-10")
    assert [(item.id, item.session, item.turn.content) for item in nine.items] == [
        ("0", "batch-1", "Plan my week."),
        ("1", "batch-1", "Gladly."),
        ("2", "batch-1", "I moved to Oslo."),
    ]
    assert nine.items[2].turn.created_at == 1_710_460_920_000  # 2024-03-15 00:02 UTC
    assert [(each.text, each.evidence, each.category) for each in nine.questions] == [
        ("Where do I live?", {"0", "2"}, "knowledge_update")
    ]
    assert nine.unanswerable == ("Who is my dentist?",)


def test_cmrc_passages_have_no_session_and_each_a_moment_of_its_own(tmp_path: Path) -> None:
    data = {
        "data": [
            {"paragraphs": [{"context": "猫在钢琴上睡觉。", "qas": [{"question": "猫在哪里睡觉？"}]}]},
            {"paragraphs": [{"context": "我们明天烤面包。", "qas": [{"question": "谁烤面包？"}, {"question": "何时烤？"}]}]},
        ]
    }
    file = tmp_path / "cmrc.json"
    file.write_text(json.dumps(data), "utf-8")
    sets = chosen(arguments("doc").parse_args(["--cmrc", str(file)]))
    assert list(sets) == ["cmrc"]
    (made,) = sets["cmrc"]
    assert made == cmrc.collection(data)
    assert [item.session for item in made.items] == [None, None]
    assert len({item.turn.created_at for item in made.items}) == 2
    assert [(each.text, each.evidence) for each in made.questions] == [
        ("猫在哪里睡觉？", {"0"}),
        ("谁烤面包？", {"1"}),
        ("何时烤？", {"1"}),
    ]
