"""Whether recall knows when it knows nothing: how many questions get no hit at all.

Four kinds are asked: the questions of the collection (which should get hits), those of the next collection of the same
set, those of another set, and those that the data calls unanswerable. A set that is one collection is cut into halves,
each asked the questions of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bench.retrieval import Collection, Home, drawn

SAMPLE = 400
"""Questions of a kind that are asked of a set at most, spread over its collections and drawn evenly."""


def divided(collections: Sequence[Collection]) -> Sequence[Collection]:
    return collections if len(collections) > 1 else halves(collections[0])


def halves(whole: Collection) -> list[Collection]:
    """Items before and after the middle, and the questions whose evidence lies in one half alone."""
    middle = len(whole.items) // 2
    found = []
    for number, items in enumerate((whole.items[:middle], whole.items[middle:]), 1):
        ids = {item.id for item in items}
        questions = tuple(question for question in whole.questions if question.evidence <= ids)
        found.append(replace(whole, name=f"{whole.name}-{number}", items=items, questions=questions))
    return found


def refusals(homes: Sequence[Home], elsewhere: Sequence[Collection]) -> dict[str, Any]:
    """Shares of questions without a hit; `elsewhere` is another set. None where no such question was asked."""
    foreign = texts(elsewhere)
    rows: dict[str, list[bool]] = {"answerable": [], "next": [], "elsewhere": [], "unanswerable": []}
    for number, home in enumerate(homes):
        following = homes[(number + 1) % len(homes)].collection
        kinds = (texts([home.collection]), texts([following]), foreign, home.collection.unanswerable)
        for kind, questions in zip(rows, kinds, strict=True):
            rows[kind] += [not home.ask(question) for question in drawn(questions, SAMPLE // len(homes))]
    return {kind: round(sum(found) / len(found), 4) if found else None for kind, found in rows.items()}


def texts(collections: Iterable[Collection]) -> list[str]:
    return [question.text for collection in collections for question in collection.questions]
