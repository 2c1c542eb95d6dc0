"""The `## History` of a card: what happened to it, one line an entry. Several agents write there, and each only appends."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mnemic.text.fences import Fence

_HEADING = re.compile(rb" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*\Z")
TITLE = b"history"


def appended(data: bytes, entry: str) -> bytes:
    """A note with one more line in its History."""
    return extended(data, [b"- " + " ".join(entry.split()).encode("utf-8", "replace")])


def extended(data: bytes, lines: Sequence[bytes]) -> bytes:
    """A note with lines at the end of its first History, which is made at the note's end if there is none."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    more = b"".join([line + newline for line in lines])
    found = _sections(data)
    if not found:
        gap = b"" if not data or data.endswith((newline * 2, b"---" + newline)) else newline
        return data + (b"" if not data or data.endswith(b"\n") else newline) + gap + b"## History" + newline * 2 + more
    start, end = found[0]
    written = data[start:end].rstrip()
    kept = start + len(written)
    if not written:
        return data[:start] + newline + more + data[start:]
    blank = data[kept:end].partition(b"\n")[2]
    return data[:kept] + newline + more + blank + data[end:]


def only_appended(before: bytes, after: bytes) -> bool:
    """Whether every History that was there still begins as it was."""
    old = [before[start:end].rstrip() for start, end in _sections(before)]
    new = [after[start:end].rstrip() + b"\n" for start, end in _sections(after)]
    if len(new) < len(old):
        return False
    return all(not was or now.startswith((was + b"\n", was + b"\r\n")) for was, now in zip(old, new, strict=False))


def _sections(data: bytes) -> list[tuple[int, int]]:
    """Where the text below each History heading begins and ends; headings in code are none."""
    found: list[tuple[int, int]] = []
    at, fence, begun = 0, Fence(), -1
    for line in data.splitlines(keepends=True):
        text = line.rstrip(b"\r\n")
        heading = None if fence.takes(text.decode("latin-1")) else _HEADING.match(text)
        if heading and len(heading[1]) <= 2:
            if begun >= 0:
                found.append((begun, at))
            begun = at + len(line) if heading[2].strip().lower() == TITLE else -1
        at += len(line)
    return [*found, (begun, at)] if begun >= 0 else found
