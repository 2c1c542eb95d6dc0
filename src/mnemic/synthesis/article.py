"""The grammar of an article: what its parts are, where they stand in the text, and how one part is changed alone.

    # Title
    ```info … ```            what is known, one `key: value` a line
    lead                     two or three sentences, the subject in bold
    ## Section …             every sentence with its citation
    ## See also              links
    ## Notes
    ## References            last: [^1]: `conv:HASH` (2023-05-08, Ada) - `/sessions/…/3/ada`
    *Categories: …*

A footnote names one turn of one conversation, and `mnemic show` opens its path. Numbers are given once and stay: a
patch adds the next, so that no other section changes. Headings inside a code fence do not count.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemic.text.fences import Fence
from mnemic.text.tree import slug

LEAD = "__lead__"
SEE_ALSO, NOTES, REFERENCES, HISTORY = "See also", "Notes", "References", "History"
APPARATUS = (SEE_ALSO, NOTES, REFERENCES)
STUB = "*This article is a stub.*"
STUB_SECTIONS, STUB_WORDS = 2, 40
KINDS = ("thing", "person", "domain", "project", "standard")
_HEADING = re.compile(r"(#{1,6}) +(.+?)(?: +#+)? *$")
_MARKER = re.compile(r"\[\^(\d{1,6})\](?!:)")
_NOTE = re.compile(
    r"^\[\^(?P<number>\d{1,6})\]: `conv:(?P<conv>[0-9a-f]{8})`(?: \((?:(?P<date>\d{4}-\d\d-\d\d))?(?:, )?(?P<source>[^()\n]*)\))?"
    r" - `(?P<path>/[^`\n]+)`[ \t]*$",
    re.MULTILINE,
)
_INFO = re.compile(r"^```info[ \t]*\n(.*?)^```[ \t]*\n", re.MULTILINE | re.DOTALL)
_REDIRECT = re.compile(r"^\*Redirect to \[\[([^\]|#\n]+)\]\]\.\*\s*$", re.MULTILINE)
_CATEGORIES = re.compile(r"^\*Categories: (.+?)\*[ \t]*$", re.MULTILINE)
_WORDS = re.compile(r"\w+")
_KEY = re.compile(r"^([a-z][a-z0-9_]*): *(.*)$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with all that stands below it, as `text[start:end]`; the lead has no heading."""

    heading: str
    anchor: str
    level: int
    start: int
    end: int
    body: int
    """Where the text after the heading line begins."""


@dataclass(frozen=True, slots=True)
class Source:
    """The turn that a footnote names."""

    path: str
    conv: str
    """First eight digits of the digest of the conversation's name."""
    date: str = ""
    who: str = ""


def conv_of(session: str) -> str:
    """How a footnote names a conversation."""
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def title_of(text: str) -> str:
    """The first-level heading; empty without one."""
    return next((heading for _, level, heading in _headings(text) if level == 1), "")


def headings(text: str) -> list[tuple[int, str]]:
    """Level and text of every heading, in order."""
    return [(level, heading) for _, level, heading in _headings(text)]


def sections(text: str) -> list[Section]:
    """The lead and every section, in order. A section ends at the next heading of its level or a higher one."""
    found = [(at, level, heading) for at, level, heading in _headings(text) if level > 1]
    first = found[0][0] if found else len(text)
    start = _lead_start(text)
    rows = [Section("", LEAD, 0, min(start, first), first, min(start, first))]
    taken: dict[str, int] = {}
    for place, (at, level, heading) in enumerate(found):
        end = next((other for other, depth, _ in found[place + 1 :] if depth <= level), len(text))
        anchor = slug(heading)
        taken[anchor] = taken.get(anchor, 0) + 1
        if taken[anchor] > 1:
            anchor = f"{anchor}~{taken[anchor]}"
        line = text.find("\n", at)
        rows.append(Section(heading, anchor, level, at, end, end if line < 0 else line + 1))
    return rows


def section(text: str, anchor: str) -> Section | None:
    """The section with an anchor, or with this very heading."""
    rows = sections(text)
    return next((row for row in rows if row.anchor == anchor), None) or next(
        (row for row in rows if row.heading and row.heading.casefold() == anchor.casefold()), None
    )


def body_sections(text: str) -> list[Section]:
    """The second-level sections that hold prose."""
    return [row for row in sections(text) if row.level == 2 and row.heading not in APPARATUS]


def infobox(text: str) -> dict[str, str]:
    """What is known at a glance, by key."""
    match = _INFO.search(text)
    if match is None:
        return {}
    rows = (_KEY.match(line) for line in match[1].splitlines())
    return {row[1]: row[2].strip() for row in rows if row}


def with_infobox(text: str, values: Mapping[str, str]) -> str:
    """The text with this infobox: type, kind, then by name, aliases last."""
    block = rendered_infobox(values)
    match = _INFO.search(text)
    if match:
        return text[: match.start()] + block + text[match.end() :]
    at = _lead_start(text)
    return text[:at] + block + "\n" + text[at:]


def rendered_infobox(values: Mapping[str, str]) -> str:
    """An infobox."""
    order = {"type": 0, "kind": 1, "aliases": 3}
    keys = sorted((key for key in values if values[key]), key=lambda key: (order.get(key, 2), key))
    return "```info\n" + "".join(f"{key}: {values[key]}\n" for key in keys) + "```\n"


def redirect(text: str) -> str | None:
    """Where a redirect leads; None for an article."""
    match = _REDIRECT.search(text)
    return match[1].strip() if match else None


def categories(text: str) -> list[str]:
    """The categories an article names."""
    match = _CATEGORIES.search(text)
    return [name.strip().strip("[]") for name in match[1].split("·")] if match else []


def notes(text: str) -> dict[int, Source]:
    """The footnotes by number."""
    return {
        int(row["number"]): Source(row["path"], row["conv"], row["date"] or "", (row["source"] or "").strip())
        for row in _NOTE.finditer(text)
    }


def note_count(text: str) -> int:
    """How many lines define a footnote, whether they are of the form or not."""
    return len(re.findall(r"^\[\^[^\]\n]+\]:", text, re.MULTILINE))


def markers(text: str) -> list[int]:
    """The numbers that are cited, in order of appearance."""
    return [int(row[1]) for row in _MARKER.finditer(text)]


def without_markers(text: str) -> str:
    return _MARKER.sub("", text)


def shown(text: str) -> str:
    """A passage as it is read: on one line, links by what they show, no markers."""
    plain = re.sub(r"\[\[(?:[^\]|\n]*\|)?([^\]|\n]*)\]\]", r"\1", without_markers(text))
    return " ".join(plain.replace("**", "").replace(STUB, "").split())


def prose(text: str) -> str:
    """The lead and the sections' text, without headings, infobox, apparatus and markers."""
    parts = [text[row.body : row.end] for row in sections(text) if row.level in (0, 2) and row.heading not in APPARATUS]
    plain = _MARKER.sub("", "\n".join(parts))
    return "\n".join(line for line in plain.splitlines() if not _HEADING.match(line) and line != STUB)


def section_text(text: str) -> str:
    """The lead and the body sections with their markers, without headings."""
    parts = [text[row.body : row.end] for row in sections(text) if row.level in (0, 2) and row.heading not in APPARATUS]
    return "\n".join(parts)


def words(text: str) -> int:
    """Number of words."""
    return len(_WORDS.findall(text))


def is_stub(text: str) -> bool:
    """Whether an article is too thin to be one."""
    rows = body_sections(text)
    return len(rows) < STUB_SECTIONS or sum(words(without_markers(text[row.body : row.end])) for row in rows) < STUB_WORDS


def cited(sentence: str, numbers: Iterable[int]) -> str:
    """A sentence with its markers."""
    return sentence + "".join(f"[^{number}]" for number in numbers)


def note_line(number: int, source: Source) -> str:
    """A footnote."""
    about = ", ".join(part for part in (source.date, source.who) if part)
    return f"[^{number}]: `conv:{source.conv}`{f' ({about})' if about else ''} - `{source.path}`"


def numbered(known: Mapping[int, Source], sources: Iterable[Source]) -> dict[str, int]:
    """Path → number: those that are cited already keep theirs, new ones take the next."""
    numbers = {source.path: number for number, source in known.items()}
    last = max(known, default=0)
    for source in sources:
        if source.path not in numbers:
            last += 1
            numbers[source.path] = last
    return numbers


def assembled(
    title: str, info: Mapping[str, str], lead: str, parts: Sequence[tuple[str, str]], see_also: Sequence[str],
    sources: Mapping[int, Source], groups: Sequence[str] = (),
) -> str:  # fmt: skip
    """A new article."""
    blocks = [f"# {title}\n", rendered_infobox(info), lead.strip() + "\n"]
    blocks += [f"## {heading}\n\n{body.strip()}\n" for heading, body in parts]
    if see_also:
        blocks.append(f"## {SEE_ALSO}\n\n" + "".join(f"- [[{name}]]\n" for name in see_also))
    lines = "".join(note_line(number, source) + "\n" for number, source in sorted(sources.items()))
    blocks.append(f"## {REFERENCES}\n\n{lines}")
    if groups:
        blocks.append(f"*Categories: {' · '.join(groups)}*\n")
    text = "\n".join(blocks)
    return marked(text)


def marked(text: str) -> str:
    """The text with the stub line, where it is one, and without it where it is none."""
    stands = f"\n{STUB}\n" in text
    if is_stub(text) == stands:
        return text
    if stands:
        return text.replace(f"\n{STUB}\n", "", 1)
    lead = sections(text)[0]
    return text[: lead.end].rstrip("\n") + f"\n\n{STUB}\n\n" + text[lead.end :]


def with_body(text: str, at: Section, body: str) -> str:
    """The text with another body in one section; every other byte stays."""
    return text[: at.body] + "\n" + body.strip("\n") + "\n" + ("\n" if at.end < len(text) else "") + text[at.end :]


def appended(text: str, at: Section, paragraphs: str) -> str:
    """The text with paragraphs at the end of a section, the bytes before them untouched."""
    end = at.body + len(text[at.body : at.end].rstrip("\n"))
    end = max(end, at.body)
    return text[:end] + ("\n\n" if text[at.body : end].strip() else "\n") + paragraphs.strip("\n") + "\n\n" + text[at.end :]


def inserted(text: str, heading: str, body: str) -> str:
    """The text with a new section before the history and the apparatus."""
    stop = next((row for row in sections(text) if row.level == 2 and row.heading in (HISTORY, *APPARATUS)), None)
    at = stop.start if stop and heading != HISTORY else next(
        (row.start for row in sections(text) if row.level == 2 and row.heading in APPARATUS), len(text)
    )  # fmt: skip
    lead = "" if text[:at].endswith("\n\n") or not at else "\n" if text[:at].endswith("\n") else "\n\n"
    return text[:at] + lead + f"## {heading}\n\n{body.strip()}\n\n" + text[at:]


def with_sources(text: str, numbers: Mapping[str, int], sources: Iterable[Source]) -> str:
    """The text with a footnote for each source that had none, at the end of the references."""
    known = {source.path for source in notes(text).values()}
    fresh = {source.path: source for source in sources if source.path not in known}
    lines = [note_line(numbers[path], source) for path, source in sorted(fresh.items(), key=lambda row: numbers[row[0]])]
    if not lines:
        return text
    place = next((row for row in sections(text) if row.level == 2 and row.heading == REFERENCES), None)
    if place is None:
        return text.rstrip("\n") + f"\n\n## {REFERENCES}\n\n" + "\n".join(lines) + "\n"
    last = max((row.end() for row in _NOTE.finditer(text)), default=0)
    if last > place.body:
        return text[:last] + "\n" + "\n".join(lines) + text[last:]
    return text[: place.body] + "\n" + "\n".join(lines) + "\n" + text[place.body :]


def with_see_also(text: str, names: Sequence[str]) -> str:
    """The text with these links in its See also, after those that stand there."""
    at = next((row for row in sections(text) if row.level == 2 and row.heading == SEE_ALSO), None)
    standing = re.findall(r"\[\[([^\]|#]+)", text[at.start : at.end]) if at else []
    fresh = [name for name in names if name not in standing]
    if not fresh:
        return text
    lines = "".join(f"- [[{name}]]\n" for name in fresh)
    if at:
        end = at.body + len(text[at.body : at.end].rstrip("\n"))
        return text[:end] + "\n" + lines + "\n" + text[at.end :]
    stop = next((row.start for row in sections(text) if row.level == 2 and row.heading in (NOTES, REFERENCES)), len(text))
    return text[:stop] + f"## {SEE_ALSO}\n\n{lines}\n" + text[stop:]


def _headings(text: str) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    at, fence = 0, Fence()
    for line in text.splitlines(keepends=True):
        if not fence.takes(line) and (match := _HEADING.match(line.rstrip("\r\n"))):
            found.append((at, len(match[1]), match[2].strip()))
        at += len(line)
    return found


def _lead_start(text: str) -> int:
    match = _INFO.search(text)
    if match:
        return match.end()
    first = next((at for at, level, _ in _headings(text) if level == 1), None)
    if first is None:
        return 0
    line = text.find("\n", first)
    return len(text) if line < 0 else line + 1


def fence_open(text: str) -> bool:
    """Whether a code fence is left open."""
    fence = Fence()
    for line in text.splitlines():
        fence.takes(line)
    return fence.open
