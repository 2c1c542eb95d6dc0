"""Reads the pages as a reader would: what stands in code, and what a command line in it names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = DOCS / "reference"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")))
"""Written by hand, or by a benchmark."""
FENCE = re.compile(r"^(```+)([^\n`]*)\n(.*?)^\1[ ]*$", re.M | re.S)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)((?:    .*\n|\n(?=    ))+)", re.M)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
SHELLS = {"", "console", "sh", "bash", "text"}
JOINTS = {"&&", "||", "|", ";", "&"}
REDIRECTIONS = {"<", ">", ">>", "<<<", "2>"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its title, and what it holds."""

    language: str
    title: str
    text: str
    skipped: bool
    """Whether the page says above it that it is not run."""


@cache
def text_of(page: Path) -> str:
    """A page's text."""
    return page.read_text("utf-8")


def named(page: Path) -> str:
    """A page's name, for the message of a test."""
    return str(page.relative_to(ROOT))


@cache
def blocks(text: str) -> Sequence[Block]:
    """The fenced blocks, in order."""
    return tuple(_blocks(text))


def _blocks(text: str) -> Iterator[Block]:
    for found in FENCE.finditer(text):
        info = found[2].strip()
        title = re.search(r'title="([^"]*)"', info)
        before = text[: found.start()].rstrip().rpartition("\n")[2]
        skipped = before.startswith("<!-- not run:")
        yield Block(info.partition(" ")[0], title[1] if title else "", found[3], skipped)


@cache
def prose(text: str) -> str:
    """The text without its blocks of code."""
    return INDENTED.sub("\n", FENCE.sub("", text))


def spans(text: str) -> list[str]:
    """What stands in code within the prose, also in tables, where a bar is written `\\|`."""
    return [found.replace("\\|", "|") for found in SPAN.findall(prose(text))]


def lines(text: str) -> Iterator[str]:
    """The lines that may be commands: of blocks in a shell, of indented code, and what stands in code within the prose."""
    for block in blocks(text):
        if block.language in SHELLS:
            yield from _joined(block.text)
    for found in INDENTED.findall(FENCE.sub("", text)):
        yield from _joined(found)
    yield from spans(text)


def _joined(text: str) -> Iterator[str]:
    """Where a block marks its commands, the other lines are what they print."""
    rows = [line.strip() for line in re.sub(r"\\\n\s*", " ", text).splitlines()]
    given = [line.removeprefix("$ ") for line in rows if line.startswith("$ ")]
    yield from given or rows


@cache
def commands(text: str) -> Sequence[list[str]]:
    """Each command line, word by word, cut where the shell would begin another command."""
    return tuple(_commands(text))


def _commands(text: str) -> Iterator[list[str]]:
    for line in lines(text):
        words = _words(line)
        made: list[str] = []
        skip = False
        for word in [*words, ";"]:
            if skip or word in REDIRECTIONS:
                skip = not skip
            elif word in JOINTS:
                if made:
                    yield made
                made = []
            elif made or not re.fullmatch(r"[A-Z_]+=\S*|export", word):
                made.append(word)


def _words(line: str) -> list[str]:
    line = re.sub(r"(?<=\S)(;)(?=\s|$)", r" \1", line)
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return re.sub(r"\s#.*", "", line).split()


def slug(title: str) -> str:
    """The anchor of a heading, as the site makes it."""
    import unicodedata

    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title)
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def anchors(text: str) -> set[str]:
    """The anchors of a page: its headings, those that it names itself, and what mkdocstrings will put there."""
    found: set[str] = set()
    for title in re.findall(r"^#{1,6} (.+)$", FENCE.sub("", text), re.M):
        named = re.search(r"\{ #(\S+) \}$", title)
        found.add(named[1] if named else slug(title))
    return found | set(re.findall(r"^::: (\S+)", text, re.M))


def links(text: str) -> list[str]:
    """Where a page links to."""
    return re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", SPAN.sub(lambda found: "x" * len(found[0]), FENCE.sub("", text)))
