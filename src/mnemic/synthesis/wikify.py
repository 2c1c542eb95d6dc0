"""What an article gains by being looked at as a whole: its sections tidied and in order, and one that outgrew it split off.

A paragraph of ours is a day and sentences with their markers; only those are touched. Whatever a person wrote stands where it
stands, byte for byte. All of it is a fixed point: what is tidy stays as it is. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from mnemic.synthesis import article
from mnemic.synthesis.article import HISTORY, Section
from mnemic.synthesis.words import OTHER, THEMES

SPLIT_WORDS = 400
"""Words of a section that may become an article of its own."""
SUMMARY = 3
"""Paragraphs that the parent keeps of it."""
_DAY = re.compile(r"\*(\d{1,2} [A-Z][a-z]+ \d{4})\.\* ")
_CITED = re.compile(r"(\S.*?)((?:\[\^\d+\])+)(?:\s+|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence as an article has it, with the numbers of its footnotes."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """What was said on one day."""

    day: date
    told: tuple[Told, ...]

    def __str__(self) -> str:
        said = " ".join(article.cited(one.text, one.numbers) for one in self.told)
        return f"*{self.day.day} {self.day:%B %Y}.* {said}"


def read(block: str) -> Paragraph | None:
    """A paragraph of ours; None for anything else."""
    match = _DAY.match(block)
    if match is None or "\n" in block:
        return None
    try:
        day = datetime.strptime(match[1], "%d %B %Y").date()
    except ValueError:
        return None
    told, end = list[Told](), match.end()
    for piece in _CITED.finditer(block, end):
        if piece.start() != end:
            return None
        told.append(Told(piece[1].strip(), tuple(article.markers(piece[2]))))
        end = piece.end()
    found = Paragraph(day, tuple(told))
    return found if told and str(found) == block else None


def paragraphs(body: str) -> list[Paragraph] | None:
    """The paragraphs of a section that has no others than ours; else None."""
    found = [read(block) for block in body.strip().split("\n\n")]
    return [one for one in found if one] if found and all(found) else None


def tidied(body: str) -> str:
    """A section's body with our paragraphs by day, one for each, and each sentence once, with all its citations."""
    core = body.strip("\n")
    if not core or "```" in core or "~~~" in core:
        return body
    parts: list[str] = []
    for ours, blocks in groupby(core.split("\n\n"), key=lambda block: read(block) is not None):
        run = list(blocks)
        parts += map(str, _by_day([one for block in run if (one := read(block))])) if ours else run
    start = body.index(core)
    return body[:start] + "\n\n".join(parts) + body[start + len(core) :]


def _by_day(rows: Sequence[Paragraph]) -> list[Paragraph]:
    days: dict[date, list[Told]] = {}
    at: dict[str, tuple[date, int]] = {}
    for row in sorted(rows, key=lambda row: row.day):
        for one in row.told:
            if (place := at.get(_plain(one.text))) is None:
                inside = days.setdefault(row.day, [])
                at[_plain(one.text)] = row.day, len(inside)
                inside.append(one)
            else:
                known = days[place[0]][place[1]]
                numbers = (*known.numbers, *(number for number in one.numbers if number not in known.numbers))
                days[place[0]][place[1]] = Told(known.text, tuple(sorted(numbers)))
    return [Paragraph(day, tuple(told)) for day, told in days.items()]


def _plain(text: str) -> str:
    """What makes two sentences the same: their words, however they are linked and written."""
    return " ".join(re.findall(r"\w+|[%€$£+-]", article.shown(text).casefold()))


def ordered(text: str) -> str:
    """An article whose remaining section, if it has one, stands behind the sections of a theme."""
    rows = article.body_sections(text)
    rest = next((row for row in rows if row.heading == OTHER), None)
    after = [row for row in rows if row.heading in THEMES]
    if rest is None or not after or after[-1].start < rest.start:
        return text
    end = after[-1].end
    return text[: rest.start] + text[rest.end : end] + text[rest.start : rest.end] + text[end:]


@dataclass(frozen=True, slots=True)
class Parted:
    """An article without the section that left it, and that as one of its own."""

    title: str
    child: str
    parent: str


def split(text: str, title: str) -> Parted | None:
    """An article and its largest section as one of its own, where that outweighs all others; the section keeps a summary.

    None where the section cites a footnote that there is not: it would stand for another source in an article of its own.
    """
    rows = [row for row in article.body_sections(text) if row.heading != HISTORY]
    if len(rows) < 2:
        return None
    size = {row.anchor: article.words(article.without_markers(text[row.body : row.end])) for row in rows}
    largest = max(rows, key=lambda row: size[row.anchor])
    if size[largest.anchor] < SPLIT_WORDS or size[largest.anchor] < sum(size.values()) - size[largest.anchor]:
        return None
    if not article.notes(text).keys() >= set(article.markers(text[largest.body : largest.end])):
        return None
    return _parted(text, title, largest)


def _parted(text: str, title: str, at: Section) -> Parted:
    name = f"{at.heading} of {title}" if article.infobox(text).get("type") == "person" else f"{title} and {at.heading}"
    known = article.notes(text)
    body = text[at.body : at.end].strip()
    paragraphs = [part for part in body.split("\n\n") if part.strip() and not part.startswith("*Main article")]
    summary = paragraphs[-SUMMARY:]
    child_sources = [known[number] for number in dict.fromkeys(article.markers(body)) if number in known]
    numbers = article.numbered({}, child_sources)
    renumber = {number: numbers[source.path] for number, source in known.items() if source.path in numbers}
    paragraphs = [re.sub(r"\[\^(\d+)\]", lambda m: f"[^{renumber[int(m[1])]}]", part) for part in paragraphs]
    years: dict[str, list[str]] = {}
    for part in paragraphs:
        match = re.match(r"\*\d+ (\w+ \d{4})\.\*", part)
        years.setdefault(match[1] if match else at.heading, []).append(part)
    opening = re.sub(r"^\*[^*]+\.\* ", "", paragraphs[0])
    info = {"type": "topic", "kind": "domain", "part_of": f"[[{title}]]"}
    child = article.assembled(
        name, info, f"**{name}**: {opening}", [(heading, "\n\n".join(inside)) for heading, inside in years.items()], [title],
        {numbers[source.path]: source for source in child_sources},
    )  # fmt: skip
    parent = article.with_body(text, at, f"*Main article: [[{name}]]*\n\n" + "\n\n".join(summary))
    return Parted(name, child, _closed(parent))


def _closed(text: str) -> str:
    """A page without the footnotes that nothing cites any more, numbers closed up."""
    cited = set(article.markers(text))
    order = {number: place for place, number in enumerate(sorted(n for n in article.notes(text) if n in cited), 1)}
    lines = [line for line in text.split("\n") if not (m := re.match(r"\[\^(\d+)\]:", line)) or int(m[1]) in cited]
    return re.sub(r"\[\^(\d+)\]", lambda m: f"[^{order.get(int(m[1]), int(m[1]))}]", "\n".join(lines))
