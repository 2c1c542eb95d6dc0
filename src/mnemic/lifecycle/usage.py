"""When each document was last used, and how: the truth that tiers are derived from.

A document without a row was last used when it was recorded. Only a use makes a row: opening, citing, naming, a change of it
by a person's word; being listed or recalled is none (decisions.md). A tier is never stored but where a person set it.
A use of a record of what is known is one of the documents behind it (behind.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from mnemic.clock import DAY_MS, Clock, iso, to_ms
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.ledger import Ledger
from mnemic.lifecycle.behind import behind, document_at
from mnemic.lifecycle.curve import days_between, relevance, tier_of, touched
from mnemic.models.document import Document
from mnemic.models.event import Actor, Change, Draft
from mnemic.settings import DecaySettings
from mnemic.store import Store, batches

TIERS = ("core", "active", "warm", "cold", "archive")


@dataclass(frozen=True, slots=True)
class Usage:
    """A row of truth: the use of one document."""

    document: int
    last_accessed: int
    """From when its age counts, in ms: a touch of an old one sets it back to the middle of the next tier."""
    access_count: int
    tier: str | None
    """`core` where a person said so."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a document stands on the curve."""

    tier: str
    relevance: float
    last_accessed: int
    access_count: int

    def json(self) -> dict[str, Any]:
        return {"tier": self.tier, "relevance": round(self.relevance, 4), "last_accessed": iso(self.last_accessed),
                "access_count": self.access_count}  # fmt: skip


class Usages:
    """Tiers and touches of one home."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock, settings: DecaySettings) -> None:
        self._store, self._ledger, self._clock, self._settings = store, ledger, clock, settings

    def standing(self, ns: str, document: Document) -> Standing:
        """Where a document stands now. What was forgotten is in the archive."""
        usage = _usage(document, self._store.row(ns, "usage", (document.id,)))
        return self._standing(document, usage, self._hidden(ns, document.path))

    def touch(self, ns: str, path: str, *, actor: Actor = "user", reason: str = "") -> dict[str, Any]:
        """A use of a document or of a part of it: one tier up. Raises NotFound, Refused for what was forgotten."""
        document = self._document(ns, path)
        if self._hidden(ns, document.path):
            raise Refused(f"{document.path!r} was forgotten: `mnemic undo` of that entry brings it back")
        with self._store.write(ns) as tx:
            row = tx.row("usage", (document.id,))
            before = _usage(document, row)
            was = self._standing(document, before, False)
            now, curve = self._now(), self._settings.of(document.kind)
            back = 0 if was.tier == "core" else touched(days_between(was.last_accessed, now), curve)
            after = replace(before, last_accessed=now - back * DAY_MS, access_count=before.access_count + 1)
            event = self._ledger.record(tx, ns, self._draft("touch", document, row, after, actor, reason))
        self._ledger.committed(ns, event)
        done = self._standing(document, after, False)
        return {"path": path, "tier_before": was.tier, "tier_after": done.tier, "relevance": round(done.relevance, 4),
                "seq": event.seq}  # fmt: skip

    def touch_behind(self, ns: str, path: str, *, actor: Actor = "user", reason: str = "") -> list[dict[str, Any]]:
        """A use of a record such as `facts/3`: of every document behind it that was not forgotten."""
        documents = [document for document in behind(self._store, ns, path) if not self._hidden(ns, document.path)]
        return [self.touch(ns, document.path, actor=actor, reason=reason) for document in documents]

    def touched_today(self, ns: str, path: str) -> bool:
        """Whether the last entry about a document is a touch of this day (UTC): one naming a day is enough."""
        document = document_at(self._store, ns, path)
        name = f"document:{document.id}" if document else ""
        last = self._store.last_events(ns, [name]).get(name)
        return last is not None and last.op == "touch" and last.at // DAY_MS == self._now() // DAY_MS

    def set_tier(self, ns: str, path: str, tier: str, *, actor: Actor = "human", reason: str = "") -> dict[str, Any]:
        """`core`: never fades; `auto`: by last use again. Raises BadInput, NotFound."""
        if tier not in ("core", "auto"):
            raise BadInput(f"tier {tier!r} cannot be set: core or auto; the others follow from use")
        document = self._document(ns, path)
        with self._store.write(ns) as tx:
            row = tx.row("usage", (document.id,))
            before = _usage(document, row)
            after = replace(before, tier="core" if tier == "core" else None)
            hidden = self._hidden(ns, document.path)
            was, done = (self._standing(document, one, hidden) for one in (before, after))
            event = None
            if after != before:
                event = self._ledger.record(tx, ns, self._draft("tier", document, row, after, actor, reason))
        if event:
            self._ledger.committed(ns, event)
        return {"path": path, "tier_before": was.tier, "tier_after": done.tier, "relevance": round(done.relevance, 4),
                "seq": event.seq if event else None}  # fmt: skip

    def decay(self, ns: str, since: Mapping[str, str]) -> dict[str, Any]:
        """Where all documents stand: how many in each tier, the mean relevance, and which tiers differ from `since`."""
        used = {row["document"]: row for row in self._store.rows(ns, "usage")}
        forgotten = self._store.forgotten(ns)
        tiers, total, count = dict.fromkeys(TIERS, 0), 0.0, 0
        moved: list[dict[str, str]] = []
        stands: dict[str, str] = {}
        for batch in batches(self._store, ns, 1000):
            for document in batch:
                usage, hidden = _usage(document, used.get(document.id)), hidden_by(document.path, forgotten) is not None
                now = self._standing(document, usage, hidden)
                tiers[now.tier] += 1
                total, count = total + now.relevance, count + 1
                stands[str(document.id)] = now.tier
                before = since.get(str(document.id), "active")
                if before != now.tier:
                    moved.append({"path": document.path, "from": before, "to": now.tier})
        mean = round(total / count, 4) if count else None
        return {"documents": count, "tiers": tiers, "mean_relevance": mean, "moved": moved, "stands": stands}

    def _document(self, ns: str, path: str) -> Document:
        document = document_at(self._store, ns, path)
        if document is None:
            raise NotFound(f"nothing stands at {path!r}: see `mnemic tree`")
        return document

    def _standing(self, document: Document, usage: Usage, hidden: bool) -> Standing:
        used_at = max(usage.last_accessed, born(document))
        tier, left = stand(used_at, usage.tier, document.kind, self._now(), self._settings)
        return Standing("archive" if hidden else tier, left, used_at, usage.access_count)

    def _hidden(self, ns: str, path: str) -> bool:
        return hidden_by(path, self._store.forgotten(ns)) is not None

    def _draft(
        self, op: str, document: Document, row: dict[str, Any] | None, after: Usage, actor: Actor, reason: str
    ) -> Draft:
        change = Change("usage", (document.id,), row, asdict(after))
        return Draft(op, f"document:{document.id}", actor, "user", reason, (change,), {"path": document.path})

    def _now(self) -> int:
        return to_ms(self._clock.now())


def stand(used_at: int, fixed: str | None, kind: str, now: int, settings: DecaySettings) -> tuple[str, float]:
    """The tier and the relevance of a document of a kind that was last used then, all in ms."""
    if fixed == "core":
        return "core", 1.0
    curve = settings.of(kind)
    days = days_between(used_at, now)
    return tier_of(days, curve), relevance(days, curve)


def hidden_by(path: str, forgotten: Mapping[str, int], moment: int | None = None) -> str | None:
    """The path that was forgotten, by that moment (ms) if one is given: this one or one it lies in; None if none was."""
    while path and forgotten:
        at = forgotten.get(path)
        if at is not None and (moment is None or at <= moment):
            return path
        path = path.rpartition("/")[0]
    return None


def _usage(document: Document, row: Mapping[str, Any] | None) -> Usage:
    """The use of a document by its row; without one it was last used when it was recorded."""
    return Usage(**row) if row else Usage(document.id, born(document), 0, None)


def born(document: Document) -> int:
    """From when a document ages, in ms: from its recording; a daily note from its day (001 §2.6)."""
    return document.created_at if document.kind == "daily" else document.recorded_at
