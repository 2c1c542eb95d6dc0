"""What a night does, in order. The dream makes articles; chores of other parts of memory are lent to it and go before or after.

A chore that changes what is known hands over drafts: they are recorded with the dream, in its transaction, as its parts,
and undoing the dream undoes them. One that only moves or derives (decay, rotation, edges, maps) does so at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mnemic.models.event import Draft

BEFORE = ("decay", "rotate", "dedupe", "edges", "pyramid", "facts")
"""Chores that come before the articles."""
ARTICLES = (
    "ingest", "chunk", "worth", "extract", "route", "create", "update", "reconcile", "link", "normalise", "wikify", "signals",
    "maps",
)  # fmt: skip
AFTER = ("audit",)
STAGES = (*BEFORE, *ARTICLES, *AFTER, "commit")


@dataclass(frozen=True, slots=True)
class Done:
    """What a chore did."""

    taken: int = 0
    given: int = 0
    rejected: int = 0
    drafts: tuple[Draft, ...] = ()
    """To be recorded with the dream."""
    parts: tuple[int, ...] = ()
    """Entries that were recorded already, to be undone with the dream."""
    findings: tuple[Mapping[str, Any], ...] = ()
    """What an audit found."""


Chore = Callable[[bool], Done]
"""Told whether nothing may be changed. Raises MnemicError: then the night goes on without it, but for a StoreError."""


@dataclass(slots=True)
class Tally:
    """What a stage did."""

    name: str
    taken: int = 0
    given: int = 0
    rejected: int = 0
    seconds: float = 0.0

    def json(self) -> dict[str, Any]:
        return {"name": self.name, "in": self.taken, "out": self.given, "rejected": self.rejected,
                "seconds": round(self.seconds, 3)}  # fmt: skip
