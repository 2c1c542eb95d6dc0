"""What a reader of a foreign format finds, before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from mnemic.models.document import Turn

Ms = int | None
"""Milliseconds since 1970 UTC, or nothing told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation, or the next piece of one: pieces of one session follow each other."""

    where: str
    """File and record, as the report names it."""
    session: str
    """Its name in memory, the same whenever it is read; empty where the record has none of its own."""
    turns: list[Turn]
    title: str = ""
    context: str = ""
    at: Ms = None
    """When it was, for turns that do not say."""
    left_out: int = 0
    """Messages that nobody said: tool calls, instructions, what a host put in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A text that stands for itself."""

    where: str
    text: str
    title: str = ""
    kind: str = "note"
    context: str = ""
    source: str | None = None
    """What it is recognised by; a changed text of the same source is a revision."""
    at: Ms = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The lines of a server-memory file."""

    where: str
    lines: Iterable[str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was seen and not taken in."""

    where: str
    why: str
    broken: bool = True
    """Whether it should have been readable; false for what is no memory by its kind."""


Item = Conversation | Page | Graph | Skipped


@dataclass(slots=True, kw_only=True)
class Counts:
    """What became of what was read."""

    messages: int = 0
    stored: int = 0
    """Exchanges and pages that were new."""
    duplicate: int = 0
    rejected: int = 0
    left_out: int = 0
    redacted: int = 0

    def add(self, other: Counts) -> None:
        """Count these too."""
        for one in fields(Counts):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(slots=True, kw_only=True)
class Row(Counts):
    """What became of one conversation or page, as the report tells it."""

    where: str
    kind: str
    name: str
    title: str = ""
    known: bool = False
    """Whether memory had something under this name before."""
    since: Ms = None
    until: Ms = None


@dataclass(slots=True, kw_only=True)
class Totals(Counts):
    """What became of an import."""

    format: str
    dry_run: bool
    conversations: int = 0
    pages: int = 0
    broken: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    """The first of what was not taken in; `broken` counts all that should have been readable."""
    indexed: int = 0
    reason: str | None = None
    """Why vectors do not follow yet, if so."""
