"""What memory holds: sessions and their messages, documents, and the nodes of their trees.

Instants are milliseconds since 1970 UTC. A node's `start`, `end` and `reach` count code points in the text
that `text_id` names: the text itself is stored once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DocumentKind = Literal["exchange", "note", "file", "card", "article", "daily", "summary"]
Tier = Literal["core", "active", "warm", "cold", "archive"]
Shelf = Literal["hot", "warm", "cold"]
SHELVES: tuple[Shelf, ...] = ("hot", "warm", "cold")
IndexState = Literal["pending", "indexed", "failed"]


@dataclass(frozen=True, slots=True)
class Document:
    """A thing with a path."""

    id: int
    path: str
    kind: str
    title: str
    context: str
    origin: str
    importance: float
    """0..1, set when written."""
    session: str | None
    text_id: int | None
    """The text it consists of; `None` for an exchange, whose messages bear the text."""
    digest: str
    """SHA-256 of the text, or of the messages' digests; what makes a duplicate recognisable."""
    source: str | None
    """Where it was read from, e.g. a file URI; a second reading of the same source is a revision."""
    created_at: int
    recorded_at: int
    shelf: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of one speaker."""

    session: str
    seq: int
    """Place in the session: 1, 2, 3, …"""
    document: int
    role: str
    name: str
    """The speaker's name, empty where the role says it all."""
    text_id: int
    digest: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a document's tree, as stored."""

    id: int
    document: int
    parent: int | None
    path: str
    """Unique in the namespace: the document's path, then the node's own."""
    kind: str
    title: str
    text_id: int | None
    start: int
    end: int
    reach: int
    """text[start:reach] is what the node is found by."""
    message: int | None
    """The `seq` of the message it lies in, in a conversation."""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message on its way in: what a client hands to capture."""

    role: str
    content: str
    name: str = ""
    created_at: int | None = None
    session: str | None = None
