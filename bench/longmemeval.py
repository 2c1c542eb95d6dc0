"""How often recall brings back the turns that answer a question of LongMemEval: `python -m bench.longmemeval`.

    python -m bench.longmemeval --data FILE [--haystacks FILE] [--scoring structure|seed] [--json]

LongMemEval (Wu et al. 2024, arXiv:2410.10813). `--data` has a line for every question with its evidence turns and no
filler; the evidence turns of all questions together are what is searched. `--haystacks` adds the sessions of
haystacks in the shape of `longmemeval_s.json`, as filler and with those of their questions whose turns are marked.
Questions whose id ends in `_abs` have no answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.retrieval import MINUTE, Collection, Item, Question, arguments, publish
from mnemic.clock import to_ms
from mnemic.models.document import Turn


@dataclass(slots=True)
class Pool:
    """Turns by who said what: a turn that comes up for several questions, or in a haystack too, is there once."""

    items: dict[tuple[str, str], Item] = field(default_factory=dict)

    def add(self, session: str, date: str, rows: Iterable[dict[str, Any]]) -> list[str]:
        """Add the turns of a session that are not there yet; the ids of all of them."""
        start = moment(date)
        ids = []
        for place, row in enumerate(rows):
            turn = Turn(row["role"], row["content"], created_at=start + place * MINUTE)
            ids.append(self.items.setdefault((turn.role, turn.content), Item(f"{session}/{place}", session, turn)).id)
        return ids


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--haystacks", type=Path, help="haystacks, as JSON")
    options = parser.parse_args()
    publish(options, [read(options.data, options.haystacks)])


def read(data: Path, haystacks: Path | None = None) -> Collection:
    rows = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    return collection(rows, json.loads(haystacks.read_text("utf-8")) if haystacks else ())


def collection(rows: Iterable[dict[str, Any]], haystacks: Iterable[dict[str, Any]] = ()) -> Collection:
    """One pool with all questions. Haystacks come first, so that a turn of theirs stands among its neighbours."""
    pool = Pool()
    questions = [question for haystack in haystacks for question in _haystack(pool, haystack)]
    unanswerable = []
    for row in rows:
        sessions = enumerate(row["sessions"])
        ids = [
            found
            for number, each in sessions
            for found in pool.add(f"{row['question_id']}/{number}", each["date"], each["evidence_turns"])
        ]
        if row["question_id"].endswith("_abs"):
            unanswerable.append(row["question"])
        elif ids:
            questions.append(Question(row["question"], frozenset(ids), row["question_type"]))
    asked = {question.text: question for question in questions}
    return Collection("longmemeval", tuple(pool.items.values()), tuple(asked.values()), tuple(unanswerable))


def _haystack(pool: Pool, haystack: dict[str, Any]) -> list[Question]:
    marked: dict[str, list[str]] = {}
    sessions = zip(haystack["haystack_session_ids"], haystack["haystack_dates"], haystack["haystack_sessions"], strict=True)
    for session, date, rows in sessions:
        ids = pool.add(session, date, rows)
        marked[session] = [item for item, row in zip(ids, rows, strict=True) if row.get("has_answer")]
    asked = zip(haystack["questions"], haystack["answer_session_ids"], strict=True)
    found = [(text, frozenset(item for each in ids for item in marked.get(each, ()))) for text, ids in asked]
    return [Question(text, evidence, "haystack") for text, evidence in found if evidence]


def moment(date: str) -> int:
    """Milliseconds of a date such as "2023/05/21 (Sun) 19:50"."""
    return to_ms(datetime.strptime(date, "%Y/%m/%d (%a) %H:%M"))


if __name__ == "__main__":
    main()
