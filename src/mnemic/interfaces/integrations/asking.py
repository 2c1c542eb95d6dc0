"""Which of some records answer a question: a recall that no other text can crowd them out of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.models.answer import Budget, Scope
from mnemic.models.record import Record

if TYPE_CHECKING:
    from mnemic.memory import Memory

PARTS = 4
"""So many hits are asked for each record wanted: one may be hit in several of its parts."""
MOST = 250
"""More records than this are never asked for at once."""


def scored(memory: Memory, query: str, records: Sequence[Record], most: int) -> list[tuple[Record, float]]:
    """The records that answer, the best first, each with its best part's score; at least `most` where there are as many."""
    if not records or most < 1:
        return []
    paths = {record.path: record for record in records}
    nodes = PARTS * min(most, MOST)
    answer = memory.recall(query, scope=Scope(documents=frozenset(paths)), budget=Budget(nodes=nodes, chars=900 * nodes))
    scores: dict[str, float] = {}
    for hit in answer.hits:
        path = hit.path
        while path and path not in paths:
            path = path.rpartition("/")[0]
        if path:
            scores[path] = max(hit.score, scores.get(path, hit.score))
    return [(paths[path], score) for path, score in sorted(scores.items(), key=lambda item: -item[1])]
