"""From statements to the parts of an article: which come into the lead, which section each belongs to, and their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten

from mnemic.clock import from_ms
from mnemic.synthesis import article
from mnemic.synthesis.article import Source
from mnemic.synthesis.statement import Statement
from mnemic.synthesis.voice import day
from mnemic.synthesis.words import OTHER

LEAD_SENTENCES = 2
SECTION_SENTENCES = 4
"""Sentences that one chunk may give to one section."""
OUTLINE_LEAST = 2
"""Statements that a section of its own needs."""
PEOPLE, UNSORTED = "People", "Others"
LINE = 140
"""Characters that a map says of an article."""
_STILL = r" (?:still |now |currently |also |really )*"
_IS = re.compile(_STILL + r"(?:is (?:an? |originally |from )|works? (?:as|at|for|in) |lives |studies |runs an? |owns )")
_DOES = re.compile(
    _STILL + r"(?:is (?:keen|passionate|into|studying|\w+ing) |loves |plays |has been |used to |started )"
)
"""What tells best who somebody is, and what tells what they do."""
_VAGUE = re.compile(r"\b(?:it|that|this|they|them|those|these|so|too|him|her|he|she|also)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an article with the turns that support it."""

    text: str
    sources: tuple[Source, ...]
    at: int
    """When it was said, in ms."""


def sentence_of(row: Statement) -> Sentence:
    """A statement as the rules tell it."""
    return Sentence(row.text, (row.said.source,), row.said.at)


def lead(rows: Sequence[Statement], name: str, key: str = "") -> list[Statement]:
    """The statements that say best who or what the subject is."""
    wanted = set(key.split())

    def rank(row: Statement) -> tuple[float, int]:
        worth = min(row.worth, 6.0) - 2.0 * row.quoted - 0.5 * len(_VAGUE.findall(row.text)) - 0.004 * len(row.text)
        if key:
            worth += 1.5 * (row.text.lower().find(name.lower()) >= 0)
        else:
            rest = row.text[len(name) :] if row.text.startswith(name + " ") else ""
            worth += 4.0 * bool(_IS.match(rest)) + 2.0 * bool(_DOES.match(rest))
            worth -= 2.0 * (not row.text.startswith(name))
        return -worth, row.said.at

    fitting = [row for row in rows if wanted <= row.stems] if wanted else list(rows)
    best = sorted(fitting, key=rank)[:LEAD_SENTENCES]
    return sorted(best, key=rank)


def bold(text: str, name: str) -> str:
    """The sentence with its subject in bold, or led by it."""
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) or re.search(rf"(?<!\w){re.escape(name)}\w*", text, re.IGNORECASE)
    if match is None:
        return f"**{name}**: {text}"
    return f"{text[: match.start()]}**{match[0]}**{text[match.end() :]}"


def outline(rows: Sequence[Statement], person: bool) -> dict[str, list[Statement]]:
    """Section heading → its statements. A person's sections are themes, a thing's are who speaks of it."""
    found: dict[str, list[Statement]] = {}
    for row in rows:
        found.setdefault(row.theme if person else _speaker(row), []).append(row)
    if person:
        thin = [name for name, inside in found.items() if len(inside) < OUTLINE_LEAST and name != OTHER]
        for name in thin:
            found.setdefault(OTHER, []).extend(found.pop(name))
    order = sorted(found, key=lambda name: (name == OTHER, -len(found[name]), name))
    return {name: sorted(found[name], key=lambda row: (row.said.at, row.said.session, row.said.seq)) for name in order}


def home_of(row: Statement, person: bool, standing: Sequence[str]) -> str:
    """The section a statement is routed to: its own, where that stands or deserves to."""
    wanted = row.theme if person else _speaker(row)
    return next((name for name in standing if name.casefold() == wanted.casefold()), wanted)


def _speaker(row: Statement) -> str:
    return row.said.article or ("User" if row.said.role == "user" else "Assistant")


def kept(rows: Sequence[Statement], most: int = SECTION_SENTENCES) -> list[Statement]:
    """The best statements of one chunk for one section, in the order they were said."""
    best = sorted(rows, key=lambda row: (-row.worth, row.said.seq))[:most]
    return sorted(best, key=lambda row: row.said.seq)


def paragraphs(sentences: Sequence[Sentence], numbers: Mapping[str, int]) -> str:
    """Sentences as paragraphs, one for each day, with the day at its head."""
    days: dict[str, list[Sentence]] = {}
    for one in sentences:
        days.setdefault(day(from_ms(one.at)), []).append(one)
    blocks = []
    for date, inside in days.items():
        told = " ".join(article.cited(one.text, sorted({numbers[source.path] for source in one.sources})) for one in inside)
        blocks.append(f"*{date}.* {told}")
    return "\n\n".join(blocks)


class Linker:
    """Puts links to articles into paragraphs. `names`: what an article is called in prose → its title."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        surfaces = sorted(names, key=lambda name: (-len(name), name))
        self._pattern = re.compile(rf"(?<![\w\[|*])(?:{'|'.join(map(re.escape, surfaces))})(?![\w\]|])") if surfaces else None

    def linked(self, paragraph: str, own: str, standing: set[str]) -> str:
        """The paragraph with the first mention of each other article as a link; what it links to is added to `standing`."""
        if self._pattern is None:
            return paragraph
        taken = [match.span() for match in re.finditer(r"\[\[[^\]]*\]\]|`[^`\n]*`", paragraph)]
        parts: list[str] = []
        done = 0
        for match in self._pattern.finditer(paragraph):
            title = self._names[match[0]]
            if title == own or title in standing or any(start <= match.start() < end for start, end in taken):
                continue
            standing.add(title)
            link = f"[[{title}]]" if match[0] == title else f"[[{title}|{match[0]}]]"
            parts += [paragraph[done : match.start()], link]
            done = match.end()
        return "".join([*parts, paragraph[done:]])


def links(text: str) -> set[str]:
    """The articles that a text links to."""
    return set(re.findall(r"\[\[([^\]|#\n]+)", text))


def contents(pages: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Category → its articles with the beginning of their leads, both by name. Redirects are left out."""
    found: dict[str, list[tuple[str, str]]] = {}
    for text in pages.values():
        title = article.title_of(text)
        if title and article.redirect(text) is None:
            lead = article.sections(text)[0]
            said = article.shown(text[lead.body : lead.end])
            for name in article.categories(text) or [UNSORTED]:
                found.setdefault(name, []).append((title, said))
    return {name: sorted(found[name]) for name in sorted(found, key=lambda name: (name == UNSORTED, name != PEOPLE, name))}


def listed(groups: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """The list of a map."""
    return "\n\n".join(f"## {name}\n\n" + "\n".join(_line(*row) for row in rows) for name, rows in groups.items())


def _line(title: str, said: str) -> str:
    return f"- [[{title}]]" + (f": {shorten(said, LINE, placeholder=' …')}" if said else "")
