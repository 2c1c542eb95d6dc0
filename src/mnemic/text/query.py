"""Reads what a person asks memory: words, quoted phrases, a path and a time, from one line of text.

Recall needs them apart: phrases must stand together, a path or a time narrows the search instead of being
searched for, and the words that name a time would otherwise outweigh the words that name the matter. Any
string is a query; nothing in it is syntax that could be wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from mnemic.text.tokens import phrase_terms, query_terms
from mnemic.text.when import find

MAX_CHARS = 4_000
"""What is read of a query; embedders cut far earlier, and a longer one is a pasted document."""
MAX_PHRASES = 8

# A straight quote opens after a space and closes before one, so that 5" x 7" is no phrase.
_PHRASE = re.compile(
    r'(?<![^\s(\[])"(?=\S)(?P<a>[^"\n]{1,200})(?<=\S)"(?!\w)|“(?P<b>[^”\n]{1,200})”|「(?P<c>[^」\n]{1,200})」'
    r"|『(?P<d>[^』\n]{1,200})』|«(?P<e>[^»\n]{1,200})»"
)
_PATH = re.compile(r"(?<!\S)/(?!/)[\w\-.~/]{2,300}(?<![.\-])(?=[,;:.?!)\-]*(?:\s|$))")


@dataclass(frozen=True, slots=True)
class Query:
    """A query, read.

    text           the query without its path: what an embedder should see
    terms          distinct index terms without stop words; phrases included, the time expression left out
                   unless there is nothing else
    phrases        the terms of each quoted phrase, in order
    path           an explicit path ("/notes/trip"): search only there; None for everywhere
    since, until   half-open stretch in aware UTC; None is open
    when           the time expression as it was written, or None
    cut            the query was longer than `MAX_CHARS`: all but `text` comes from its beginning
    """

    text: str
    terms: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    path: str | None
    since: datetime | None
    until: datetime | None
    when: str | None
    cut: bool


def read(query: str, now: datetime, *, paths: bool = True) -> Query:
    """Reads `query` as it is meant at `now` (aware; its zone is the one of "yesterday").

    With `paths` off a token such as /usr/bin is a word like any other: for prompts, which mention files.
    """
    head, cut = query[:MAX_CHARS], len(query) > MAX_CHARS
    phrases = [next(filter(None, m.groups())) for m in _PHRASE.finditer(head)][:MAX_PHRASES]
    bare = _PHRASE.sub(_blank, head)
    path = _PATH.search(bare) if paths else None
    if path:
        head, bare, query = (_without(text, *path.span()) for text in (head, bare, query))
    when = find(bare, now)
    rest = _without(head, when.start, when.end) if when else head
    return Query(
        text=query.strip(),
        terms=tuple(query_terms(rest) or query_terms(head)),
        phrases=tuple(filter(None, (tuple(phrase_terms(phrase)) for phrase in phrases))),
        path=path[0].rstrip("/") if path else None,
        since=when.since if when else None,
        until=when.until if when else None,
        when=when.text if when else None,
        cut=cut,
    )


def _blank(match: re.Match[str]) -> str:
    """As many strokes, so that places stay and no date grows together across a phrase."""
    return "|" * len(match[0])


def _without(text: str, start: int, end: int) -> str:
    return f"{text[:start].rstrip()} {text[end:].lstrip()}"
