"""What is known of a person at a glance, and how it changes: a new value takes the place of the old one.

Only plain sentences fill a slot: "I live in Boston", "I work as a nurse". A value that changed goes into `## History`
with both citations; where somebody corrects themselves, the old value was an error and is overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mnemic.clock import from_ms
from mnemic.synthesis import article
from mnemic.synthesis.article import HISTORY
from mnemic.synthesis.statement import Statement
from mnemic.synthesis.voice import day

_PLACE = r"([A-Z][\w'-]+(?:[ ,]+(?:[A-Z][\w'-]+|of|de|the(?= [A-Z])))*)"
_ROLE = r"((?:[a-z-]+ ){0,3}[a-z-]*(?:er|or|ist|ian|ant|ent|nurse|chef|coach|cook|pilot|vet|engineer|player|therapist|manager))\b"
_GRADE = "(?:freelance |professional |senior |junior )?"
SLOTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("lives_in", re.compile(rf"\b[Ii] (?:now |currently |still )?live in {_PLACE}")),
    ("lives_in", re.compile(rf"\b[Ii](?:'ve| have)? (?:just |recently |finally )?moved (?:back )?to {_PLACE}")),
    ("born_in", re.compile(rf"\b[Ii](?: am|'m) (?:originally )?from {_PLACE}")),
    ("born_in", re.compile(rf"\b[Ii] (?:was born|grew up) in {_PLACE}")),
    ("works_as", re.compile(rf"\b[Ii] (?:now |currently |still )?work as an? {_ROLE}")),
    ("works_as", re.compile(rf"\b[Ii](?:'m| am) (?:now |currently )?(?:working as )?an? {_GRADE}{_ROLE}[.,!]")),
    ("works_at", re.compile(rf"\b[Ii] (?:now |currently |still )?work (?:at|for) {_PLACE}")),
    ("works_at", re.compile(rf"\b[Ii](?:'ve| have)? (?:just )?(?:started (?:a (?:new )?job |working )at|joined) {_PLACE}")),
)  # fmt: skip
TOLD = {"lives_in": "lived in", "born_in": "came from", "works_as": "worked as", "works_at": "worked at"}
_CORRECTS = re.compile(r"\b(?:actually|i meant|correction|i misspoke|i was wrong|not .{2,40}, but)\b", re.IGNORECASE)
_MARKED = re.compile(r"(.*?)\[\^(\d+)\]$")


def reconciled(text: str, rows: Sequence[Statement]) -> str:
    """The page with the slots that these statements fill; old values in its history. Only turns it cites count."""
    numbers = {source.path: number for number, source in article.notes(text).items()}
    dates = {number: source.date for number, source in article.notes(text).items()}
    info = article.infobox(text)
    lines: list[str] = []
    title = article.title_of(text)
    for row in sorted(rows, key=lambda row: (row.said.at, row.said.seq)):
        number = numbers.get(row.said.path)
        filled = slot_of(row.plain) if number is not None else None
        if filled is None:
            continue
        key, value = filled
        match = _MARKED.match(info.get(key, ""))
        if match and match[1] != value and dates.get(int(match[2]), "") > f"{from_ms(row.said.at):%Y-%m-%d}":
            continue
        if match and match[1] == value:
            continue
        if match and not _CORRECTS.search(row.said.text):
            was = f"Until then {_name(title)} {TOLD[key]} {match[1]}.[^{match[2]}]"
            lines.append(f"*{day(from_ms(row.said.at))}.* {was} From then on it is {value}.[^{number}]")
        info[key] = f"{value}[^{number}]"
    if info != article.infobox(text):
        text = article.with_infobox(text, info)
    fresh = [line for line in lines if line not in text]
    if fresh:
        at = article.section(text, HISTORY)
        told = "\n\n".join(fresh)
        text = article.appended(text, at, told) if at else article.inserted(text, HISTORY, told)
    return text


def slot_of(sentence: str) -> tuple[str, str] | None:
    """The slot that a sentence fills, and its value."""
    for key, pattern in SLOTS:
        if match := pattern.search(sentence):
            return key, " ".join(match[1].split()).rstrip(".,'")
    return None


def _name(title: str) -> str:
    return re.sub(r" \(with [^)]*\)$", "", title)
