"""Reading the wiki in small pieces: an agent finds its way by contents and links and opens the one section that it needs.

No answer is above 8 KB; what does not fit is counted, and a long section is read on from an offset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from mnemic.errors import BadInput, NotFound
from mnemic.synthesis import article
from mnemic.text.tokens import query_terms, terms

CEILING = 8_000
"""Bytes of an answer as JSON."""
SECTION_CHARS = 1_900
"""Characters of a section in one reading."""
LEAD_CHARS = 140
READING_CHARS = 24_000
"""Characters of an article as a person reads it, in one answer."""
ROWS, GROUP, HITS, SUMMARIES, NEAR = 40, 25, 30, 8, 3
_LINK = re.compile(r"\[\[([^\]|#\n]+)(?:[|#][^\]\n]*)?\]\]")


# Named here because inside the class `list` is a verb.
Names = list[str]
Sections = list[dict[str, Any]]


class Wiki:
    """The articles of one vault, as they are now."""

    def __init__(self, pages: Mapping[str, str], used: Callable[[str, str], None] = lambda path, how: None) -> None:
        """`used` is told of the file of an article that is read, and how."""
        self._all, self._used = pages, used
        self._terms: dict[str, Names] = {}
        self._rows: dict[str, dict[str, Any]] = {}
        self._pages = {path: text for path, text in pages.items() if path.startswith("articles/")}
        self._titles = {
            path: article.title_of(text) or path.rpartition("/")[2].removesuffix(".md") for path, text in self._pages.items()
        }

    def is_of(self, pages: Mapping[str, str]) -> bool:
        """Whether these are the pages that it was made of."""
        return self._all == pages

    def list(self, start: int = 0) -> dict[str, Any]:
        """Articles by title, from a place on; `next` is where to read on. Raises BadInput."""
        if start < 0:
            raise BadInput(f"start {start} is no place in a list: give 0 or more")
        rows = [self._row(path, text) for path, text in sorted(self._pages.items()) if article.redirect(text) is None]
        found = _fitted({"articles": rows[start:], "total": len(rows), "next": None}, "articles")
        return {**found, "next": start + len(found["articles"]) if found["more"] else None}

    def _row(self, path: str, text: str) -> dict[str, Any]:
        if path not in self._rows:
            self._rows[path] = {
                "title": self._titles[path],
                "type": article.infobox(text).get("type", ""),
                "sections": len(article.body_sections(text)),
                "stub": article.is_stub(text),
            }
        return dict(self._rows[path])

    def resolve(self, name: str) -> dict[str, Any]:
        """The article that a name means: by title, alias or redirect; else up to three near ones."""
        path, how = self._resolve(name)
        if path is None:
            return {"name": name, "article": None, "path": None, "how": None, "near": self._near(name)}
        return {"name": name, "article": self._titles[path], "path": path, "how": how, "near": []}

    def toc(self, name: str) -> dict[str, Any]:
        """An article's lead and its sections."""
        path = self._open(name)
        text = self._pages[path]
        lead, *rows = article.sections(text)
        found = [{"anchor": row.anchor, "heading": row.heading, "level": row.level,
                  "words": article.words(article.without_markers(text[row.body : row.end]))} for row in rows]  # fmt: skip
        shown = article.shown(text[lead.body : lead.end])
        return _fitted({"article": self._titles[path], "path": path, "lead": shown[:1_500], "sections": found}, "sections")

    def section(self, name: str, anchor: str, offset: int = 0, *, touch: bool = True) -> dict[str, Any]:
        """One section with its citations as paths that open; `next` is where to read on. Reading one is a use of its article."""
        path = self._open(name)
        text = self._pages[path]
        found = article.section(text, anchor)
        if found is None:
            names = ", ".join(row.anchor for row in article.sections(text))
            raise NotFound(f"{self._titles[path]!r} has no section {anchor!r}: it has {names[:400]}")
        body = text[found.body : found.end].strip()
        if offset < 0 or offset > len(body):
            raise BadInput(f"offset {offset} lies outside the section's {len(body)} characters")
        if touch and offset == 0:
            self._used(path, "opened")
        end = _cut(body, offset)
        known = article.notes(text)
        cited = {
            f"^{number}": known[number].path for number in dict.fromkeys(article.markers(body[offset:end])) if number in known
        }
        return {
            "article": self._titles[path],
            "path": path,
            "anchor": found.anchor,
            "heading": found.heading,
            "text": body[offset:end],
            "sources": cited,
            "next": end if end < len(body) else None,
        }

    def read(self, name: str, anchor: str = article.LEAD) -> dict[str, Any]:
        """An article as a person reads it: infobox, contents, links and sections with their citations, from one section on.

        Up to 24,000 characters, of at least one section; `next` is the section to read on from. Raises NotFound.
        """
        path = self._open(name)
        text = self._pages[path]
        rows = [row for row in article.sections(text) if row.level in (0, 2) and row.heading != "References"]
        begin = next((place for place, row in enumerate(rows) if row.anchor == anchor), None)
        if begin is None:
            names = ", ".join(row.anchor for row in rows)
            raise NotFound(f"{self._titles[path]!r} has no section {anchor!r}: it has {names[:400]}")
        known, size, sections = article.notes(text), 0, Sections()
        for row in rows[begin:]:
            body = text[row.body : row.end].strip()
            if sections and size + len(body) > READING_CHARS:
                break
            size += len(body)
            cited = {f"^{number}": known[number].path for number in dict.fromkeys(article.markers(body)) if number in known}
            sections.append({"anchor": row.anchor, "heading": row.heading, "text": body, "sources": cited})
        left = rows[begin + len(sections) :]
        linked = self.links(name)
        return {
            "article": self._titles[path], "path": path, "infobox": self.infobox(name)["infobox"],
            "contents": [{"anchor": row.anchor, "heading": row.heading} for row in rows if row.heading],
            "sections": sections, "next": left[0].anchor if left else None, "categories": article.categories(text),
            "links": linked["links"], "backlinks": linked["backlinks"], "more": linked["more"],
            "talk": self._talk(path) is not None,
        }  # fmt: skip

    def talk(self, name: str, offset: int = 0) -> dict[str, Any]:
        """What is to be decided about an article, as dreams and people raised it; `text` is empty where nothing is.

        Raises NotFound, BadInput.
        """
        path = self._open(name)
        text = self._talk(path) or ""
        if offset < 0 or offset > len(text):
            raise BadInput(f"offset {offset} lies outside the page's {len(text)} characters")
        end = _cut(text, offset)
        return {"article": self._titles[path], "path": _talk_path(path), "text": text[offset:end],
                "next": end if end < len(text) else None}  # fmt: skip

    def _talk(self, path: str) -> str | None:
        return self._all.get(_talk_path(path))

    def links(self, name: str) -> dict[str, Any]:
        """What an article links to and what links to it, at most 25 of each."""
        path = self._open(name)
        out = list(dict.fromkeys(_LINK.findall(self._pages[path])))
        title = self._titles[path]
        back = sorted(
            self._titles[other] for other, text in self._pages.items() if other != path and title in _LINK.findall(text)
        )
        more = {"links": max(0, len(out) - GROUP), "backlinks": max(0, len(back) - GROUP)}
        return {"article": title, "path": path, "links": out[:GROUP], "backlinks": back[:GROUP], "more": more}

    def infobox(self, name: str) -> dict[str, Any]:
        """What is known of a subject at a glance."""
        path = self._open(name)
        values = {key: article.without_markers(value) for key, value in article.infobox(self._pages[path]).items()}
        return {"article": self._titles[path], "path": path, "infobox": values}

    def category(self, name: str) -> dict[str, Any]:
        """The articles of a category, or of a type, with the beginning of their leads; at most 40."""
        wanted = name.casefold()
        found = []
        for path, text in sorted(self._pages.items()):
            names = {one.casefold() for one in article.categories(text)} | {article.infobox(text).get("type", "").casefold()}
            if wanted in names:
                lead = article.sections(text)[0]
                found.append({"article": self._titles[path], "lead": article.shown(text[lead.body : lead.end])[:LEAD_CHARS]})
        if not found:
            known = sorted({one for text in self._pages.values() for one in article.categories(text)})
            raise NotFound(f"no article is in category {name!r}: there are {', '.join(known)[:400] or 'none'}")
        return _fitted({"category": name, "articles": found[:ROWS], "total": len(found)}, "articles")

    def search(self, query: str) -> dict[str, Any]:
        """Articles by words: more distinct words first, then words in the title, then how often. 8 with a passage, 30 in all."""
        wanted = set(query_terms(query))
        ranked = []
        for path, text in self._pages.items():
            if article.redirect(text) is not None or not wanted:
                continue
            if path not in self._terms:
                self._terms[path] = terms(article.prose(text))
            title, said = set(terms(self._titles[path])), self._terms[path]
            held = set(said) | title
            if hits := wanted & held:
                count = sum(term in wanted for term in said)
                ranked.append((-len(hits), -len(wanted & title), -count, self._titles[path], path))
        ranked.sort()
        rows = [{"article": title, "passage": self._passage(path, wanted)} for *_, title, path in ranked[:SUMMARIES]]
        others = [title for *_, title, _ in ranked[SUMMARIES:HITS]]
        return _fitted({"query": query, "hits": rows, "others": others, "total": len(ranked)}, "hits")

    def _passage(self, path: str, wanted: set[str]) -> dict[str, str]:
        text = self._pages[path]
        best, most = {"anchor": article.LEAD, "text": ""}, -1
        for row in article.sections(text):
            if row.level not in (0, 2) or row.heading in article.APPARATUS:
                continue
            for line in text[row.body : row.end].splitlines():
                held = len(wanted & set(terms(line)))
                if held > most and line.strip():
                    best, most = {"anchor": row.anchor, "text": article.shown(line)[:400]}, held
                if most == len(wanted):
                    return best
        return best

    def _open(self, name: str) -> str:
        path, _ = self._resolve(name)
        if path is None:
            near = self._near(name)
            raise NotFound(
                f"no article is called {name!r}" + (f": did you mean {', '.join(near)}?" if near else ": see `mnemic wiki list`")
            )
        return path

    def _resolve(self, name: str) -> tuple[str | None, str | None]:
        if name in self._pages:
            return self._led(name), "path"
        plain = name.strip().removeprefix("/").removesuffix(".md").removeprefix("articles/")
        for how, same in (("title", str.casefold), ("squeezed", _squeezed)):
            for path, title in sorted(self._titles.items()):
                if same(title) == same(plain) != "":
                    return self._led(path), how
        for path, text in sorted(self._pages.items()):
            if _squeezed(plain) in {_squeezed(alias) for alias in article.infobox(text).get("aliases", "").split(",")} - {""}:
                return self._led(path), "alias"
        owners = self._owners()
        held = [owners[word] for word in terms(plain) if len(owners.get(word, ())) == 1]
        paths = {next(iter(one)) for one in held}
        return (self._led(paths.pop()), "word") if len(paths) == 1 else (None, None)

    def _led(self, path: str) -> str:
        leads = article.redirect(self._pages[path])
        return next((other for other, title in self._titles.items() if leads and title == leads), path)

    def _owners(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path, title in self._titles.items():
            for word in terms(title):
                found.setdefault(word, set()).add(path)
        return found

    def _near(self, name: str) -> Names:
        grams = _grams(name)
        scored = [
            (len(grams & _grams(title)) / max(1, min(len(grams), len(_grams(title)))), title) for title in self._titles.values()
        ]
        return [title for score, title in sorted(scored, key=lambda row: (-row[0], row[1]))[:NEAR] if score >= 0.3]


def _talk_path(path: str) -> str:
    return "talk/" + path.removeprefix("articles/")


def _grams(name: str) -> set[str]:
    folded = f"  {name.casefold()} "
    return {folded[at : at + 3] for at in range(len(folded) - 2)}


def _squeezed(name: str) -> str:
    return re.sub(r"\W+", "", name).casefold()


def _cut(body: str, offset: int) -> int:
    """Where a reading ends: after a paragraph, or else after a sentence's citations, within the limit."""
    if len(body) - offset <= SECTION_CHARS:
        return len(body)
    window = body[offset : offset + SECTION_CHARS]
    for mark in ("\n\n", "] ", " "):
        if (at := window.rfind(mark)) > SECTION_CHARS // 3:
            return offset + at + len(mark)
    return offset + SECTION_CHARS


def _fitted(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """The answer with as many rows as fit; `more` says how many are left out."""
    rows = answer[name]
    kept = list(rows)
    while kept and len(json.dumps({**answer, name: kept, "more": 0}, ensure_ascii=False).encode()) > CEILING:
        kept = kept[: max(0, len(kept) - max(1, len(kept) // 20))]
    return {**answer, name: kept, "more": len(rows) - len(kept)}
