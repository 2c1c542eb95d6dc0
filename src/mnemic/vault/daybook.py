"""The text of a daily note: a section of mnemic's own, a line for each memory, in a file that is a person's.

    <!-- mnemic:daily -->
    - 14:02 [Where does Ada like to sit?](/sessions/chat-7/0)
      - **assistant**: At the window.
    <!-- mnemic:end -->

Only lines that are recognisably mnemic's are ever taken out or put in another's place; whatever else stands there,
between them as well, is a person's and is remembered as theirs. What mnemic mirrors is in memory already, so it is
left out of what memory takes from the file. Pure work on bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from mnemic.clock import DAY_MS, from_ms, to_ms

FOLDER = "daily"
BEGIN, END = "<!-- mnemic:daily -->", "<!-- mnemic:end -->"
QUOTE_CHARS = 280
_FILE = re.compile(rf"{FOLDER}/(\d{{4}}-\d\d-\d\d)\.md")
_HEADER = re.compile(r"- \d\d:\d\d .*\]\((/[^()\s]+)\)[^()]*")
_TALLY = re.compile(r"- \d\d:\d\d [\d,]+ \w+ of \d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?: \[.*\]\([^()\s]+\)[^()]*")
_UNDER = re.compile(r"  - \*\*[^*]+\*\*: .*")
_SUMMED = re.compile(r"- .* → (?:\[\[[^\[\]]+\]\]|\[[^\[\]]*\]\((/[^()\s]+)\))")
_TOLD = re.compile(r"- Compressed on \d{4}-\d\d-\d\d from [\d,]+ bytes.*")
_MARKUP = re.compile(r"[\\`\[\]<>#*|]")
_ESCAPED = re.compile(r"\\([\\`\[\]<>#*|])")


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as the note shows it."""

    path: str
    """Of its document, or of its session where several are told at once."""
    ids: tuple[int, ...]
    """Its documents."""
    lines: tuple[str, ...]
    earlier: tuple[tuple[str, ...], ...] = ()
    """What it looked like while it was shorter: such lines are replaced."""
    tally: bool = False
    """Whether it counts several memories: the line with the count before is replaced."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a note, with its line end."""

    text: str
    ours: bool
    path: str | None = None
    """The memory it tells of."""
    head: bool = False
    """Whether it begins an entry."""

    @property
    def plain(self) -> str:
        return self.text.rstrip("\r\n")


def day_of(path: str) -> date | None:
    """The day of a daily note's file; None for any other file."""
    match = _FILE.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def file_of(day: date) -> str:
    """The file of a day's note."""
    return f"{FOLDER}/{day.isoformat()}.md"


def zone(name: str) -> tzinfo:
    """A time zone by its IANA name."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def span(day: date, timezone: str) -> tuple[int, int]:
    """A day from its midnight up to the next one, in ms; 23 to 25 hours."""
    where = zone(timezone)
    begin = _midnight(day, where)
    return begin, _midnight(day + timedelta(days=1), where) if day < date.max else begin + DAY_MS


def _midnight(day: date, where: tzinfo) -> int:
    try:
        return to_ms(datetime.combine(day, time(), where).astimezone(UTC))
    except OverflowError:  # the first and the last day that a calendar has
        return to_ms(datetime.combine(day, time(), UTC))


def day_at(ms: int, timezone: str) -> date:
    """The day that a moment falls into."""
    return from_ms(ms).astimezone(zone(timezone)).date()


def clock_at(ms: int, timezone: str) -> str:
    """The time of day of a moment, e.g. `14:02`."""
    return from_ms(ms).astimezone(zone(timezone)).strftime("%H:%M")


def shown(text: str, limit: int = QUOTE_CHARS) -> str:
    """A memory's words on one line of a note: nothing in them is a link, a tag, a mark of ours or HTML."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(words) > limit:
        cut = words.rfind(" ", limit // 2, limit)
        words = words[: cut if cut > 0 else limit] + "…"
    return _MARKUP.sub(lambda match: "\\" + match[0], words)


def lines_of(data: bytes) -> list[Line]:
    """The lines of a note, and which of them are mnemic's. Bytes that are no UTF-8 stay as they are."""
    found: list[Line] = []
    inside = under = False
    for text in _split(data.decode("utf-8", "surrogateescape")):
        plain = text.rstrip("\r\n")
        mark = plain.strip() in (BEGIN, END) and (plain.strip() == BEGIN) != inside
        if mark:
            inside, under = not inside, False
            found.append(Line(text, True))
            continue
        match = (_HEADER.fullmatch(plain) or _SUMMED.fullmatch(plain)) if inside else None
        if match:
            under = True
            found.append(Line(text, True, match[1], head=True))
        elif inside and ((under and _UNDER.fullmatch(plain)) or _TOLD.fullmatch(plain)):
            found.append(Line(text, True))
        else:
            under = False
            found.append(Line(text, False))
    return found


def own_text(data: bytes) -> bytes:
    """What a person wrote: a note without mnemic's lines and marks."""
    if BEGIN.encode() not in data:
        return data
    return _joined(line for line in lines_of(data) if not line.ours)


def mirrored(data: bytes) -> list[str]:
    """mnemic's lines of a note, without its marks, and their words as they were."""
    ours = [line.plain for line in lines_of(data) if line.ours and line.plain.strip() not in (BEGIN, END)]
    return [_ESCAPED.sub(r"\1", line) for line in ours]


def paths_in(data: bytes) -> set[str]:
    """The memories that mnemic's lines tell of."""
    return {line.path for line in lines_of(data) if line.path}


def placed(data: bytes, entries: Sequence[Entry], dead: Collection[str], redo: Collection[str], fresh: Set[int]) -> bytes:
    """A note brought up to date: entries of `dead` paths out, grown ones or those of `redo` anew, `fresh` ids added.

    `fresh` names the documents that may be added; an entry whose path is there is not.
    """
    newline = "\r\n" if b"\r\n" in data else "\n"
    by_path = {entry.path: entry for entry in entries}
    kept: list[str] = []
    there: set[str] = set()
    for block in _blocks(lines_of(data)):
        path, plain = block[0].path, tuple(line.plain for line in block)
        entry = by_path.get(path) if path else None
        if path and (path in dead or (path in redo and entry is None)):
            continue
        if path:
            there.add(path)
        if entry and plain != entry.lines and (path in redo or _outgrown(plain, entry)):
            kept += [line + newline for line in entry.lines]
        else:
            kept += [line.text for line in block]
    new = [line + newline for entry in entries if entry.path not in there and fresh & set(entry.ids) for line in entry.lines]
    return "".join(_added(kept, new, newline)).encode("utf-8", "surrogateescape")


def _outgrown(lines: tuple[str, ...], entry: Entry) -> bool:
    """Whether mnemic wrote these lines of an entry when there was less of it; a person's hand on them shows."""
    return lines in entry.earlier or (entry.tally and len(lines) == 1 and _TALLY.fullmatch(lines[0]) is not None)


def _added(kept: list[str], new: list[str], newline: str) -> list[str]:
    """Lines added to the end of the section, which is made at the end of the note where there is none."""
    if not new:
        return kept
    begin = next((place for place, line in enumerate(kept) if line.strip() == BEGIN), None)
    end = next((place for place, line in enumerate(kept) if begin is not None and place > begin and line.strip() == END), None)
    if end is not None:
        return [*kept[:end], *new, *kept[end:]]
    if kept and not kept[-1].endswith(("\n", "\r")):
        kept = [*kept[:-1], kept[-1] + newline]
    gap = [newline] if kept and kept[-1].strip() else []
    return [*kept, *gap, BEGIN + newline, *new, END + newline]


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines by entry: its first with those under it; every other line by itself."""
    block: list[Line] = []
    for line in lines:
        if block and line.ours and line.path is None and _UNDER.fullmatch(line.plain):
            block.append(line)
            continue
        if block:
            yield block
        block = [line] if line.head and line.path else []
        if not block:
            yield [line]
    if block:
        yield block


def _split(text: str) -> list[str]:
    """Lines with their ends, where only line feeds end one."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _joined(lines: Iterator[Line]) -> bytes:
    return "".join(line.text for line in lines).encode("utf-8", "surrogateescape")

