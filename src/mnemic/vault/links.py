"""Links between notes, as pure text work: wikilinks `[[Name]]`, `[[folder/Name#Heading|shown]]`, `[[Name#^block]]`,
`![[Name]]`, and Markdown links `[shown](path.md#heading)`, `[shown](<path with blanks.md>)`, `[label]: path.md`.

What stands in code is no link. Names are compared as people see them: without case, and however their accents are
composed. A name that several notes bear means the one in the same folder, else the one nearest to the root. The path
of a Markdown link begins at the note it stands in, or at the root after a `/`; where that leads to no note, what it
names is looked for like a wikilink's, as Obsidian does.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from mnemic.text.fences import Fence

ENDING = ".md"
_LINK = re.compile(
    r"\[\[(?P<wiki>[^\[\]\r\n|#]{0,500}?)(?P<part>#[^\[\]\r\n|]{0,500}?)?(?P<alias>\\?\|[^\[\]\r\n]{0,1000})?\]\]"
    r"|(?<!\\)\](?:\([ \t]{0,20}|(?<=[^^]\]):[ \t]{1,20})"
    r"(?:<(?P<angled>[^<>\r\n]{1,1000})>|(?P<plain>[^\s<>()]{1,1000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,500})?))"
)
_DEFINITION = re.compile(r" {0,3}\[[^\[\]\r\n^][^\[\]\r\n]{0,500}\Z")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_UNSAFE = re.compile(r"[\x00-\x20\x7f%<>()\[\]\\#?\"`]")
"""What a Markdown link's path cannot have as it is, or what would read as something else there."""
_UNSAFE_ANGLED = re.compile(r"[\x00-\x1f\x7f%<>\\#]")
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_TICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Link:
    """One link, and where its target stands in the text: `text[start:end]`, blanks included."""

    target: str
    """A wikilink's as it is written; a Markdown link's decoded, and with `./` before what begins at the note."""
    heading: str
    """Without the `#`; a block begins with `^`."""
    alias: str
    start: int
    end: int
    raw: str = ""
    """A Markdown link's path as it is written."""
    angled: bool = False
    """Whether that stands in `<…>`."""


def links(text: str) -> Iterator[Link]:
    """The links of a text to notes, in order; those that only point into the note itself are left out."""
    if "[[" not in text and "](" not in text and "]:" not in text:
        return
    for start, end in _prose(text):
        for match in _LINK.finditer(text, start, end):
            if match["wiki"] is None:
                if link := _markdown(text, match):
                    yield link
            elif match["wiki"].strip():
                heading = (match["part"] or "")[1:].strip()
                alias = (match["alias"] or "").lstrip("\\")[1:].strip()
                yield Link(match["wiki"], heading, alias, *match.span("wiki"))


def _markdown(text: str, match: re.Match[str]) -> Link | None:
    """A Markdown link, if it leads to a note."""
    group, begun = "plain" if match["angled"] is None else "angled", match.start()
    path, _, heading = match[group].partition("#")
    opened = text.rfind("[", max(0, begun - 500), begun)
    if not path.lower().endswith(ENDING) or _ELSEWHERE.match(path) or opened < 0:
        return None
    if text[begun + 1] == ":" and not _DEFINITION.match(text[text.rfind("\n", 0, begun) + 1 : begun]):
        return None
    target = unquote(path, errors="surrogateescape")
    if not target.startswith(("/", "./", "../")):
        target = "./" + target
    start, alias = match.start(group), text[opened + 1 : begun].strip()
    return Link(target, unquote(heading), alias, start, start + len(path), path, group == "angled")


def rewritten(text: str, change: Callable[[Link], str | None]) -> str:
    """The text with other targets, as they are to be written, where `change` gives one; all else stays."""
    parts: list[str] = []
    done = 0
    for link in links(text):
        target = change(link)
        if target is not None:
            parts += [text[done : link.start], target]
            done = link.end
    return "".join([*parts, text[done:]]) if parts else text


def written(path: str, *, angled: bool) -> str:
    """A path as it stands in a Markdown link."""
    unsafe = _UNSAFE_ANGLED if angled else _UNSAFE
    return unsafe.sub(lambda match: f"%{ord(match[0]):02X}", path)


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text that are not code; a line at a time."""
    fence = Fence()
    for line in _LINE.finditer(text):
        if not line[0]:
            return
        if "`" not in line[0] and "~" not in line[0]:
            if not fence.open:
                yield line.span()
            continue
        if not fence.takes(line[0]):
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
    target = target.strip()
    if target.startswith(("/", "./", "../")):
        exact = led(target, source)
        same = [path for path in candidates if exact is not None and _seen(stem(path)) == _seen(stem(exact))]
        if same or target.startswith("../"):
            return min(same, key=lambda path: (path != exact, path), default=None)
        target = target.removeprefix("./").lstrip("/")
    wanted = _seen(stem(target))
    if "/" in wanted:
        fitting = [path for path in candidates if ("/" + _seen(stem(path))).endswith("/" + wanted)]
    else:
        fitting = list(candidates)
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    folder, name = source.rpartition("/")[0], stem(target).rpartition("/")[2]

    def distance(path: str) -> tuple[bool, int, bool, str]:
        above, _, last = path.rpartition("/")
        return above != folder, path.count("/"), stem(last) != name, path

    return min(fitting, key=distance)


def leads(target: str, source: str, path: str) -> bool:
    """Whether a path that begins with `/`, `./` or `../` leads from a note to another without any looking for it."""
    exact = led(target, source)
    return exact is not None and _seen(stem(exact)) == _seen(stem(path))


def led(target: str, source: str) -> str | None:
    """Where a path that begins with `/`, `./` or `../` leads from a note; None if out of the vault."""
    folder = "" if target.startswith("/") else source.rpartition("/")[0]
    path = posixpath.normpath(posixpath.join(folder, target.lstrip("/")))
    return None if path.startswith("../") or path == ".." else path


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
