"""How often recall brings back the turns that answer a question of BEAM: `python -m bench.beam`.

    python -m bench.beam --data FILE.tar.gz [--scoring structure|seed] [--limit-conversations N] [--json]

BEAM (Tavakoli et al. 2025, arXiv:2510.27246): long chats of one user with an assistant, each with probing questions
for ten abilities. Read from an archive with `<chat>/chat.json` and `<chat>/probing_questions/probing_questions.json`.
A question counts if it names the turns that it comes from. Those of the ability `abstention` have no answer.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.retrieval import MINUTE, Collection, Item, Question, arguments, publish
from mnemic.clock import to_ms
from mnemic.models.document import Turn

NOTE = re.compile(r"\s*->->.*$")
"""A mark of the generator behind a user's turn, e.g. "->-> 1,1"."""


def main() -> None:
    options = arguments(__doc__).parse_args()
    publish(options, read(options.data))


def read(archive: Path) -> list[Collection]:
    """The chats of an archive by their numbers."""
    found: dict[str, dict[str, Any]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            file = Path(member.name)
            if file.name in ("chat.json", "probing_questions.json") and (content := tar.extractfile(member)):
                chat = file.parent if file.name == "chat.json" else file.parent.parent
                found.setdefault(chat.name, {})[file.stem] = json.load(content)
    chats = sorted(found.items(), key=lambda pair: (len(pair[0]), pair[0]))
    return [collection(f"beam-{name}", parts["chat"], parts["probing_questions"]) for name, parts in chats]


def collection(name: str, chat: Iterable[dict[str, Any]], probes: dict[str, list[dict[str, Any]]]) -> Collection:
    items = turns(chat)
    known = {item.id for item in items}
    asked = [
        Question(row["question"], frozenset(map(str, numbers(row.get("source_chat_ids")))) & known, ability)
        for ability, rows in probes.items()
        for row in rows
    ]
    unanswerable = tuple(each.text for each in asked if each.category == "abstention" and not each.evidence)
    return Collection(name, tuple(items), tuple(each for each in asked if each.evidence), unanswerable)


def turns(chat: Iterable[dict[str, Any]]) -> list[Item]:
    """All turns in order. A batch is a session; its first turn says when it was."""
    found = []
    for batch in chat:
        rows = [row for exchange in batch["turns"] for row in exchange]
        start = to_ms(datetime.strptime(rows[0]["time_anchor"], "%B-%d-%Y"))
        for place, row in enumerate(rows):
            turn = Turn(row["role"], NOTE.sub("", row["content"]), created_at=start + place * MINUTE)
            found.append(Item(str(row["id"]), f"batch-{batch['batch_number']}", turn))
    return found


def numbers(ids: Any) -> Iterator[int]:
    """All turn numbers in a list, or in lists by name, however deep."""
    if isinstance(ids, int):
        yield ids
    elif isinstance(ids, dict | list):
        for each in ids.values() if isinstance(ids, dict) else ids:
            yield from numbers(each)


if __name__ == "__main__":
    main()
