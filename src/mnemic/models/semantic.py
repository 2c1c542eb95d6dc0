"""What memory holds about the user: diary entries, facts and concerns, one value a row of truth.

Facts and concerns stand on two time axes. `valid_from` and `valid_to` say when something held in the world;
`recorded_at` and `retired_at` say from when to when this revision was what memory knew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.clock import iso
from mnemic.models.event import Origin

CATEGORIES = (
    "identity", "preference", "communication", "habit", "thinking", "value", "delegation", "background", "other",
)  # fmt: skip
DIARY_KINDS = ("said", "delegated", "promised", "happened", "preference", "other")
CONCERN_KINDS = ("todo", "thinking", "idea", "question", "decision", "commitment", "other")
CONCERN_STATUSES = ("ongoing", "concluded", "recurring", "paused")

CURRENT = ("current", "provisional")
"""A fact that holds; a provisional one is due for a check at `check_by`."""
WAITING = ("claimed", "conflict", "quarantined", "parked")
"""Not a fact until a person decides: the agent's claim, what contradicts a locked or higher fact, what was read
somewhere, and what the extractor was unsure of."""
PAST = ("superseded", "ended", "settled", "rejected", "deleted")
"""What held once, and (settled) what waited until a person's word answered it, was turned down or taken out."""
FACT_STATUSES = (*CURRENT, *WAITING, *PAST)
HELD = ("claimed", "quarantined")
"""A concern that waits for a person."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One diary entry: raw, never changed but for the mark that it was extracted."""

    id: int
    kind: str
    content: str
    session: str | None
    tags: str
    context: str
    origin: Origin
    at: int
    """When it was said or happened."""
    recorded_at: int
    extracted_at: int | None
    extraction: int | None
    """The extraction that used it; null with `extracted_at` set: a person cleared it."""

    def json(self) -> dict[str, Any]:
        return {
            "id": self.id, "revision": 1, "status": "pending" if self.extracted_at is None else "extracted",
            "kind": self.kind, "content": self.content, "session": self.session, "tags": json.loads(self.tags),
            "trust": None, "origin": self.origin, "context": self.context, "valid_from": None, "valid_to": None,
            "corroboration": None, "sources": None, "at": iso(self.at), "recorded_at": iso(self.recorded_at),
            "extracted": self.extracted_at is not None, "extraction": self.extraction,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """One revision of what is so about the user."""

    id: int
    revision: int
    category: str
    key: str
    """As it was first written."""
    slot: str
    """The key by which values replace each other: case, width and blanks do not count."""
    value: str
    status: str
    origin: Origin
    context: str
    locked: int
    corroboration: int
    sources: str
    valid_from: int
    valid_to: int | None
    affirmed_at: int
    """The last time at which it was said to hold (or to have ended): what was said before cannot replace it."""
    recorded_at: int
    retired_at: int | None
    check_by: int | None
    supersedes: int | None
    superseded_by: int | None
    rival: int | None
    """The fact that it contradicts."""
    approved: str | None
    """The seal of what a person was shown when approving it."""
    approved_by: str | None
    why: str

    @property
    def cited(self) -> tuple[int, ...]:
        return tuple(json.loads(self.sources))

    @property
    def trust(self) -> float | None:
        """(n + 1) / (n + 2) for n corroborations of a current fact; an agent's claim stays at 0.5 however often repeated."""
        if self.status == "claimed":
            return 0.5
        return round((self.corroboration + 1) / (self.corroboration + 2), 3) if self.status in CURRENT else None

    def due(self, now: int) -> bool:
        return self.status == "provisional" and self.check_by is not None and self.check_by <= now

    def json(self, now: int) -> dict[str, Any]:
        return {
            "id": self.id, "revision": self.revision, "category": self.category, "key": self.key, "value": self.value,
            "status": self.status, "trust": self.trust, "origin": self.origin, "context": self.context,
            **_times(self), "corroboration": self.corroboration, "sources": list(self.cited),
            "locked": bool(self.locked), "check_by": iso(self.check_by), "due": self.due(now),
            "supersedes": self.supersedes, "superseded_by": self.superseded_by, "conflicts_with": self.rival,
            "approved": self.approved, "approved_by": self.approved_by, "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Concern:
    """One revision of what the user has open; a mention of one hangs under it."""

    id: int
    revision: int
    parent: int | None
    kind: str
    title: str
    slot: str
    background: str
    status: str
    origin: Origin
    context: str
    corroboration: int
    sources: str
    valid_from: int
    valid_to: int | None
    affirmed_at: int
    recorded_at: int
    retired_at: int | None
    approved: str | None
    approved_by: str | None
    why: str

    @property
    def cited(self) -> tuple[int, ...]:
        return tuple(json.loads(self.sources))

    def json(self) -> dict[str, Any]:
        return {
            "id": self.id, "revision": self.revision, "parent": self.parent, "kind": self.kind, "title": self.title,
            "background": self.background, "status": self.status, "trust": None, "origin": self.origin,
            "context": self.context, **_times(self), "corroboration": self.corroboration,
            "sources": list(self.cited), "approved": self.approved, "approved_by": self.approved_by, "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Extraction:
    """One run that turned diary entries into facts and concerns."""

    id: int
    trigger: str
    """manual or auto."""
    summary: str
    produced: str
    diary_count: int
    origin: Origin
    recorded_at: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one proposal."""

    what: str
    """fact or concern."""
    status: str
    """stored, superseded, corroborated, past, ended, conflict, claimed, quarantined, parked, status, mention, duplicate
    or rejected."""
    id: int | None = None
    revision: int | None = None
    seq: int | None = None
    """The ledger entry; what `undo` takes."""
    reason: str | None = None

    def json(self) -> dict[str, Any]:
        return {
            "what": self.what, "status": self.status, "id": self.id, "revision": self.revision, "seq": self.seq,
            "reason": self.reason,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """What an agent should know before it is asked anything."""

    text: str
    frame: str
    facts: Sequence[Mapping[str, Any]]
    concerns: Sequence[Mapping[str, Any]]
    claimed: Sequence[Mapping[str, Any]]
    """What the agent said about the user and nobody confirmed."""
    omitted: int
    tokens: int
    degraded: Sequence[str]
    """What was left out because it is not what was recorded."""

    def json(self) -> dict[str, Any]:
        return {
            "text": self.text, "frame": self.frame, "facts": list(self.facts), "concerns": list(self.concerns),
            "claimed": list(self.claimed), "omitted": self.omitted, "tokens": self.tokens,
            "degraded": list(self.degraded),
        }  # fmt: skip


def _times(row: Fact | Concern) -> dict[str, Any]:
    names = ("valid_from", "valid_to", "affirmed_at", "recorded_at", "retired_at")
    return {name: iso(getattr(row, name)) for name in names}
