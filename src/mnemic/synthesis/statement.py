"""Statements: what the turns of a chunk say that an article can bear, each with the turn that says it.

A statement is a sentence that tells something: it has content of its own, and it is no question, greeting or reaction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mnemic.clock import from_ms
from mnemic.synthesis.article import Source, conv_of
from mnemic.synthesis.voice import bare, sentences, told
from mnemic.synthesis.words import GENERIC, OTHER, THEMES
from mnemic.text.tokens import query_terms

FLOOR = 2.0
"""Worth below which a sentence is no statement."""
MOST_SENTENCES = 60
"""Sentences of one turn that are looked at."""
USER, ASSISTANT = "The user", "The assistant"
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f][\w'-]*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_LOOSE = re.compile(
    r"(?:it|its|it's|that|that's|this|they|they're|those|these|he|he's|she|she's|there|there's|here|here's|which|him|her)\b", re.I
)
_FEELS = re.compile(
    r"\b(?:is|was|feels?|felt) (?:so |really |super |truly |very |just |pretty |always |definitely |also )*"
    r"(?:glad|happy|sorry|sure|grateful|thankful|excited|thrilled|stoked|proud|pumped|curious|lucky|blessed|honored|ready|good|fine|great)\b"
    r"|\bcan't wait\b|\bappreciates?\b|\bhopes? (?:so|to see)\b|\bwill (?:let|keep|check|give|take a look|do that)\b|\bagrees?\b"
    r"|\bis (?:here|all ears|in|off|back)\b|\blooks? forward\b|\blooking forward\b|\btalk(?:ing)? (?:soon|later)\b|\bgotta\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\b(?:it|that|this|them|those)[.!]$", re.IGNORECASE)
_POINTS = re.compile(
    r"(?:look|here|here's|check|gather|remember|bet|imagine|picture|keep|fingers crossed|i think (?:so|not)|good (?:luck|to))\b"
    r"|.*\bmust (?:be|have been)\b",
    re.IGNORECASE,
)
"""What shows, bids or guesses rather than tells."""
_PRONOUN = re.compile(
    r"\b(?:it|them|this|that|these|those|one|there)\b(?=[,.!;:)-]|$| (?:and|but|or|so|for|in|on|at|to|with|a|is|was|out|all"
    r"|because|'cause|when|after|before|while|since|again|too|now|they|i)\b)",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\b(?:an?|the|my|our|some|any|of|for|with|at|in|on|new|about) (?!it\b|them\b|this\b|that\b)[a-z'-]{3,}"
    r"|(?<=[a-z,] )[A-Z]\w+"
)
"""A pronoun that stands for a thing, and a thing that it can stand for."""
_FIRST = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|we|we're|we've|we'll|our|us)\b", re.IGNORECASE)
_LIVES = frozenset(word for about in THEMES.values() for word in about)
_GOES = re.compile(r"^(?:\w+ed|went|got|had|took|made|been|gonna|can't|spent|saw|won|met|bought|found|started)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """A turn as the dream reads it."""

    session: str
    seq: int
    role: str
    name: str
    text: str
    at: int
    path: str
    digest: str
    person: str = ""
    """Key of the subject who speaks; empty for an assistant without a name."""
    title: str = ""
    """How sentences name the speaker."""
    article: str = ""
    """The title of the speaker's own article."""

    @property
    def source(self) -> Source:
        return Source(self.path, conv_of(self.session), f"{from_ms(self.at):%Y-%m-%d}", _plain(self.name or self.role))


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, and where it comes from."""

    text: str
    said: Said
    worth: float
    quoted: bool
    theme: str
    stems: frozenset[str]
    plain: str
    """As it was said, without what leads into it."""


def statements(turns: Sequence[Said]) -> list[Statement]:
    """The statements of a chunk in order."""
    names = sorted({turn.name for turn in turns if turn.name})
    return [one for turn in turns for one in _statements(turn, tuple(name for name in names if name != turn.name))]


@lru_cache(maxsize=20_000)
def _statements(turn: Said, partners: tuple[str, ...]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for sentence in sentences(turn.text)[:MOST_SENTENCES]:
        if len(sentence) < 8 or sentence.endswith(("?", "？", ":")):
            continue
        name = turn.title or (USER if turn.role == "user" else ASSISTANT)
        plain = bare(sentence, partners)
        made = told(sentence, name, from_ms(turn.at), partners)
        worth = _worth(plain, made.text, made.quoted)
        if worth >= FLOOR:
            stems = frozenset(query_terms(plain))
            found.append(Statement(made.text, turn, worth, made.quoted, theme_of(plain), stems, plain))
    return tuple(found)


def _worth(plain: str, text: str, quoted: bool) -> float:
    """How much a sentence tells: content words, dates, numbers and names for it; what only points or feels, against it."""
    if _CJK.search(plain):
        return (
            4.0 if len(_CJK.findall(plain)) >= 6 and not plain.endswith(("吗", "呢")) and not re.search("[你您]", plain) else 0.0
        )
    words = [word.lower().removesuffix("'s") for word in _WORD.findall(plain)]
    content = {word for word in words if len(word) > 3 and word not in GENERIC}
    names = {
        word
        for word in _WORD.findall(plain)[1:]
        if word[0].isupper() and word.lower() not in GENERIC and not word.startswith("I")
    }
    lives = {word for word in words if word in _LIVES} - content
    worth = (
        min(len(content) + 0.5 * len(lives), 4)
        + min(len(names), 2)
        + 1.5 * bool(re.search(r"\b\d{1,2} [A-Z][a-z]+ \d{4}|\b(?:19|20)\d\d\b", text))
    )
    worth += 0.5 * bool(re.search(r"\d", plain))
    worth -= 1.5 * bool(_LOOSE.match(plain)) + 1.5 * bool(_FEELS.search(text)) + 1.0 * bool(_OBJECT.search(plain))
    worth -= 2.0 * bool(_POINTS.match(plain)) + 1.0 * _dangles(plain)
    worth -= 1.5 * bool(re.match(r"(?:let's|we (?:should|need to|can|could))\b", plain, re.IGNORECASE))
    if re.search(r"\b(?:you|your|yours|ya|u)\b", plain, re.IGNORECASE):
        worth -= 2.5
    if quoted:
        worth -= 0.5 if _FIRST.search(plain) or _GOES.match(plain) else 2.0
    else:
        worth += 1.0
    if len(words) < 4:
        worth -= 2.0
    return worth


def _dangles(plain: str) -> bool:
    """Whether a sentence speaks of something that only the one before it names."""
    pronoun = _PRONOUN.search(plain)
    return pronoun is not None and not _LOOSE.match(plain) and _THING.search(plain, 0, pronoun.start()) is None


def theme_of(plain: str) -> str:
    """What part of a life a sentence is about."""
    words = [word.lower().removesuffix("'s") for word in _WORD.findall(plain)]
    best, most = OTHER, 0
    for name, about in THEMES.items():
        hits = sum(word in about for word in words)
        if hits > most:
            best, most = name, hits
    return best


def about(key: str, rows: Sequence[Statement]) -> list[Statement]:
    """The statements that name a subject."""
    wanted = set(key.split())
    return [row for row in rows if wanted <= row.stems]


def distinct(rows: Sequence[Statement], known: Collection[frozenset[str]] = ()) -> list[Statement]:
    """Without those that say nearly the same as one before."""
    kept: list[Statement] = []
    seen = list(known)
    for row in rows:
        if not any(_alike(row.stems, other) for other in seen):
            kept.append(row)
            seen.append(row.stems)
    return kept


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    both = len(one & other)
    return both >= 0.8 * max(len(one), len(other), 1)


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[()`\n]", " ", name).split())[:60]
