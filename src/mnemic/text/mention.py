"""Names and paths that a text may mention, to be looked up: pure, and quick enough for every message."""

from __future__ import annotations

import re
from collections.abc import Iterator

WORDS, STARTS = 4, 64
"""Words that a name may have, and places of one text where a name is looked for."""
_LINK = re.compile(r"\[\[([^\[\]|#^\n]{1,200})")
_WORD = re.compile(r"[^\W_][\w'’.-]*")
_PATH = re.compile(r"(?<![\w/:.])(?:/[\w~.-]+){2,12}|(?<![\w/])(?:facts|concerns|diary|experiences)/[\w-]{1,64}")


def names(text: str) -> list[str]:
    """What may be the name of a note: targets of wikilinks, and runs of up to four words that begin with a capital."""
    found = dict.fromkeys(match.strip() for match in _LINK.findall(text))
    words = list(_WORD.finditer(text))
    starts = [place for place, word in enumerate(words) if word.group()[0].isupper()]
    for place in starts[:STARTS]:
        found |= dict.fromkeys(_runs(text, words[place : place + WORDS]))
    return list(found)


def _runs(text: str, words: list[re.Match[str]]) -> Iterator[str]:
    for last in words:
        run = text[words[0].start() : last.end()].rstrip(".'’-")
        if "\n" in run:
            return
        yield run


def paths(text: str) -> list[str]:
    """What may be a path of memory: `/notes/kiln`, `facts/3`."""
    return list(dict.fromkeys(match.rstrip(".-") for match in _PATH.findall(text))) if "/" in text else []
