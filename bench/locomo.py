"""How often recall brings back the turns that answer a question: `python -m bench.locomo`.

    python -m bench.locomo --data FILE [--scoring structure|seed] [--limit-conversations N] [--json]

The data is LoCoMo (Maharana et al. 2024, arXiv:2402.17753), in the shape of its `locomo10.json`: long chats of two
people. Questions of the categories 1 to 4 count; category 5 asks what the chat does not answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from bench.retrieval import MINUTE, Collection, Item, Question, arguments, publish
from mnemic.clock import to_ms
from mnemic.models.document import Turn
from mnemic.text.when import parse_moment

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
ADVERSARIAL = 5


def main() -> None:
    options = arguments(__doc__).parse_args()
    publish(options, conversations(json.loads(options.data.read_text("utf-8"))))


def conversations(rows: Iterable[dict[str, Any]]) -> list[Collection]:
    """The conversations of a LoCoMo file, with the questions that have both a category and evidence that count."""
    found = []
    for number, row in enumerate(rows):
        items = turns(row["conversation"])
        known = {item.id for item in items}
        asked = [
            Question(qa["question"], evidence(qa.get("evidence", ()), known), CATEGORIES[qa["category"]])
            for qa in row["qa"]
            if qa["category"] in CATEGORIES
        ]
        unanswerable = tuple(qa["question"] for qa in row["qa"] if qa["category"] == ADVERSARIAL)
        name = str(row.get("sample_id", f"conversation-{number}"))
        found.append(Collection(name, tuple(items), tuple(each for each in asked if each.evidence), unanswerable))
    return found


def turns(talk: dict[str, Any]) -> list[Item]:
    """All turns in order. A turn's moment is its session's and a minute more for each turn before it."""
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    found = []
    for number in numbers:
        session = f"session_{number}"
        start = to_ms(parse_moment(talk[f"{session}_date_time"], datetime(2026, 1, 1, tzinfo=UTC)))
        for place, row in enumerate(talk[session]):
            role = "user" if row["speaker"] == talk["speaker_a"] else "assistant"
            turn = Turn(role, text_of(row), row["speaker"], start + place * MINUTE)
            found.append(Item(row["dia_id"], session, turn))
    return found


def text_of(row: dict[str, Any]) -> str:
    caption = row.get("blip_caption")
    return f"{row['text']} [shares a photo: {caption}]" if caption else str(row["text"])


def evidence(ids: Iterable[str], known: set[str]) -> frozenset[str]:
    """The turns that evidence ids name. Some hold several ("D8:6; D9:17"); what names no turn is dropped."""
    return frozenset(part for each in ids for part in re.split(r"[;,\s]+", each) if part in known)


if __name__ == "__main__":
    main()
