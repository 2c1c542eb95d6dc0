"""What recall is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mnemic.clock import iso


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The three bounds of an answer (000 §4; the numbers: digest §1.10)."""

    nodes: int = 6
    chars: int = 4_000
    node_chars: int = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which memories may answer. Everything that is not said is not narrowed."""

    within: str | None = None
    """A path: only it and what lies below it."""
    documents: frozenset[str] | None = None
    """The paths of documents: only these and what lies in them."""
    context: str | None = None
    kinds: tuple[str, ...] = ()
    """Kinds of node (message, section, …) or of document (exchange, note, …); empty means all."""
    since: int | None = None
    """Created at or after, in ms."""
    until: int | None = None
    """Created before, in ms."""
    as_of: int | None = None
    """Known at that moment, in ms: neither recorded later nor forgotten by then."""
    tiers: frozenset[str] | None = None
    """Of these tiers only; `None`: of those that the mode asks."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled node and the numbers that put it there."""

    path: str
    kind: str
    title: str
    text: str
    score: float
    signals: Mapping[str, float]
    session: str | None
    created_at: int
    tier: str
    shelf: str
    origin: str
    speaker: str = ""

    def json(self) -> dict[str, Any]:
        row = asdict(self)
        row["score"] = round(self.score, 6)
        row["signals"] = {name: round(value, 6) for name, value in self.signals.items()}
        row["created_at"] = iso(self.created_at)
        return row


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a path was not returned: the stage it fell at and what it lacked."""

    path: str
    stage: str
    detail: str
    signals: Mapping[str, float] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What recall answers. It never raises for what a query contains: it says why it is empty."""

    hits: tuple[Hit, ...] = ()
    omitted: int = 0
    """Good hits that did not fit the budgets."""
    reason: str | None = None
    """Why there are no hits, or what the reader should know about them."""
    degraded: tuple[str, ...] = ()
    """Every signal that was missing, in words."""
    embedder: str
    scoring: str
    why_not: tuple[WhyNot, ...] = ()
    frame: str | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds spent by stage."""

    def json(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "hits": [hit.json() for hit in self.hits],
            "omitted": self.omitted,
            "reason": self.reason,
            "degraded": list(self.degraded),
            "embedder": self.embedder,
            "scoring": self.scoring,
        }
        if self.why_not:
            row["why_not"] = [item.json() for item in self.why_not]
        if self.frame is not None:
            row["frame"] = self.frame
        return row
