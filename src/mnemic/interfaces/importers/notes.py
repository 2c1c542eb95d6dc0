"""Folders of notes: an Obsidian vault, any Markdown, and the rows of mem0.

A note keeps its text whole, frontmatter and links included, and is known by its place in the folder: what was changed
since the last import is a revision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mnemic.errors import BadInput
from mnemic.interfaces.importers.files import File, Source
from mnemic.interfaces.importers.items import Graph, Item, Page, Skipped
from mnemic.interfaces.importers.records import read
from mnemic.interfaces.importers.values import moment, rows, text, word

MOST_BYTES = 40_000_000
"""Of one note."""
MOST_GRAPH = 200_000_000
"""Bytes of a server-memory file: a graph is taken in as a whole."""
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_TIMES = ("created", "created_at", "date", "date created", "created-at", "creation_date")


def obsidian(source: Source) -> Iterator[Item]:
    """The notes of a vault, titled as its links name them."""
    for file in source.named(".md"):
        yield from _note(file, f"obsidian:{source.name}/{file.name}", by_name=True)


def markdown(source: Source) -> Iterator[Item]:
    """Markdown and text files, titled by frontmatter, first heading or name; so CLAUDE.md, AGENTS.md and their like."""
    for file in source.named(".md", ".markdown", ".txt"):
        yield from _note(file, f"markdown:{source.name}/{file.name}" if not source.single else f"markdown:{file.name}")


def _note(file: File, key: str, *, by_name: bool = False) -> Iterator[Item]:
    from mnemic.vault import frontmatter

    try:
        body = file.text(MOST_BYTES)
    except OSError as error:
        yield Skipped(file.name, f"it cannot be read ({error})")
        return
    try:
        head = frontmatter.read(body.encode("utf-8", "replace")) if body.startswith("---") else {}
    except BadInput:
        head = {}  # the note's words count, however its head is written
    heading = None if by_name else _HEADING.search(body)
    title = text(head.get("title")) or (heading[1] if heading else file.path.stem)
    at = next((found for name in _TIMES if (found := moment(head.get(name)))), file.modified)
    yield Page(where=file.name, text=body, title=title, kind="file", source=key, at=at)


def mem0(source: Source) -> Iterator[Item]:
    """What mem0's `get_all` or its REST server answers: `{"results": [...]}`, an array, or lines."""
    for file in source.named(".json", ".jsonl", ".ndjson"):
        for record in read(file):
            if isinstance(record, Skipped):
                yield record
                continue
            value = record.value
            inner = value.get("results") if isinstance(value, dict) else None
            for number, row in enumerate(rows(inner) if isinstance(inner, list) else [value], 1):
                place = f"{record.where}, row {number}" if inner is not None else record.where
                yield _memory(row, place)


def _memory(row: Any, where: str) -> Item:
    body = (text(row.get("memory")) or text(row.get("data"))) if isinstance(row, dict) else ""
    key = word(row.get("id")) if isinstance(row, dict) else ""
    if not body or not key:
        return Skipped(where, "it has no 'id' and 'memory'")
    owner = next((word(row.get(name)) for name in ("user_id", "agent_id", "run_id") if word(row.get(name))), "")
    at = moment(row.get("created_at")) or moment(row.get("updated_at"))
    return Page(where=where, text=body, source=f"mem0:{key}", context=owner, at=at)


def server_memory(source: Source) -> Iterator[Item]:
    """The JSON lines of the MCP server "server-memory"."""
    for file in source.named(".jsonl", ".json"):
        try:
            yield Graph(where=file.name, lines=file.text(MOST_GRAPH).split("\n"))
        except OSError as error:
            yield Skipped(file.name, f"it cannot be read ({error})")
