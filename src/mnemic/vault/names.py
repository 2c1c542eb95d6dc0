"""Which names of people and projects stand in a text, found in one pass however many names there are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
SHORTEST = 2
"""Characters of a name that can be told from other words."""


class Names:
    """A set of names, as they are written: words with capitals as they stand, Chinese and Japanese anywhere."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_words: dict[tuple[str, ...], str] = {}
        self._lengths: dict[str, list[int]] = defaultdict(list)
        """How many words the names have that begin with a word, the most first."""
        self._by_pair: dict[str, list[str]] = defaultdict(list)
        for name in sorted({" ".join(name.split()) for name in names}, key=lambda name: (-len(name), name)):
            words = tuple(_WORD.findall(name))
            if len(name) < SHORTEST:
                continue
            if _WIDE.search(name):
                self._by_pair[name[:SHORTEST]].append(name)
            elif words:
                self._by_words[words] = name
                if len(words) not in self._lengths[words[0]]:
                    self._lengths[words[0]] = sorted([*self._lengths[words[0]], len(words)], reverse=True)

    def within(self, text: str) -> Iterator[tuple[int, str]]:
        """Where which name stands; of several that begin at a place, the longest."""
        if self._by_words:
            found = [(match.start(), match[0]) for match in _WORD.finditer(text)]
            for place, (start, word) in enumerate(found):
                for length in self._lengths.get(word, ()):
                    if name := self._by_words.get(tuple(one for _, one in found[place : place + length])):
                        yield start, name
                        break
        if self._by_pair and _WIDE.search(text):
            for place in range(len(text) - 1):
                for name in self._by_pair.get(text[place : place + SHORTEST], ()):
                    if text.startswith(name, place):
                        yield place, name
                        break
