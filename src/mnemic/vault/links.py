"""Wikilinks: `[[Name]]`, `[[folder/Name#Heading|shown]]`, `[[Name#^block]]`, `![[Name]]`. Pure text work.

What stands in code is no link. Names are compared as people see them: without case, and however their accents are
composed. A name that several notes bear means the one in the same folder, else the one nearest to the root.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

ENDING = ".md"
_LINK = re.compile(r"\[\[([^\[\]\r\n|#]{0,500}?)(#[^\[\]\r\n|]{0,500}?)?(\\?\|[^\[\]\r\n]{0,1000})?\]\]")
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Link:
    """One wikilink, and where its target stands in the text: `text[start:end] == target`, blanks included."""

    target: str
    heading: str
    """Without the `#`; a block begins with `^`."""
    alias: str
    start: int
    end: int


def links(text: str) -> Iterator[Link]:
    """The wikilinks of a text, in order; those that only point into the note itself are left out."""
    if "[[" not in text:
        return
    for start, end in _prose(text):
        for match in _LINK.finditer(text, start, end):
            target = match[1]
            if target.strip():
                heading = (match[2] or "")[1:].strip()
                alias = (match[3] or "").lstrip("\\")[1:].strip()
                yield Link(target, heading, alias, match.start(1), match.end(1))


def rewritten(text: str, change: Callable[[str], str | None]) -> str:
    """The text with other targets where `change` gives one; all else, alias and heading included, stays."""
    parts: list[str] = []
    done = 0
    for link in links(text):
        target = change(link.target.strip())
        if target is not None:
            parts += [text[done : link.start], target]
            done = link.end
    return "".join([*parts, text[done:]]) if parts else text


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text that are not code; a line at a time."""
    fence = ""
    for line in _LINE.finditer(text):
        if not line[0]:
            return
        if "`" not in line[0] and "~" not in line[0]:
            if not fence:
                yield line.span()
            continue
        mark = _FENCE.match(line[0])
        if fence:
            closes = mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence)
            if closes and not line[0][mark.end() :].strip():  # type: ignore[union-attr]
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in line[0][mark.end() :]):
            fence = mark[1]
        else:
            yield from _outside_ticks(line[0], line.start())


def _outside_ticks(line: str, offset: int) -> Iterator[tuple[int, int]]:
    runs = [match.span() for match in _TICKS.finditer(line)]
    by_size: dict[int, list[int]] = defaultdict(list)
    for start, end in runs:
        by_size[end - start].append(start)
    done = 0
    for start, end in runs:
        if start < done:
            continue
        same = by_size[end - start]
        after = bisect_right(same, start)
        if after < len(same):
            yield offset + done, offset + start
            done = same[after] + (end - start)
    yield offset + done, offset + len(line)


def key_of(name: str) -> str:
    """The key under which a note is found by a link: its last segment as people see it."""
    last = name.strip().rsplit("/", 1)[-1]
    return _seen(last[: -len(ENDING)] if last.lower().endswith(ENDING) else last)


def _seen(name: str) -> str:
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name[:1000]).casefold())


def stem(path: str) -> str:
    """A path without its ending."""
    return path[: -len(ENDING)] if path.lower().endswith(ENDING) else path


def resolve(target: str, source: str, candidates: Sequence[str]) -> str | None:
    """Which of the notes that share a key a link in `source` means."""
    wanted = _seen(stem(target.strip().lstrip("/")))
    if "/" in wanted:
        fitting = [path for path in candidates if ("/" + _seen(stem(path))).endswith("/" + wanted)]
    else:
        fitting = list(candidates)
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    folder = source.rpartition("/")[0]
    return min(fitting, key=lambda path: (path.rpartition("/")[0] != folder, path.count("/"), path))


class Graph:
    """Who links to whom, of a whole vault at once."""

    def __init__(self, paths: Iterable[str], rows: Iterable[tuple[str, str]]) -> None:
        """`rows`: (the note, what a link in it names)."""
        by_key: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            by_key[key_of(path)].append(path)
        self.forward: dict[str, list[str]] = defaultdict(list)
        self.back: dict[str, list[str]] = defaultdict(list)
        self.broken: list[tuple[str, str]] = []
        for source, target in rows:
            found = resolve(target, source, by_key.get(key_of(target), ()))
            if found is None:
                self.broken.append((source, target))
            elif found not in self.forward[source]:
                self.forward[source].append(found)
                self.back[found].append(source)
