"""How often recall brings back the Chinese passage that answers a question: `python -m bench.cmrc`.

    python -m bench.cmrc --data FILE [--scoring structure|seed] [--json]

CMRC 2018 (Cui et al. 2019, arXiv:1810.07366), in the shape of SQuAD: every passage is remembered as a note, and the
passage that a question was written for is its evidence.
"""

from __future__ import annotations

import json
from typing import Any

from bench.retrieval import MINUTE, Collection, Item, Question, arguments, publish
from mnemic.models.document import Turn

START = 1_540_000_000_000
"""Passages have no dates. Each gets a minute of its own in 2018, by which it is told from the others."""


def main() -> None:
    options = arguments(__doc__).parse_args()
    publish(options, [collection(json.loads(options.data.read_text("utf-8")))])


def collection(data: dict[str, Any]) -> Collection:
    passages = [passage for article in data["data"] for passage in article["paragraphs"]]
    items = [
        Item(str(place), None, Turn("user", passage["context"], created_at=START + place * MINUTE))
        for place, passage in enumerate(passages)
    ]
    asked = [
        Question(row["question"], frozenset((str(place),))) for place, passage in enumerate(passages) for row in passage["qas"]
    ]
    return Collection("cmrc", tuple(items), tuple(asked))


if __name__ == "__main__":
    main()
