"""What a document said before: its texts as the entries of the ledger name them, and what each entry changed.

An entry keeps the row from before and after, and a row names its text and the digest of it. A text that is not what its row
says is not shown; one that was erased is gone here too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.errors import Damaged, NotFound
from mnemic.ledger.chain import changes_of
from mnemic.ledger.record import digest, shown
from mnemic.ledger.served import NEXT
from mnemic.models.document import Document
from mnemic.models.event import Event, Row
from mnemic.store import Store

MOST = 1_000
"""Entries of one document that are looked through."""
LINES = 5_000
"""Lines of a text that are compared; of a longer one the rest is left out of the diff."""


@dataclass(frozen=True, slots=True)
class Revision:
    """An entry that changed what a document says: its row before and after."""

    event: Event
    before: Row | None
    after: Row | None

    def json(self) -> dict[str, Any]:
        row = shown(self.event)
        told = {key: row[key] for key in ("seq", "at", "op", "actor", "origin", "reason")}
        return {**told, "title": (self.after or self.before or {}).get("title"), "gone": self.after is None}


def revisions(store: Store, ns: str, document: Document) -> list[Revision]:
    """The entries that changed a document's text, the latest first."""
    events = store.events(ns, object=f"document:{document.id}", limit=MOST, newest=True)
    return [one for event in events for one in _changed(event, document.id)]


def compared(store: Store, ns: str, document: Document, found: Sequence[Revision], seq: int) -> dict[str, Any]:
    """One of a document's revisions with its text, and as a unified diff what it changed. Raises NotFound, Damaged."""
    one = next((each for each in found if each.event.seq == seq), None)
    if one is None:
        raise NotFound(f"entry {seq} did not change the text of {document.path!r}: see its revisions")
    bodies = store.document_texts(ns, document.id, document.shelf)
    was, now = (_text(bodies, row, document.path) for row in (one.before, one.after))
    old, new = ((text or "").splitlines()[:LINES] for text in (was, now))
    lines = difflib.unified_diff(old, new, "before", "after", lineterm="")
    erased = (one.before is not None and was is None) or (one.after is not None and now is None)
    return {**one.json(), "text": now, "diff": "\n".join(lines), "erased": erased}


def _changed(event: Event, document: int) -> Iterator[Revision]:
    if event.payload is None:
        return
    rows: list[tuple[Row | None, Row | None]] = [
        (change.before, change.after) for change in changes_of(event.payload)
        if change.table == "documents" and (change.after or change.before or {}).get("id") == document
    ]  # fmt: skip
    before = next((row for row, _ in rows if row), None)
    after = next((row for _, row in reversed(rows) if row), None)
    if rows and (before or {}).get("digest") != (after or {}).get("digest"):
        yield Revision(event, before, after)


def _text(bodies: dict[int, str], row: Row | None, path: str) -> str | None:
    text = bodies.get(row["text_id"]) if row and row["text_id"] is not None else None
    if text is not None and row is not None and digest(text) != row["digest"]:
        raise Damaged(f"an earlier text of {path!r} is not what was recorded: {NEXT}")
    return text
