"""What a dream raises on talk pages: that an article should be split or merged, that it contradicts itself, that it drifts.

Signals propose, nobody obeys them by machine: the talk page is where a person, or an agent asked to, decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from mnemic.synthesis import article
from mnemic.synthesis.article import HISTORY
from mnemic.synthesis.rows import Rows

SPLIT_WORDS = 120
MERGE_SHARE = 0.5
"""Jaccard similarity of two subjects' chunks from which they may be one."""
MERGE_CHUNKS = 4
COHESION = 0.4
"""Share of a topic's sentences that name it; below this it drifts."""


@dataclass(frozen=True, slots=True)
class Signal:
    path: str
    kind: str
    """split, merge, contradiction, drift, emptied."""
    why: str

    @property
    def line(self) -> str:
        return f"- **{self.kind}**: {self.why}"

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "line": self.line}


class Touched(Protocol):
    key: str
    title: str


def signals(pages: Mapping[str, str], patches: Mapping[str, Any], rows: Rows) -> list[Signal]:
    """What is to be said about the pages that this dream touched."""
    found: list[Signal] = []
    for path, patch in sorted(patches.items()):
        text = pages[path]
        found += _split(path, text)
        found += _contradiction(path, text)
        if article.infobox(text).get("type") == "topic":
            found += _drift(path, text, patch.key)
        found += _merge(path, patch, pages, rows)
    return found


def _split(path: str, text: str) -> list[Signal]:
    body = [row for row in article.body_sections(text) if row.heading != HISTORY]
    sizes = {row.heading: article.words(article.without_markers(text[row.body : row.end])) for row in body}
    if len(sizes) < 2:
        return []
    largest = max(sizes, key=lambda name: sizes[name])
    rest = sum(sizes.values()) - sizes[largest]
    if sizes[largest] < SPLIT_WORDS or sizes[largest] < rest:
        return []
    return [Signal(path, "split", f"section “{largest}” is as long as all others together: an article of its own?")]


def _contradiction(path: str, text: str) -> list[Signal]:
    at = article.section(text, HISTORY)
    if at is None:
        return []
    changed = re.findall(r"Until then .+? (lived in|came from|worked as|worked at) ", text[at.start : at.end])
    often = sorted({what for what in changed if changed.count(what) > 1} | ({"came from"} & set(changed)))
    return [Signal(path, "contradiction", f"what it says of “{what}” changed more than once, or cannot change") for what in often]


def _drift(path: str, text: str, key: str) -> list[Signal]:
    from mnemic.text.tokens import terms

    wanted = set(key.split())
    told = [line for line in re.split(r"(?:\[\^\d+\])+", article.section_text(text)) if len(line) > 20]
    naming = sum(wanted <= set(terms(line)) for line in told)
    if len(told) >= 5 and naming < COHESION * len(told):
        return [Signal(path, "drift", f"only {naming} of {len(told)} sentences name its subject")]
    return []


def _merge(path: str, patch: Touched, pages: Mapping[str, str], rows: Rows) -> list[Signal]:
    mine = set(rows.by_subject[patch.key])
    subject = rows.subject(patch.key)
    if len(mine) < MERGE_CHUNKS or subject is None or subject["kind"] == "person":
        return []
    others = {other for chunk in mine for other in rows.by_chunk[chunk]} - {patch.key}
    found = []
    for other in sorted(others):
        row = rows.subject(other)
        if row is None or row["kind"] == "person" or row["article"] not in pages or str(row["article"]) <= path:
            continue
        theirs = set(rows.by_subject[other])
        if len(mine & theirs) >= MERGE_SHARE * len(mine | theirs):
            found.append(
                Signal(path, "merge", f"it comes up where [[{article.title_of(pages[str(row['article'])])}]] does: one article?")
            )
    return found
