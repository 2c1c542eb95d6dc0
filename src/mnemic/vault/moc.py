"""Maps of content: one list of cards for each domain folder, kept inside marked regions; all around them is a person's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mnemic.vault.links import stem

BEGIN, END = b"<!-- mnemic:begin -->", b"<!-- mnemic:end -->"
_REGION = re.compile(re.escape(BEGIN) + b".*?" + re.escape(END), re.DOTALL)
_NOTE = b"<!-- mnemic keeps the list between these two marks; what you write around them is yours. -->"


def moc_of(path: str) -> str | None:
    """The map that lists a card; none for what is not in a domain folder."""
    parts = path.split("/")
    return f"moc/{parts[1]}.md" if parts[0] == "cards" and len(parts) > 2 else None


def folder_of(moc: str) -> str:
    """The domain folder that a map lists."""
    return f"cards/{stem(moc.removeprefix('moc/'))}"


def region(rows: Sequence[tuple[str, str, str]], ambiguous: set[str]) -> bytes:
    """The list for (path, name, description) rows in order; a name that others bear too is linked by its path."""
    lines = []
    for path, name, description in rows:
        link = f"{stem(path)}|{name}" if path in ambiguous else name
        lines.append(f"- [[{link}]]" + (f": {' '.join(description.split())}" if description else ""))
    return "\n".join(lines).encode()


def placed(data: bytes, inside: bytes, title: str) -> bytes:
    """A map with `inside` in its region. Without a region it is added at the end; an empty file gets a heading."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    block = BEGIN + newline + (inside.replace(b"\n", newline) + newline if inside else b"") + END
    if match := _REGION.search(data):
        return data[: match.start()] + block + data[match.end() :]
    if data.strip():
        return data + (b"" if data.endswith(newline) else newline) + newline + block + newline
    return b"# " + title.encode() + newline * 2 + _NOTE + newline * 2 + block + newline


def own_text(data: bytes) -> bytes:
    """What a person wrote in a map: without the lists and the note about them."""
    return _REGION.sub(b"", data).replace(_NOTE, b"")
