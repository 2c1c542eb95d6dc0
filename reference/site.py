"""Looks at the built site as a browser would: `python -m reference.site FOLDER`. Exit code 1 and a line for each fault.

The builder checks the links of the pages' Markdown. What it makes besides (navigation, signatures, style sheets) is looked at
here: that every link and anchor leads somewhere within the folder, and that nothing is loaded from another host.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    ("link", "href"),
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("use", "href"),
    ("object", "data"),
}
NAMES_ONLY = {"canonical", "prev", "next"}
"""Links in the head that name a page and load nothing."""


@dataclass(slots=True)
class Page(HTMLParser):
    """What a page links to, loads, and offers as anchors."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in NAMES_ONLY:
            return
        self.loads += [given[name] for kind, name in LOADS if kind == tag and name in given]


def faults(folder: Path) -> Iterator[str]:
    """What is wrong with a built site, a line each."""
    pages = {file: _read(file) for file in sorted(folder.rglob("*.html"))}
    if not pages:
        yield f"{folder} holds no page: build it first"
    for file, page in pages.items():
        name = file.relative_to(folder)
        for address in page.loads:
            yield from _loaded(folder, file, address)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = _target(folder, file, parts.path)
            if not target.is_file():
                yield f"{name}: {link} leads to no page"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: {link} leads to no anchor"
    for file in sorted(folder.rglob("*.css")):
        for address in re.findall(r"(?:url\(|@import\s+)\s*[\"']?((?:https?:)?//[^\"')]+)", file.read_text("utf-8")):
            yield f"{file.relative_to(folder)}: loads {address} from another host"


def _loaded(folder: Path, file: Path, address: str) -> Iterator[str]:
    parts = urlsplit(address)
    if parts.scheme == "data":
        return
    if parts.scheme or parts.netloc:
        yield f"{file.relative_to(folder)}: loads {address} from another host"
    elif parts.path and not _target(folder, file, parts.path).is_file():
        yield f"{file.relative_to(folder)}: loads {address}, which is not there"


def _read(file: Path) -> Page:
    page = Page()
    page.feed(file.read_text("utf-8"))
    return page


def _target(folder: Path, file: Path, path: str) -> Path:
    if not path:
        return file
    base = folder / path.lstrip("/") if path.startswith("/") else file.parent / unquote(path)
    whole = base.resolve()
    return whole / "index.html" if whole.is_dir() else whole


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1] if sys.argv[1:] else "site").resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
