"""One write on experiences: the rows it reads under the write lock, what they become, and who has to make room."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mnemic.clock import iso
from mnemic.errors import NotFound, Refused
from mnemic.knowledge import origin, states, trust
from mnemic.knowledge.experience_input import LISTS
from mnemic.models.event import Change, Row
from mnemic.models.experience import Experience, ExperienceStatus, experience
from mnemic.store import Transaction

SEALED = (
    "id", "revision", "kind", "family", "gist", "situation", "path", "reasoning", "limits", "failure_reason", "context",
    "everywhere", "origin",
)  # fmt: skip
"""What a person sees when they approve an experience."""


def sealed(item: Experience) -> str:
    """The seal of an experience as it stands: a person's act names it."""
    return origin.seal(**{name: getattr(item, name) for name in SEALED})


def approved(item: Experience) -> bool:
    """Whether a person approved this very text."""
    return item.approved_by == "human" and item.approved == sealed(item)


def may_guide(item: Experience) -> bool:
    """Whether it may be shown as an experience: what was read somewhere only after a person approved it."""
    return not origin.external(item.origin) or approved(item)


def named(item: Experience) -> str:
    """`id@revision`."""
    return f"{item.id}@{item.revision}"


class Edit:
    """Rows of truth as this write will leave them, over those that the transaction sees."""

    def __init__(self, tx: Transaction, now: int, rules: trust.Rules) -> None:
        self.tx, self.now, self._rules = tx, now, rules
        self._before: dict[tuple[str | int, ...], Experience | None] = {}
        self._after: dict[tuple[str | int, ...], Experience] = {}
        self.evicted: list[Experience] = []

    def line(self, number: str) -> list[Experience]:
        """The revisions of an id, oldest first. Raises NotFound."""
        found = self._seen(self.tx.select("experiences", {"id": number}))
        found |= {key: item for key, item in self._after.items() if item.id == number}
        if not found:
            raise NotFound(f"no experience {number!r}: see `mnemic experience list`")
        return sorted(found.values(), key=lambda item: item.revision)

    def live(self, family: str) -> list[Experience]:
        """The live revisions of a family."""
        found = self._seen(self.tx.select("experiences", {"family": family, "status": "live"}))
        found |= {key: item for key, item in self._after.items() if item.family == family}
        return [item for item in found.values() if item.status == "live"]

    def _seen(self, rows: Iterable[Row]) -> dict[tuple[str | int, ...], Experience]:
        items = [experience(row) for row in rows]
        for item in items:
            self._before.setdefault(item.key, item)
        return {item.key: self._after.get(item.key, item) for item in items}

    def one(self, item: Experience) -> Experience:
        """A revision known from elsewhere, as the transaction sees it."""
        row = self.tx.row("experiences", item.key)
        if row is None:
            raise NotFound(f"no experience {named(item)!r}: see `mnemic experience list`")
        return self._seen([row])[item.key]

    def put(self, item: Experience) -> Experience:
        """Leave a revision like this."""
        self._before.setdefault(item.key, None)
        self._after[item.key] = item
        return item

    def move(self, item: Experience, status: ExperienceStatus, **more: Any) -> Experience:
        """Leave a revision in another status."""
        return self.put(replace(item, status=status, changed_at=self.now, **more))

    def changes(self) -> tuple[Change, ...]:
        """The images of every row that differs from what it was."""
        made = []
        for key, item in self._after.items():
            before = self._before[key]
            if before != item:
                made.append(Change("experiences", key, before.row() if before else None, item.row()))
        return tuple(made)

    # into live

    def room(self, item: Experience) -> list[Experience] | None:
        """Who of the family must be archived so that this one can be live: the lowest value, then the oldest.

        `None` if the family is full of pinned ones.
        """
        others = [other for other in self.live(item.family) if other.id != item.id]
        excess = len(others) + 1 - self._rules.family_cap
        if excess <= 0:
            return []
        loose = sorted((other for other in others if not other.pinned), key=lambda o: (o.value, o.created_at, o.key))
        return loose[:excess] if len(loose) >= excess else None

    def enter(self, item: Experience, room: Iterable[Experience]) -> Experience:
        """Make a revision live: its other open revisions are superseded, and the family keeps within its cap."""
        for other in self.line(item.id):
            if other.key != item.key and other.status in ("live", "challenged"):
                self.move(other, "superseded")
        for other in room:
            self.evicted.append(self.move(other, "archived"))
        return self.move(item, "live", why="")

    def enter_or_refuse(self, item: Experience) -> Experience:
        """The same for a person's act. Raises Refused where every other of the family is pinned."""
        room = self.room(item)
        if room is None:
            raise Refused(
                f"family {item.family!r} has {self._rules.family_cap} live experiences, all of them pinned:"
                " unpin or archive one first"
            )
        return self.enter(item, room)


def current(line: list[Experience]) -> Experience:
    """The revision that is meant when none is named: the live one, else the highest that is open, archived, or any.

    Live comes first, so that a success of what was recalled never proves a draft that nobody was shown.
    """
    for wanted in (("live",), states.ACTIVE, ("archived",), ("superseded", "cold")):
        for item in reversed(line):
            if item.status in wanted:
                return item
    return line[-1]


def meant(line: list[Experience], revision: int | None, verb: str) -> Experience:
    """The revision a verb is for: the named one, else the highest it is possible for, else the current. Raises NotFound."""
    if revision is not None:
        for item in line:
            if item.revision == revision:
                return item
        raise NotFound(f"experience {line[0].id!r} has no revision {revision}: it has 1 to {line[-1].revision}")
    for item in reversed(line):
        if verb in states.MOVES[item.status]:
            return item
    return current(line)


def shown(item: Experience, now: int) -> dict[str, Any]:
    """A revision as every surface shows it."""
    texts: Mapping[str, Any] = {name: json.loads(getattr(item, name)) for name in LISTS}
    sources = json.loads(item.sources)
    return {
        "id": item.id,
        "revision": item.revision,
        "status": item.status,
        "kind": item.kind,
        "family": item.family,
        "gist": item.gist,
        "situation": texts["situation"],
        "path": texts["path"],
        "reasoning": item.reasoning,
        "limits": texts["limits"],
        "failure_reason": item.failure_reason or None,
        "context": item.context,
        "global": bool(item.everywhere),
        "origin": item.origin,
        "author": item.author,
        "why": item.why or None,
        "trust": round(trust.trust(item.alpha, item.beta), 6),
        "weighted_trust": round(trust.weighted_trust(item, now), 6),
        "alpha": item.alpha,
        "beta": item.beta,
        "verified": item.verified,
        "rejected": item.rejected,
        "verified_at": iso(item.verified_at),
        "pinned": bool(item.pinned),
        "tokens_spent": item.tokens_spent,
        "tokens_saved": item.tokens_saved,
        "value": item.value,
        "approved_by": item.approved_by or None,
        "approved": item.approved or None,
        "seal": sealed(item),
        "corroboration": len(sources),
        "sources": sources,
        "parents": json.loads(item.parents),
        "valid_from": iso(item.created_at),
        "valid_to": iso(item.changed_at) if item.status in ("superseded", "deleted") else None,
    }
